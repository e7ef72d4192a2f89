import { inSlices, type Result } from "./rows.ts"

/** A value as text; of NULL the empty text. */
export const valueText = (value: unknown) =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)

interface Format {
  readonly begin: (names: ReadonlyArray<string>) => string
  readonly line: (result: Result, index: number) => string
  readonly between: string
  readonly end: string
}

const cells = ({ columns, rows }: Result, index: number) => {
  const row = rows.at(index)
  return columns.map(({ name }) => valueText(row[name]))
}

const csvCell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const csvLine = (texts: ReadonlyArray<string>) => texts.map(csvCell).join(",")

const markdownCell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\r?\n/g, " ")
const markdownLine = (texts: ReadonlyArray<string>) => `| ${texts.map(markdownCell).join(" | ")} |`

/** RFC 4180; NULL is an empty cell. */
export const csv: Format = {
  begin: (names) => `${csvLine(names)}\r\n`,
  line: (result, index) => csvLine(cells(result, index)),
  between: "\r\n",
  end: ""
}

export const markdown: Format = {
  begin: (names) => `${markdownLine(names)}\n|${names.map(() => " --- |").join("")}\n`,
  line: (result, index) => markdownLine(cells(result, index)),
  between: "\n",
  end: ""
}

/** A row a line, each as PostgreSQL wrote it, with all digits of its numbers. */
export const json: Format = {
  begin: () => "[\n",
  line: ({ rows }, index) => `  ${rows.json(index)}`,
  between: ",\n",
  end: "\n]"
}

/** A result as text. A large one takes seconds, in which the page goes on. */
export const textOf = async ({ begin, between, end, line }: Format, result: Result): Promise<string> => {
  const lines: Array<string> = []
  await inSlices(result.rows.length, (at) => lines.push(line(result, at)))
  return begin(result.columns.map(({ name }) => name)) + lines.join(between) + end
}
