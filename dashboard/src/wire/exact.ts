/**
 * Parses JSON without changing numbers: one that JavaScript would write differently (9007199254740993, 218.90) stays the
 * text that PostgreSQL wrote, as a string.
 */
export const parseExact = (text: string): unknown => {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? context.source
      : value
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown)
}

/** A number that JavaScript would write differently, with its text. */
interface Raw {
  readonly rawJSON: string
}
const { isRawJSON, rawJSON: rawJson } = JSON as unknown as {
  readonly rawJSON?: (text: string) => Raw
  readonly isRawJSON?: (value: unknown) => value is Raw
}

/** A number of `parseFaithful` as `parseExact` has it. */
export const exactText = (value: unknown): unknown => (isRawJSON?.(value) === true ? value.rawJSON : value)

/** Parses JSON that is not calculated with: `JSON.stringify` of it has every number as it was written. */
export const parseFaithful = (text: string): unknown => {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? (rawJson?.(context.source) ?? context.source)
      : value
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown)
}

/**
 * A row of `parseFaithful`: numbers of columns as `parseExact` has them. Those within JSON values stay numbers as they were
 * written, or an edit of such a value would make texts of them.
 */
export const exactRow = <Row extends object>(row: Row): Row =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, exactText(value)])) as Row

/** Rows of a table. `json`: columns whose numbers are JSON, and must not become texts. */
export const parseRows = (text: string, json?: ReadonlySet<string>): unknown => {
  const rows = parseFaithful(text)
  if (!Array.isArray(rows)) return rows
  if (json === undefined || json.size === 0) return rows.map((row: object) => exactRow(row))
  const kept = (row: object) => Object.fromEntries(Object.entries(row).filter(([name]) => json.has(name)))
  return rows.map((row: object) => Object.assign(exactRow(row), kept(row)))
}
