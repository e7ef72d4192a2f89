import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import {
  type ChannelCondition,
  isLike,
  maxText,
  type Operator,
  parseFilter
} from "../../../../domain/realtime/channels/Filter.ts"
import { type Actor } from "../../../ports/Db.ts"
import { logFailure } from "../../../OwnTables.ts"
import { type Row } from "../../Visible.ts"
import { type Column, mayRead, type Shape } from "./Shapes.ts"

/** A comparison that only PostgreSQL can make, because it depends on the type. */
export interface FilterComparison {
  /** The type and operator as SQL. */
  readonly type: string
  readonly operator: string
  readonly value: string
}

/** A comparison with a text, by its place in a list. */
interface Numbered extends FilterComparison {
  readonly a: string
  readonly n: number
}

/** A condition, ready to be tested on the value of its column. */
interface Test {
  readonly column: string
  readonly negated: boolean
  /** Undefined: unknown, as of NULL. For comparisons, `compare` answers. */
  readonly holds: (
    value: unknown,
    compare: (comparison: FilterComparison, value: string) => boolean
  ) => boolean | undefined
}
export type Filter = ReadonlyArray<Test>

/** Types whose values are equal exactly if their JSON is. */
const exactTypes = new Set([
  "boolean",
  "smallint",
  "integer",
  "bigint",
  "oid",
  "uuid",
  "text",
  "character varying",
  "date",
  "timestamp without time zone",
  "timestamp with time zone"
])
/** Categories of pg_type whose JSON is a scalar. */
const scalars = new Set("NSDBTEIU")
const symbols: Partial<Record<Operator, string>> = {
  eq: "=",
  neq: "<>",
  in: "=",
  isdistinct: "<>",
  lt: "<",
  lte: "<=",
  gt: ">",
  gte: ">=",
  match: "~",
  imatch: "~*"
}
/** How long a statement may take that matches regular expressions of clients; else none of them match. */
const regexTimeout = "1s"
const words: Readonly<Record<string, unknown>> = { null: null, true: true, false: false, unknown: null }

/** The type that an operator compares. */
const typeOf = (operator: Operator, sql: string) => (operator.endsWith("match") ? "text" : sql)

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

/** The test of a condition; `values` are JSON, as rows have them. */
const testOf = (
  { column, negated, operator, values: given }: ChannelCondition,
  { sql }: Column,
  values: ReadonlyArray<string>
): Test => {
  const distinct = operator === "isdistinct"
  const unequal = operator === "neq" || distinct
  const base = { column, negated }
  if (operator === "is") {
    const wanted = words[(given[0] ?? "").toLowerCase()]
    return { ...base, holds: (value) => value === wanted }
  }
  if (operator === "like" || operator === "ilike") {
    const fold = (text: string) => (operator === "ilike" ? text.toLowerCase() : text)
    const pattern = fold(given[0] ?? "")
    return { ...base, holds: (value) => (value === null ? undefined : isLike(fold(textOf(value)), pattern)) }
  }
  const isNull = (value: unknown) => value === null || value === undefined
  if (exactTypes.has(sql) && (unequal || operator === "eq" || operator === "in")) {
    const wanted = new Set(values)
    return {
      ...base,
      holds: (value) => (isNull(value) ? (distinct ? true : undefined) : wanted.has(JSON.stringify(value)) !== unequal)
    }
  }
  const symbol = symbols[operator] ?? "="
  const comparisons = given.map((value) => ({ type: typeOf(operator, sql), operator: symbol, value }))
  return {
    ...base,
    holds: (value, compare) => {
      if (isNull(value)) return distinct ? true : undefined
      const text = textOf(value)
      if (symbol.startsWith("~") && text.length > maxText) return false
      // All comparisons are made, so that each is collected.
      return comparisons.map((one) => compare(one, text)).some(Boolean)
    }
  }
}

/**
 * Whether a row passes. A column that is missing, or that the role may not read, is unknown. All conditions are tested, so
 * that every comparison is asked for.
 */
export const passes = (
  filter: Filter,
  row: Row,
  readable: ReadonlySet<string>,
  compare: (comparison: FilterComparison, value: string) => boolean
) =>
  filter
    .map(({ column, holds, negated }) => {
      if (!Object.hasOwn(row, column) || !readable.has(column)) return false
      const result = holds(row[column], compare)
      return result !== undefined && result !== negated
    })
    .every(Boolean)

export const comparisonKey = ({ operator, type, value }: FilterComparison, text: string) =>
  JSON.stringify([type, operator, value, text])

export const makeFilters = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /** Reads a filter for a table; fails with a description of its fault. */
  const compile = Effect.fnUntraced(function* (
    text: string,
    shape: Shape,
    role: Actor["role"]
  ): Effect.fn.Return<Filter, string> {
    const conditions = parseFilter(text)
    if (typeof conditions === "string") return yield* Effect.fail(conditions)
    const tests: Array<Test> = []
    for (const condition of conditions) {
      const { column: name, operator, values } = condition
      const column = shape.columns.find((one) => one.name === name && mayRead(role, one))
      if (column === undefined) return yield* Effect.fail(`invalid column for filter ${name.slice(0, 63)}`)
      if (operator === "is" && !((values[0] ?? "").toLowerCase() in words)) {
        return yield* Effect.fail("is takes null, true, false or unknown")
      }
      if (!scalars.has(column.category)) {
        return yield* Effect.fail(`the type ${column.sql} of column ${name} can't be filtered`)
      }
      const compared = symbols[operator] !== undefined
      if (compared && /^(jsonb?|bytea|xml)$/.test(column.sql)) {
        return yield* Effect.fail(`the type ${column.sql} of column ${name} can't be compared`)
      }
      const json = compared ? yield* canonical(column, operator, values) : []
      tests.push(testOf(condition, column, json))
    }
    return tests
  })

  /** Values as JSON of the column's type. The comparison runs once to check that the type supports it. */
  const canonical = (column: Column, operator: Operator, values: ReadonlyArray<string>) => {
    const type = typeOf(operator, column.sql)
    return sql
      .unsafe<{ values: ReadonlyArray<string> }>(
        `select array_agg(to_json(v::${type})::text order by n) as values, bool_and(v::${type} ${symbols[operator] ?? "="} v::${type})
         from json_array_elements_text($1::json) with ordinality as e (v, n)`,
        [JSON.stringify(values)]
      )
      .pipe(
        Effect.map(([row]) => row?.values ?? []),
        Effect.mapError(() =>
          operator.endsWith("match")
            ? `invalid regular expression for column ${column.name}`
            : `invalid value of type ${type} for column ${column.name}`
        )
      )
  }

  /** Makes comparisons in one statement; gives the places of those that hold. */
  const compareSome = (some: ReadonlyArray<Numbered>) => {
    const groups = [...Map.groupBy(some, ({ operator, type }) => `a::${type} ${operator} b::${type}`)]
    if (groups.length === 0) return Effect.succeed([])
    return sql.unsafe<{ n: number }>(
      groups
        .map(
          ([condition], at) =>
            `select n from json_to_recordset($${at + 1}::json) as x (n int4, a text, b text) where ${condition}`
        )
        .join(" union all "),
      groups.map(([, members]) => JSON.stringify(members.map(({ a, n, value }) => ({ n, a, b: value }))))
    )
  }

  /** Makes comparisons; gives the keys of those that hold. */
  const compareAll = Effect.fnUntraced(function* (asked: ReadonlyMap<string, readonly [FilterComparison, string]>) {
    const keys = [...asked.keys()]
    const all = [...asked.values()].map(([{ operator, type, value }, a], n): Numbered => ({
      operator,
      type,
      value,
      a,
      n
    }))
    const { false: plain = [], true: regexes = [] } = Object.groupBy(all, ({ operator }) =>
      operator.startsWith("~") ? "true" : "false"
    )
    const rows = [...(yield* compareSome(plain))]
    if (regexes.length > 0) {
      const matching = Effect.andThen(sql`select set_config('statement_timeout', ${regexTimeout}, true)`, () =>
        compareSome(regexes)
      )
      rows.push(
        ...(yield* Effect.catchCause(sql.withTransaction(matching), (cause) =>
          Effect.as(logFailure("Failed to match the regular expressions of filters; changes are not sent")(cause), [])
        ))
      )
    }
    return new Set(rows.map(({ n }) => keys[n] ?? ""))
  })

  return { compile, compareAll }
})
