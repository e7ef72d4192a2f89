import { isCut, maxCell, type Row } from "./identity.ts"

export interface Order {
  readonly column: string
  readonly desc: boolean
}

/** A condition in the language of `/v1/db`, before it is written. */
export type Condition =
  | { readonly tag: "compare"; readonly column: string; readonly operator: string; readonly value: unknown }
  | { readonly tag: "null"; readonly column: string; readonly not: boolean }
  | { readonly tag: "and" | "or"; readonly all: ReadonlyArray<Condition> }

const compare = (column: string, operator: string, value: unknown): Condition => ({
  tag: "compare",
  column,
  operator,
  value
})
const isNull = (column: string, not = false): Condition => ({ tag: "null", column, not })

/** The text of a value. */
export const valueText = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value))

export const quoted = (text: string) => `"${text.replaceAll(/["\\]/g, "\\$&")}"`
/** A name in a list of columns or conditions. */
export const nameText = (name: string) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : quoted(name))

/** As an element of `or=(…)`. */
export const conditionText = (condition: Condition): string => {
  switch (condition.tag) {
    case "compare":
      return `${nameText(condition.column)}.${condition.operator}.${quoted(valueText(condition.value))}`
    case "null":
      return `${nameText(condition.column)}.${condition.not ? "not.is.null" : "is.null"}`
    default:
      return `${condition.tag}(${condition.all.map(conditionText).join(",")})`
  }
}

/** Parameters that are not names of columns. */
const reserved: ReadonlySet<string> = new Set([
  "select",
  "order",
  "limit",
  "offset",
  "and",
  "or",
  "columns",
  "on_conflict"
])
const isPlain = (name: string) => nameText(name) === name && !reserved.has(name)

/** Operators whose operand is a text, which is quoted within a condition. */
const withText = /^((?:not\.)?(?:eq|neq|gte?|lte?|i?like|i?match)\.)(.*)$/s

/** A filter as part of a group. */
const groupPart = (name: string, value: string) => {
  const [, operator = "", operand = ""] = withText.exec(value) ?? []
  return `${nameText(name)}.${operator === "" ? value : operator + quoted(operand)}`
}

/** Filters of which one must hold, as the value of `or`. */
export const groupText = (filters: ReadonlyArray<readonly [name: string, value: string]>) =>
  `(${filters.map(([name, value]) => groupPart(name, value)).join(",")})`

/** Whether a filter is a group of others: the value of a column begins with an operator. */
export const isGroup = (name: string, value: string) => name === "or" && value.startsWith("(")

/** A filter of an address, `["status", "eq.paid"]`, on a column whose name may have a meaning of its own in a query. */
export const filterParameter = (name: string, value: string): readonly [name: string, value: string] =>
  isPlain(name) || isGroup(name, value) ? [name, value] : ["and", groupText([[name, value]])]

/** As a parameter of the query. */
export const parameterOf = (condition: Condition): readonly [name: string, value: string] => {
  if ("column" in condition && !isPlain(condition.column)) return ["and", `(${conditionText(condition)})`]
  switch (condition.tag) {
    case "compare":
      return [condition.column, `${condition.operator}.${valueText(condition.value)}`]
    case "null":
      return [condition.column, condition.not ? "not.is.null" : "is.null"]
    default:
      return [condition.tag, `(${condition.all.map(conditionText).join(",")})`]
  }
}

/** Rows behind a row in an order; NULL is last ascending, first descending, as in PostgreSQL. None: an empty list. */
const behind = (
  [first, ...rest]: ReadonlyArray<Order>,
  row: Row,
  nullable: ReadonlySet<string>
): ReadonlyArray<Condition> => {
  if (first === undefined) return []
  const { column, desc } = first
  const value = row[column] ?? null
  const inner = behind(rest, row, nullable)
  const same = value === null ? isNull(column) : compare(column, "eq", value)
  const later =
    value === null
      ? desc
        ? [isNull(column, true)]
        : []
      : [compare(column, desc ? "lt" : "gt", value), ...(desc || !nullable.has(column) ? [] : [isNull(column)])]
  return inner.length === 0 ? later : [...later, { tag: "and", all: [same, { tag: "or", all: inner }] }]
}

/** The order of a part, and the conditions that all of its rows meet. */
export type Part = ReadonlyArray<Condition>

/**
 * The rows behind a row, by one condition: an OR alone would be evaluated for every row of the table, so the first column
 * has a bound of its own, and its NULLs are a part of their own. What is read and dropped are the rows before it that
 * have the same value in the first column.
 */
const bounded = (order: ReadonlyArray<Order>, row: Row, nullable: ReadonlySet<string>): ReadonlyArray<Part> => {
  const [first, ...rest] = order
  if (first === undefined) return []
  const { column, desc } = first
  const value = row[column] ?? null
  const inner = behind(rest, row, nullable)
  const or = (all: ReadonlyArray<Condition>): Part => (all.length === 0 ? [] : [{ tag: "or", all }])
  if (value === null) {
    const nulls: ReadonlyArray<Part> = inner.length === 0 ? [] : [[isNull(column), ...or(inner)]]
    return desc ? [...nulls, [isNull(column, true)]] : nulls
  }
  const beyond = compare(column, desc ? "lt" : "gt", value)
  const bound: Part =
    inner.length === 0
      ? [beyond]
      : [
          compare(column, desc ? "lte" : "gte", value),
          ...or([beyond, { tag: "and", all: [compare(column, "eq", value), { tag: "or", all: inner }] }])
        ]
  return desc || !nullable.has(column) ? [bound] : [bound, [isNull(column)]]
}

/**
 * The rows behind a row, in parts that follow each other, each of which PostgreSQL reads from an index on the order
 * without reading others. `equal`: how many of the first columns have a part of their own for rows that are equal in them
 * (by default all but the last), which costs a request each; see `equalIn`.
 */
export const partsBehind = (
  order: ReadonlyArray<Order>,
  row: Row,
  nullable: ReadonlySet<string>,
  equal = Math.max(0, order.length - 1)
): ReadonlyArray<Part> => {
  const same = order.slice(0, equal).map(({ column }): Condition => {
    const value = row[column] ?? null
    return value === null ? isNull(column) : compare(column, "eq", value)
  })
  const inner = bounded(order.slice(equal), row, nullable).map((part) => same.concat(part))
  const outer = Array.from({ length: equal }, (_, at) => equal - 1 - at).flatMap((at) =>
    bounded(order.slice(at, at + 1), row, nullable).map((part) => same.slice(0, at).concat(part))
  )
  return [...inner, ...outer]
}

/**
 * In how many of the first columns all rows of a page are equal. Where its first and last rows differ, few rows that are
 * equal to the last come before it: they are in the page.
 */
export const equalIn = (order: ReadonlyArray<Order>, page: ReadonlyArray<Row>): number => {
  const [first, last] = [page[0], page.at(-1)]
  const at = order.findIndex(({ column }) => valueText(first?.[column]) !== valueText(last?.[column]))
  return at < 0 ? Math.max(0, order.length - 1) : at
}

/**
 * Whether the values of a row can be the bounds of a page. Arrays and JSON have another text in PostgreSQL than here, and
 * long values do not fit into an address.
 */
export const isAnchor = (order: ReadonlyArray<Order>, row: Row): boolean =>
  order.every(({ column }) => {
    const value = row[column] ?? null
    return value === null || (typeof value !== "object" && !isCut(row, column) && String(value).length <= maxCell)
  })

export const reversed = (order: ReadonlyArray<Order>): ReadonlyArray<Order> =>
  order.map(({ column, desc }) => ({ column, desc: !desc }))
