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
