import { Console, Context, Data, Effect } from "effect"

/** Whether the results and errors of commands are JSON. */
export const AsJson = Context.Reference<boolean>("svc/layers/AsJson", { defaultValue: () => false })

/** Prints the result of a command to standard output: a text for people, or a value for programs. */
export const printResult = (text: string, value: object) =>
  Effect.flatMap(AsJson, (json) => Console.log(json ? JSON.stringify(value) : text))

/** Ends a command with a message and its exit code (docs/command.md). */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  readonly code: 1 | 2
}> {}

/** The exit code of the process, when it ends by itself. */
export const exitWith = (code: number) =>
  Effect.sync(() => {
    process.exitCode = code
  })

/** Functions that mark parts of a text for a terminal, and do nothing where colours are not wanted. */
export const stylesFor = (stream: { readonly isTTY?: boolean }) => {
  const on = stream.isTTY === true && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb"
  const style = (start: number, end: number) => (text: string) => (on ? `\u001B[${start}m${text}\u001B[${end}m` : text)
  return {
    bold: style(1, 22),
    dim: style(2, 22),
    red: style(31, 39),
    green: style(32, 39),
    yellow: style(33, 39),
    cyan: style(36, 39)
  }
}

/** Rows below their headings, for people: each column as wide as its longest text. */
export const columns = (headings: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = headings.map((heading, at) => Math.max(heading.length, ...rows.map((row) => (row[at] ?? "").length)))
  return [headings.map((heading) => heading.toUpperCase()), ...rows]
    .map((row) =>
      row
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
