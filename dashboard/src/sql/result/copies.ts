import { csvLine } from "../../../../src/domain/text/csv/Cell.ts"
import { exactText } from "../../wire/exact.ts"
import { inSlices, type Result } from "./rows.ts"

/** A value as text; of NULL the empty text. */
export const valueText = (value: unknown) =>
  value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value)

interface Format {
  readonly begin: (names: ReadonlyArray<string>) => string
  readonly line: (result: Result, index: number) => string
  readonly between: string
  readonly end: (last: string | undefined) => string
}

const cells = ({ columns, rows }: Result, index: number) => {
  const row = rows.at(index)
  return columns.map(({ name }) => valueText(row[name]))
}

const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`

/** An array as PostgreSQL reads it. `type`: of its elements. */
const arrayText = (values: ReadonlyArray<unknown>, type: string): string => {
  const elements = values.map((value) => {
    if (value === null) return "NULL"
    if (Array.isArray(value) && !isJson(type)) return arrayText(value, type)
    return quoted(inputText(value, type) ?? "")
  })
  return `{${elements.join(",")}}`
}

const isJson = (type: string) => type === "json" || type === "jsonb"

/** A value in the input syntax of its type, by which an import reads the same value; null for NULL. */
const inputText = (value: unknown, type: string): string | null => {
  const exact = exactText(value)
  if (exact === null || exact === undefined) return null
  if (isJson(type)) return JSON.stringify(value)
  if (Array.isArray(exact)) return arrayText(exact, type.replace(/(?:\[\])+$/, ""))
  if (typeof exact !== "object") return String(exact)
  // A composite. JSON does not contain the types of its fields.
  const fields = Object.values(exact).map((field: unknown) => {
    const text = inputText(field, Array.isArray(field) || typeof exactText(field) !== "object" ? "" : "json")
    return text === null ? "" : quoted(text)
  })
  return `(${fields.join(",")})`
}

const markdownCell = (text: string) => text.replaceAll("|", "\\|").replaceAll(/\r?\n/g, " ")
const markdownLine = (texts: ReadonlyArray<string>) => `| ${texts.map(markdownCell).join(" | ")} |`

/** RFC 4180, as COPY writes it: NULL is an empty cell, and the empty text is in quotes. */
export const csv: Format = {
  begin: (names) => `${csvLine(names)}\r\n`,
  line: ({ columns, rows }, index) => {
    const row = rows.at(index)
    return csvLine(columns.map(({ name, type }) => inputText(row[name], type)))
  },
  between: "\r\n",
  // An empty last line is a row with NULL, which needs an end to be one.
  end: (last) => (last === "" ? "\r\n" : "")
}

export const markdown: Format = {
  begin: (names) => `${markdownLine(names)}\n|${names.map(() => " --- |").join("")}\n`,
  line: (result, index) => markdownLine(cells(result, index)),
  between: "\n",
  end: () => ""
}

/** A row a line, each as PostgreSQL wrote it, with all digits of its numbers. */
export const json: Format = {
  begin: () => "[\n",
  line: ({ rows }, index) => `  ${rows.json(index)}`,
  between: ",\n",
  end: () => "\n]"
}

/** A result as text. A large one takes seconds, in which the page goes on. */
export const textOf = async ({ begin, between, end, line }: Format, result: Result): Promise<string> => {
  const lines: Array<string> = []
  await inSlices(result.rows.length, (at) => lines.push(line(result, at)))
  return begin(result.columns.map(({ name }) => name)) + lines.join(between) + end(lines.at(-1))
}
