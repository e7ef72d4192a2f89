import { quoteName, textLiteral } from "../../catalogue/names.ts"
import type { GridColumn } from "../grid/columns.ts"
import { valueShown } from "../grid/values.ts"

export type TextFormat = "JSON" | "SQL" | "Markdown" | "CSV"
export const textFormats: ReadonlyArray<TextFormat> = ["JSON", "SQL", "Markdown", "CSV"]

type Values = ReadonlyArray<ReadonlyArray<unknown>>

const literal = (value: unknown, type: string) => {
  if (value === null) return "null"
  const text = valueShown(value, type)
  if (
    /^(?:smallint|integer|bigint|numeric|boolean)/.test(type) &&
    !type.endsWith("[]") &&
    /^(?:-?\d[\d.]*|true|false)$/.test(text)
  )
    return text
  return textLiteral(text)
}

const insert = (name: string, columns: ReadonlyArray<GridColumn>, rows: Values) => {
  const tuples = rows.map((values) => `(${columns.map(({ type }, at) => arrayOr(values[at], type)).join(", ")})`)
  return `insert into ${name} (${columns.map((column) => quoteName(column.name)).join(", ")})\nvalues ${tuples.join(",\n  ")};`
}

const element = (value: unknown): string =>
  value === null
    ? "NULL"
    : Array.isArray(value)
      ? `{${value.map(element).join(",")}}`
      : `"${(typeof value === "string" ? value : JSON.stringify(value)).replaceAll(/["\\]/g, "\\$&")}"`

const arrayOr = (value: unknown, type: string) =>
  Array.isArray(value) && type.endsWith("[]") ? literal(element(value), "text") : literal(value, type)

const csvCell = (text: string) => (/[",\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text)
const markdownCell = (text: string) => text.replaceAll(/[\\|]/g, "\\$&").replaceAll(/\r?\n/g, "<br>")

/** Cells as a text for other programs. In CSV, as PostgreSQL reads it, NULL is nothing, and an empty text is in quotes. */
export const formatted = (
  format: TextFormat,
  name: string,
  columns: ReadonlyArray<GridColumn>,
  rows: Values
): string => {
  const names = columns.map((column) => column.name)
  const shown = (values: ReadonlyArray<unknown>) => columns.map(({ type }, at) => valueShown(values[at], type))
  switch (format) {
    case "JSON":
      return JSON.stringify(
        rows.map((values) => Object.fromEntries(names.map((name, at) => [name, values[at]]))),
        null,
        2
      )
    case "SQL":
      return insert(name, columns, rows)
    case "CSV":
      return [
        names.map(csvCell),
        ...rows.map((values) => shown(values).map((text, at) => (values[at] === null ? "" : csvCell(text))))
      ]
        .map((cells) => cells.join(","))
        .join("\r\n")
    default:
      return [names, names.map(() => "---"), ...rows.map(shown)]
        .map((cells, at) => `| ${cells.map((cell) => (at === 1 ? cell : markdownCell(cell))).join(" | ")} |`)
        .join("\n")
  }
}
