import type { Search } from "../../shell/search.ts"
import type { GridColumn } from "../grid/columns.ts"
import { isMoment, withZone } from "../grid/moments.ts"
import { nameText, type Order, quoted } from "./keyset.ts"

export type Filter = readonly [column: string, value: string]

const unquoted = (text: string) => text.replaceAll(/\\(.)/g, "$1")

/** Parameters of the address that are not columns. */
const notColumns: ReadonlySet<string> = new Set(["order", "branch", "as"])

/** A column's name in an address: in quotes if the address has another meaning for it, or if it has quotes of its own. */
const addressName = (column: string) => (notColumns.has(column) || column.startsWith('"') ? quoted(column) : column)
const columnOf = (name: string) => unquoted(/^"(.*)"$/s.exec(name)?.[1] ?? name)

interface Operator {
  /** The start of a filter's value. */
  readonly key: string
  readonly words: string
  /** Whether a value follows. */
  readonly bare?: boolean
}

const operators: ReadonlyArray<Operator> = [
  { key: "eq", words: "is" },
  { key: "neq", words: "is not" },
  { key: "ilike", words: "contains" },
  { key: "gt", words: "greater than" },
  { key: "gte", words: "at least" },
  { key: "lt", words: "less than" },
  { key: "lte", words: "at most" },
  { key: "in", words: "is one of" },
  { key: "is.null", words: "is NULL", bare: true },
  { key: "not.is.null", words: "is not NULL", bare: true }
]

/** Types that have no parts to search for. */
const unsearchable =
  /^(?:smallint|integer|bigint|numeric|real|double|money|oid|boolean|timestamp|date|time|interval|uuid|jsonb?|bytea|inet|cidr|macaddr)|\[\]$/

/** What PostgreSQL can compare in a column. */
export const operatorsOf = (column: Pick<GridColumn, "type" | "values"> | undefined): ReadonlyArray<Operator> =>
  column === undefined || (column.values === undefined && !unsearchable.test(column.type))
    ? operators
    : operators.filter(({ key }) => key !== "ilike")

/** The filters of an address; the other parameters are the order. */
export const filtersOf = (search: Search): ReadonlyArray<Filter> =>
  Object.entries(search).flatMap(([name, value]) =>
    name === "order" ? [] : (typeof value === "string" ? [value] : value).map((one): Filter => [columnOf(name), one])
  )

export const withFilter = (search: Search, [column, value]: Filter): Search => {
  const name = addressName(column)
  const old = search[name]
  if (old === undefined) return { ...search, [name]: value }
  return { ...search, [name]: [...(typeof old === "string" ? [old] : old), value] }
}

export const withoutFilter = (search: Search, [column, value]: Filter): Search => {
  const name = addressName(column)
  const { [name]: old = [], ...rest } = search
  const left = (typeof old === "string" ? [old] : old).filter((one) => one !== value)
  const [first] = left
  if (first === undefined) return rest
  return { ...rest, [name]: left.length === 1 ? first : left }
}

/** A column, in quotes if its name is not that of a usual one, and the direction. */
const orderTerm = /(?:"((?:[^"\\]|\\.)*)"|([^,"]+?))(?:\.(asc|desc))?(?:,|$)/g

export const orderOf = (search: Search): ReadonlyArray<Order> =>
  typeof search["order"] !== "string"
    ? []
    : Array.from(search["order"].matchAll(orderTerm), ([, inQuotes, plain = "", way]) => ({
        column: inQuotes === undefined ? plain : unquoted(inQuotes),
        desc: way === "desc"
      }))

/** Ascending, then descending, then not at all. `add`: beside the columns by which the rows are sorted already. */
export const withNextOrder = (search: Search, column: string, add = false): Search => {
  const order = orderOf(search).filter((one) => add || one.column === column)
  const now = order.find((one) => one.column === column)
  const next =
    now === undefined
      ? [...order, { column, desc: false }]
      : order.flatMap((one) => (one !== now ? [one] : one.desc ? [] : [{ column, desc: true }]))
  const { order: _, ...rest } = search
  if (next.length === 0) return rest
  return { ...rest, order: next.map((one) => `${nameText(one.column)}.${one.desc ? "desc" : "asc"}`).join() }
}

const listed = (text: string, asTyped: (text: string) => string) =>
  text
    .split(",")
    .map((part) => `"${asTyped(part.trim()).replaceAll(/["\\]/g, "\\$&")}"`)
    .join(",")

/** The value of a filter, of an operator and what was typed. Moments get the zone of the dashboard. */
export const filterValue = (operator: string, text: string, type = "text"): string => {
  if (operators.find(({ key }) => key === operator)?.bare === true) return operator
  // In a pattern these letters stand for others.
  if (operator === "ilike") return `ilike.*${text.replaceAll(/[\\%_]/g, "\\$&")}*`
  const asTyped = isMoment(type) ? withZone : (same: string) => same
  return operator === "in" ? `in.(${listed(text, asTyped)})` : `${operator}.${asTyped(text)}`
}

/** In words, for a chip. A filter that the form cannot make is shown as it is. */
export const filterWords = (value: string): readonly [words: string, operand: string] => {
  if (value.startsWith("(")) return ["any of", value.slice(1, -1).replaceAll(",", ", ")]
  const found = operators.find(({ bare, key }) => (bare === true ? value === key : value.startsWith(`${key}.`)))
  if (found === undefined) return ["", value]
  const operand = found.bare === true ? "" : value.slice(found.key.length + 1)
  if (found.key === "in") return [found.words, operand.slice(1, -1).replaceAll('"', "")]
  return [found.words, found.key === "ilike" ? operand.replaceAll("*", "").replaceAll(/\\(.)/g, "$1") : operand]
}
