import { type Item, type RowPlan } from "../plan/Plan.ts"
import { arrayLiteral, quoteName } from "../../sql/Names.ts"
import { type RowScope } from "./Scope.ts"
import { selectSql } from "./Select.ts"

/** The field of a row with the values that were cut, and the bytes that each has as text; null if none was. */
export const cutName = "$cut"

/** Oids of types whose values are short: numbers of fixed size, dates, uuid, addresses. */
const short: ReadonlySet<number> = new Set([
  16, 18, 19, 20, 21, 23, 26, 650, 700, 701, 790, 829, 869, 774, 1082, 1083, 1114, 1184, 1186, 1266, 2950
])
/** text and varchar, of which PostgreSQL reads the beginning without the rest. */
const texts: ReadonlySet<number> = new Set([25, 1043])

/** How a value is cut. The primary key never is: it identifies the row of which the whole value is read later. */
const waysOf = (item: Item, { relation }: RowPlan): "never" | "text" | "json" => {
  // `All` is expanded for these reads.
  if (item._tag === "All" || item._tag === "Count" || item._tag === "One") return "never"
  if (item._tag !== "Field") return "json"
  const { aggregate, cast, field } = item
  if (aggregate !== undefined || cast !== undefined || field.kind !== "column" || field.casts !== null) return "json"
  if (field.json.length > 0) return "json"
  if (short.has(field.type) || relation?.primary_key.includes(field.name) === true) return "never"
  return texts.has(field.type) ? "text" : "json"
}

/**
 * The rows of a plan, of which no value has more than `most` characters: of a text its beginning, of any other value the
 * beginning of its JSON as a text. `cutName` names those, because their values may be anything.
 */
export const cutSql = (plan: RowPlan, most: number, scope: RowScope): string => {
  const { items } = plan
  if (items.length === 0) return selectSql(plan, scope)
  const ways = items.map((item) => waysOf(item, plan))
  const cuttable = items.flatMap((item, at) =>
    ways[at] === "never" || item._tag === "All" ? [] : [{ as: item.as, column: `c${at + 1}` }]
  )
  // This parameter must precede those of the rows, whose last one must be their offset.
  const names = cuttable.length === 0 ? "" : scope.param(arrayLiteral(cuttable.map(({ as }) => as)))
  const rows = selectSql(plan, scope, true)
  const row = scope.alias("_svc_cell")
  const written = items.map((_, at) =>
    ways[at] === "json" ? `pg_catalog.to_json(${row}."c${at + 1}")::text as "c${at + 1}"` : `${row}."c${at + 1}"`
  )
  const start = (column: string) => `pg_catalog.left(${row}."${column}", ${most})`
  const size = (text: string) => `pg_catalog.octet_length(${text})`
  const whole = (column: string) => `${size(start(column))} = ${size(`${row}."${column}"`)}`
  const columns = items.map((item, at) => {
    const as = item._tag === "All" ? "" : item.as
    const column = `c${at + 1}`
    if (ways[at] === "never") return `${row}."${column}" as ${quoteName(as)}`
    if (ways[at] === "text") return `${start(column)} as ${quoteName(as)}`
    const cut = `pg_catalog.to_json(pg_catalog.ltrim(${start(column)}, '"'))`
    return `case when ${whole(column)} then ${row}."${column}"::json when ${row}."${column}" is not null then ${cut} end as ${quoteName(as)}`
  })
  const sizes = cuttable.map(({ column }) => `case when not ${whole(column)} then ${size(`${row}."${column}"`)} end`)
  const cut =
    cuttable.length === 0
      ? "null::json"
      : `(select pg_catalog.json_object_agg(_svc_cut.k, _svc_cut.v) from rows from (pg_catalog.unnest(${names}::text[]), pg_catalog.unnest(array[${sizes.join(", ")}])) _svc_cut(k, v) where _svc_cut.v is not null)`
  // OFFSET keeps the planner from writing each value as JSON several times.
  const read = ways.includes("json") ? `(select ${written.join(", ")} from (${rows}) ${row} offset 0)` : `(${rows})`
  return `select ${columns.join(", ")}, ${cut} as ${quoteName(cutName)} from ${read} ${row}`
}
