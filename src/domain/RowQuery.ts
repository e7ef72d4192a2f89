import { Result } from "effect"
import { InvalidRequest } from "./errors.ts"
import { quotedList, readName, splitList } from "./RowText.ts"

/**
 * The query string of `/v1/db/{table}`, parsed: what was asked, nothing about what exists (domain/RowPlan.ts) or how
 * it is said in SQL (domain/RowSql.ts). The grammar is PostgREST's.
 */
export interface RowQuery {
  /** Undefined: all columns. */
  readonly select: ReadonlyArray<Selected> | undefined
  readonly filters: ReadonlyArray<Filter>
  readonly order: ReadonlyArray<Order>
  readonly limit: string | undefined
  readonly offset: string | undefined
  /** Payload keys to use; undefined: all that are there. */
  readonly columns: ReadonlyArray<string> | undefined
}

export type Selected = { readonly _tag: "All" } | { readonly _tag: "Column"; readonly name: string }

export interface Order {
  readonly column: string
  readonly direction: "asc" | "desc" | undefined
  readonly nulls: "nullsfirst" | "nullslast" | undefined
}

type Comparison = "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "like" | "ilike"
type Fixed = "null" | "not_null" | "true" | "false" | "unknown"

export type Filter = { readonly column: string; readonly negated: boolean } & (
  | { readonly _tag: "Compare"; readonly operator: Comparison; readonly value: string }
  | { readonly _tag: "In"; readonly values: ReadonlyArray<string> }
  | { readonly _tag: "Is"; readonly value: Fixed }
)

type Parsed<A> = Result.Result<A, InvalidRequest>

/** Code and wording as PostgREST's clients know them. */
const parseError = (what: string, text: string, hint: string) =>
  Result.fail(
    new InvalidRequest({
      error: `failed to parse ${what} (${text.length > 200 ? `${text.slice(0, 200)}…` : text})`,
      code: "PGRST100",
      hint
    })
  )

const comparisons: ReadonlySet<string> = new Set(["eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike"])
const fixed: ReadonlySet<string> = new Set(["null", "not_null", "true", "false", "unknown"])
const reserved: ReadonlySet<string> = new Set(["select", "order", "limit", "offset", "columns", "on_conflict"])
const operatorsHint = "operators are eq, neq, gt, gte, lt, lte, like, ilike, is and in, each also after not."

export const parseRowQuery = (pairs: ReadonlyArray<readonly [string, string]>): Parsed<RowQuery> => {
  const first = new Map<string, string>()
  const filters: Array<Filter> = []
  for (const [key, value] of pairs) {
    if (reserved.has(key)) {
      if (!first.has(key)) first.set(key, value)
      continue
    }
    if (key === "") continue
    const filter = parseFilter(key, value)
    if (Result.isFailure(filter)) return Result.fail(filter.failure)
    filters.push(filter.success)
  }
  const select = first.get("select")
  const selected = select === undefined ? Result.succeed(undefined) : parseSelect(select)
  if (Result.isFailure(selected)) return Result.fail(selected.failure)
  const ordered = parseOrder(first.get("order") ?? "")
  if (Result.isFailure(ordered)) return Result.fail(ordered.failure)
  for (const name of ["limit", "offset"] as const) {
    const text = first.get(name)
    if (text !== undefined && !/^\d{1,18}$/.test(text)) {
      return parseError(`${name} parameter`, text, `${name} is a whole number of rows, 0 or more`)
    }
  }
  const columns = first.get("columns")
  const named = columns === undefined ? Result.succeed(undefined) : parseNames("columns parameter", columns)
  if (Result.isFailure(named)) return Result.fail(named.failure)
  return Result.succeed({
    select: selected.success,
    filters,
    order: ordered.success,
    limit: first.get("limit"),
    offset: first.get("offset"),
    columns: named.success
  })
}

const parseNames = (what: string, text: string): Parsed<ReadonlyArray<string>> => {
  const names: Array<string> = []
  for (const item of splitList(text) ?? []) {
    const name = readName(item)
    if (name === undefined || name.rest !== "") return parseError(what, text, "a list of column names")
    names.push(name.name)
  }
  return splitList(text) === undefined ? parseError(what, text, "a quote is not closed") : Result.succeed(names)
}

const parseSelect = (text: string): Parsed<ReadonlyArray<Selected>> => {
  const selected: Array<Selected> = []
  if (text === "") return Result.succeed(selected)
  const items = splitList(text)
  if (items === undefined) return parseError("select parameter", text, "a quote or parenthesis is not closed")
  for (const item of items) {
    if (item.trim() === "*") {
      selected.push({ _tag: "All" })
      continue
    }
    const name = readName(item)
    if (name === undefined || name.rest !== "") {
      return parseError("select parameter", text, "select takes column names, separated by commas, or *")
    }
    selected.push({ _tag: "Column", name: name.name })
  }
  return Result.succeed(selected)
}

const parseOrder = (text: string): Parsed<ReadonlyArray<Order>> => {
  const order: Array<Order> = []
  if (text === "") return Result.succeed(order)
  const items = splitList(text)
  if (items === undefined) return parseError("order", text, "a quote or parenthesis is not closed")
  for (const item of items) {
    const name = readName(item)
    const rest = name && /^(?:\.(asc|desc))?(?:\.(nullsfirst|nullslast))?$/.exec(name.rest)
    if (!name || !rest) return parseError("order", text, "<column>[.asc|.desc][.nullsfirst|.nullslast]")
    order.push({
      column: name.name,
      direction: rest[1] as Order["direction"],
      nulls: rest[2] as Order["nulls"]
    })
  }
  return Result.succeed(order)
}

const logic: ReadonlySet<string> = new Set(["and", "or"])

const parseFilter = (key: string, text: string): Parsed<Filter> => {
  if (logic.has(key) && text.startsWith("(")) {
    return parseError("logic tree", `${key}=${text}`, "and=(…) and or=(…) are not supported yet; filters are ANDed")
  }
  const name = readName(key)
  if (name === undefined)
    return parseError("filter", key, "quote names that hold other characters than letters, digits, _, $, space and -")
  if (name.rest !== "") {
    return parseError(
      "tree path",
      key,
      "filters on embedded resources, JSON paths and logic trees are not supported yet"
    )
  }
  const negated = text.startsWith("not.")
  const body = negated ? text.slice(4) : text
  const dot = body.indexOf(".")
  const operator = dot < 0 ? "" : body.slice(0, dot)
  const value = body.slice(dot + 1)
  const about = { column: name.name, negated }
  if (comparisons.has(operator)) {
    return Result.succeed({ ...about, _tag: "Compare", operator: operator as Comparison, value })
  }
  if (operator === "is") {
    const wanted = value.toLowerCase()
    if (fixed.has(wanted)) return Result.succeed({ ...about, _tag: "Is", value: wanted as Fixed })
    return parseError("filter", `${key}=${text}`, "is takes null, not_null, true, false or unknown")
  }
  if (operator === "in") {
    const values = quotedList(value)
    if (values !== undefined) return Result.succeed({ ...about, _tag: "In", values })
    return parseError("filter", `${key}=${text}`, 'in takes a list in parentheses: in.(a,b,"c,d")')
  }
  return parseError("filter", `${key}=${text}`, operatorsHint)
}
