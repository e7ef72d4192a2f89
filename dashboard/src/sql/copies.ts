import type { Result } from "./run.ts"

const textOf = (value: unknown) =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)

const linesOf = ({ columns, rows }: Result) => [
  columns.map(({ name }) => name),
  ...rows.map((row) => columns.map(({ name }) => textOf(row[name])))
]

const csvCell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** RFC 4180; NULL is an empty cell. */
export const csvOf = (result: Result) =>
  linesOf(result)
    .map((line) => line.map(csvCell).join(","))
    .join("\r\n")

const markdownCell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\r?\n/g, " ")

export const markdownOf = (result: Result) => {
  const [head = [], ...rows] = linesOf(result).map((line) => `| ${line.map(markdownCell).join(" | ")} |`)
  return [head, `|${result.columns.map(() => " --- |").join("")}`, ...rows].join("\n")
}

export const jsonOf = ({ rows }: Result) => JSON.stringify(rows, null, 2)
