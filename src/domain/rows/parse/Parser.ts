import { Result } from "effect"
import { InvalidRequest } from "../../errors.ts"
import { mark, RowCursor } from "./Cursor.ts"
import { type Part, parseError } from "./ParserError.ts"
import { readLogic, readTest } from "./Filter.ts"
import { readNames, readOrder } from "./Order.ts"
import { everything, readSelect } from "./Select.ts"
import { type AtPath, type Condition, type Field, type OrderTerm, type RowQuery, type Selected } from "./Query.ts"

type Pairs = ReadonlyArray<readonly [string, string]>
type Parsed = Result.Result<RowQuery, InvalidRequest>

/**
 * The decoded `key=value` pairs of a query string (`+` is a space); undefined if the percent-encoding is invalid. Parts
 * without `=` are ignored.
 */
export const queryPairs = (query: string): ReadonlyArray<readonly [string, string]> | undefined => {
  if (query === "") return []
  const pairs: Array<readonly [string, string]> = []
  try {
    for (const part of query.split("&")) {
      if (part === "") continue
      const equals = part.indexOf("=")
      const key = decode(equals < 0 ? part : part.slice(0, equals))
      if (equals >= 0) pairs.push([key, decode(part.slice(equals + 1))])
    }
  } catch {
    return undefined
  }
  return pairs
}

const encoded = /[%+]/
const decode = (text: string) => (encoded.test(text) ? decodeURIComponent(text.replaceAll("+", " ")) : text)

/** Parses the query of a request on a table, or of a function call by POST. */
export const parseRows = (pairs: Pairs): Parsed => new Clauses(false).parse(pairs)

/** Parses the query of a function call by GET: a value that is not a filter (`operator.value`) is an argument. */
export const parseCall = (pairs: Pairs): Parsed => new Clauses(true).parse(pairs)

const noPath: ReadonlyArray<string> = []
/** 18 digits always fit PostgreSQL's bigint. */
const count = /^-?\d{1,18}$/

/** Collects the clauses of one query. The first error that a method returns ends parsing. */
class Clauses {
  readonly call: boolean
  select: ReadonlyArray<Selected> | undefined
  columns: ReadonlyArray<string> | undefined
  onConflict: ReadonlyArray<string> | undefined
  readonly filters: Array<AtPath<Condition>> = []
  readonly order: Array<AtPath<ReadonlyArray<OrderTerm>>> = []
  readonly limit: Array<AtPath<string>> = []
  readonly offset: Array<AtPath<string>> = []
  readonly arguments: Array<readonly [string, string]> = []
  /** Index of the clause for a path in its list. */
  readonly places = new Map<string, number>()

  constructor(call: boolean) {
    this.call = call
  }

  parse(pairs: Pairs): Parsed {
    for (const [key, value] of pairs) {
      const error = this.add(key, value)
      if (error !== undefined) return Result.fail(error)
    }
    return Result.succeed({
      select: this.select ?? everything,
      filters: this.filters,
      order: this.order,
      limit: this.limit,
      offset: this.offset,
      columns: this.columns,
      onConflict: this.onConflict,
      arguments: this.arguments
    })
  }

  private add(key: string, value: string): InvalidRequest | undefined {
    switch (key) {
      case "":
        return undefined
      case "select":
        if (this.select === undefined) {
          const cursor = new RowCursor(value)
          this.select = readSelect(cursor)
          return this.select === undefined ? parseError("select parameter", cursor) : undefined
        }
        return undefined
      case "columns":
        if (this.columns === undefined) {
          const cursor = new RowCursor(value)
          this.columns = readNames(cursor)
          return this.columns === undefined ? parseError("columns parameter", cursor) : undefined
        }
        return undefined
      case "on_conflict":
        if (this.onConflict === undefined) {
          const cursor = new RowCursor(value)
          this.onConflict = readNames(cursor)
          return this.onConflict === undefined ? parseError("on_conflict parameter", cursor) : undefined
        }
        return undefined
    }
    const before = key.lastIndexOf(".")
    switch (before < 0 ? key : key.slice(before + 1)) {
      case "order":
        return this.addOrder(key, before, value)
      case "limit":
        return this.addCount("limit", key, before, value)
      case "offset":
        return this.addCount("offset", key, before, value)
      case "and":
        return this.addLogic("And", key, before, value)
      case "or":
        return this.addLogic("Or", key, before, value)
      default:
        return this.addFilter(key, value)
    }
  }

  private addOrder(key: string, before: number, value: string): InvalidRequest | undefined {
    const path = pathOf(key, before, "tree path")
    if (path instanceof InvalidRequest) return path
    const cursor = new RowCursor(value)
    const terms = readOrder(cursor)
    if (terms === undefined) return parseError("order", cursor)
    if (this.placeOf("order", path, this.order.length) === undefined) this.order.push({ path, value: terms })
    return undefined
  }

  /** The last clause for a path applies. */
  private addCount(clause: "limit" | "offset", key: string, before: number, value: string): InvalidRequest | undefined {
    const path = pathOf(key, before, "tree path")
    if (path instanceof InvalidRequest) return path
    if (!count.test(value)) {
      const cursor = new RowCursor(value)
      cursor.refuse(`${clause} must be a whole number, 0 or more`)
      return parseError(clause, cursor)
    }
    const negative = value.startsWith("-") && Number(value) < 0
    // Like PostgREST: a negative offset skips nothing, a negative limit of the table itself is an invalid range (416), and
    // PostgreSQL rejects that of an embed.
    if (negative && clause === "offset") return this.addCount(clause, key, before, "0")
    if (negative && path.length > 0) {
      return new InvalidRequest({ error: "LIMIT must not be negative", code: "2201W" })
    }
    const list = this[clause]
    const place = this.placeOf(clause, path, list.length)
    const rows = negative ? value : value.replace("-", "")
    if (place === undefined) list.push({ path, value: rows })
    else list[place] = { path, value: rows }
    return undefined
  }

  private addLogic(tag: "And" | "Or", key: string, before: number, value: string): InvalidRequest | undefined {
    const path = pathOf(key, before, "logic path")
    if (path instanceof InvalidRequest) return path
    const negated = path.includes("not")
    // Positions in errors include the operator before the parenthesis.
    const operator = `${negated ? "not." : ""}${tag.toLowerCase()}`
    const cursor = new RowCursor(operator + value, operator.length)
    const tree = readLogic(cursor, tag, negated)
    if (tree === undefined) return parseError("logic tree", cursor, value)
    this.filters.push({ path: negated ? path.filter((name) => name !== "not") : path, value: tree })
    return undefined
  }

  private addFilter(key: string, value: string): InvalidRequest | undefined {
    const keyed = readKey(key)
    if (keyed instanceof InvalidRequest) return keyed
    const { path, field } = keyed
    const cursor = new RowCursor(value)
    const test = readTest(cursor, field, false)
    if (test !== undefined) this.filters.push({ path, value: test })
    else if (this.call && path.length === 0 && field.json.length === 0 && !committed.test(value)) {
      this.arguments.push([field.name, value])
    } else return parseError("filter", cursor)
    return undefined
  }

  /** Undefined for the first clause of its kind with that path, which is then registered with the index `next`. */
  private placeOf(clause: string, path: ReadonlyArray<string>, next: number): number | undefined {
    const id = path.length === 0 ? clause : `${clause}\0${path.join("\0")}`
    const place = this.places.get(id)
    if (place === undefined) this.places.set(id, next)
    return place
  }
}

/** A value that can only be a filter, so an error in it is reported. */
const committed = /^(?:not|in|is)\./

/** The embeds before the last dot of a key. */
const pathOf = (key: string, before: number, part: Part): ReadonlyArray<string> | InvalidRequest => {
  if (before < 0) return noPath
  const cursor = new RowCursor(key.slice(0, before))
  const path: Array<string> = []
  for (;;) {
    const name = cursor.name()
    if (name === undefined) return parseError(part, cursor, key)
    path.push(name)
    cursor.spaces()
    if (cursor.ended) return path
    if (!cursor.is(mark.dot)) {
      cursor.fail('letter, digit, "-" or delimiter (.)')
      return parseError(part, cursor, key)
    }
    cursor.at++
  }
}

/** `embed.embed.column->json`. */
const readKey = (key: string): { readonly path: ReadonlyArray<string>; readonly field: Field } | InvalidRequest => {
  const cursor = new RowCursor(key)
  let path: Array<string> | undefined
  for (;;) {
    const field = cursor.field()
    if (field === undefined) return parseError("tree path", cursor)
    cursor.spaces()
    if (cursor.ended) return { path: path ?? noPath, field }
    if (!cursor.is(mark.dot) || field.json.length > 0) {
      cursor.fail('letter, digit, "-", delimiter (.), "->>", "->" or end of input')
      return parseError("tree path", cursor)
    }
    path ??= []
    path.push(field.name)
    cursor.at++
  }
}
