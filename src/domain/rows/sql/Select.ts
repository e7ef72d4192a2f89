import { conditionSql, fieldSql, type RowName } from "./Condition.ts"
import { type Around, fromSql } from "./From.ts"
import {
  type Aggregated,
  type Item,
  type Join,
  type PlannedField,
  type PlannedOrder,
  type RowPlan
} from "../plan/Plan.ts"
import { type RowScope } from "./Scope.ts"
import { limitedRows } from "./Size.ts"
import { quoteName } from "../../sql/Names.ts"
import { typeSql } from "./Type.ts"

const where = (conditions: ReadonlyArray<string>) =>
  conditions.length === 0 ? "" : ` where ${conditions.join(" and ")}`

/** The limit is written as a literal: with a parameter, PostgreSQL would plan the statement on each execution. */
const limitSql = (limit: string | undefined) => (limit === undefined ? "" : ` limit ${limit}`)
const offsetSql = (offset: string | undefined, scope: RowScope) =>
  offset === undefined ? "" : ` offset ${scope.param(offset)}`

const nameOf = ({ source }: RowPlan) => (source._tag === "With" ? source.called : source.name.name)

const beneath = (plan: RowPlan, row: RowName, join: Join, around: Around | undefined): Around => ({
  row,
  link: join.link,
  name: nameOf(plan),
  depth: (around?.depth ?? 0) + 1
})

/** An aggregate without groups always returns a row. */
const always = ({ items }: RowPlan) =>
  items.length > 0 &&
  items.every(
    (item) =>
      item._tag === "Count" ||
      ("aggregate" in item && item.aggregate !== undefined) ||
      (item._tag === "Field" && item.field.kind === "count")
  )

/** Tests whether the row has rows in the embed. */
const existsSql = (join: Join, scope: RowScope, around: Around): string => {
  if (always(join.rows)) return "true"
  const { limit, offset } = join.rows
  const some = limit === undefined || Number(limit) > 0 ? "" : " limit 0"
  return `exists (select 1${sourceSql(join.rows, scope, around).text}${some}${offsetSql(offset, scope)})`
}

/** FROM and WHERE without the embeds' values: they alone determine which rows match. */
const sourceSql = (plan: RowPlan, scope: RowScope, around: Around | undefined) => {
  const { from, row, conditions } = fromSql(plan, scope, around)
  const exists = (join: number) => existsOf(plan, join, row, scope, around)
  const all = [
    ...conditions,
    ...plan.where.map((condition) => conditionSql(condition, row, scope, exists)),
    ...plan.joins.flatMap(({ inner }, join) => (inner ? [exists(join)] : []))
  ]
  return { text: ` from ${from}${where(all)}`, row }
}

const existsOf = (plan: RowPlan, index: number, row: RowName, scope: RowScope, around: Around | undefined) => {
  const join = plan.joins[index]
  return join === undefined ? "false" : existsSql(join, scope, beneath(plan, row, join, around))
}

/** Counts the rows without limit and offset. */
export const countSql = (plan: RowPlan, scope: RowScope, upTo?: number) => {
  const cut = upTo === undefined ? "" : ` limit ${upTo}`
  if (!plan.grouped && upTo === undefined) return `select pg_catalog.count(*)${sourceSql(plan, scope, undefined).text}`
  const rows = plan.grouped
    ? selectSql(
        { ...plan, order: plan.order.filter(({ by }) => by._tag === "Join"), limit: undefined, offset: undefined },
        scope
      )
    : `select 1${sourceSql(plan, scope, undefined).text}`
  return `select pg_catalog.count(*) from (${rows}${cut}) _svc_all`
}

/** One row for each matching row, for EXPLAIN. */
export const everyRowSql = (plan: RowPlan, scope: RowScope) => `select 1${sourceSql(plan, scope, undefined).text}`

const castSql = (value: string, type: string | undefined) =>
  type === undefined ? value : `cast(${value} as ${typeSql(type)})`

const aggregated = (value: string, { aggregate, aggregateCast }: Pick<Aggregated, "aggregate" | "aggregateCast">) => {
  if (aggregate === undefined) return value
  return castSql(`pg_catalog.${aggregate}(${value})`, aggregateCast)
}

/** An embed's part of FROM, and its value in the response. */
interface Joined {
  readonly join: string
  /** A condition on the outer row. */
  readonly condition: string | undefined
  /** The object or array. */
  readonly value: string
  /** The value of an item of a spread embed. */
  readonly column: (item: number) => string
  readonly ordered: (field: number) => string
}

const joinedSql = (join: Join, scope: RowScope, around: Around, grouped: boolean): Joined => {
  const { rows, single, inner, hidden, spread } = join
  const alias = scope.alias(`${around.name}_${join.name}_${around.depth}`)
  const nothing: Joined = { join: "", condition: undefined, value: "null", column: () => "null", ordered: () => "null" }
  const ordered = (field: number) => `${alias}."o${field + 1}"`
  if (hidden && join.orderedBy.length === 0) {
    return { ...nothing, condition: inner ? existsSql(join, scope, around) : undefined }
  }
  const parts = partsSql(rows, scope, around, spread)
  if (single) {
    const extra = join.orderedBy.map(
      ({ field, cast }, at) => `${castSql(fieldSql(field, parts.row, scope), cast)} as "o${at + 1}"`
    )
    const object = extra.length > 0 && !spread && !hidden
    const own = hidden ? [] : parts.columns
    const shown = object
      ? [`(select pg_catalog.row_to_json(_svc_o.*) from (select ${own.join(", ")}) _svc_o) as "v"`]
      : own
    return {
      join: ` ${inner ? "inner" : "left"} join lateral (select ${[...shown, ...extra].join(", ")}${parts.rest}) ${alias} on true`,
      condition: undefined,
      value: object ? `${alias}."v"` : `pg_catalog.row_to_json(${alias}.*)`,
      column: (item) => `${alias}."c${item + 1}"`,
      ordered
    }
  }
  const condition = inner ? existsSql(join, scope, around) : undefined
  const inside = `${selectedSql(parts)} ${alias}`
  if (spread) {
    const outside = scope.alias(`${around.name}_${join.name}_${around.depth}_all`)
    const arrays = (value: (name: string) => string) =>
      rows.items.map((_, at) => `pg_catalog.json_agg(${value(`c${at + 1}`)}) as "c${at + 1}"`).join(", ")
    const all = multiplies(rows)
      ? `select ${arrays((name) => `${alias}.j -> '${name}'`)} from ${limitedRows(selectedSql(parts), scope)} ${alias}`
      : `select ${arrays((name) => `${alias}."${name}"`)} from ${inside}`
    return {
      ...nothing,
      join: ` left join lateral (${all}) ${outside} on true`,
      condition,
      column: (item) => `coalesce(${outside}."c${item + 1}", '[]')`
    }
  }
  const array = multiplies(rows)
    ? `select pg_catalog.json_agg(${alias}.j) as "v" from ${limitedRows(selectedSql(parts), scope)} ${alias}`
    : `select pg_catalog.json_agg(${alias}.*) as "v" from ${inside}`
  if (!grouped) return { ...nothing, condition, value: `coalesce((${array}), '[]')` }
  const outside = scope.alias(`${around.name}_${join.name}_${around.depth}_all`)
  return {
    ...nothing,
    join: ` left join lateral (${array}) ${outside} on true`,
    condition,
    value: `coalesce(${outside}."v", '[]')`
  }
}

/** Whether arrays are nested in each row: then the sizes of arrays of these rows multiply. */
export const multiplies = ({ joins }: RowPlan): boolean =>
  joins.some(({ hidden, rows, single }) => !hidden && (!single || multiplies(rows)))

const selectedSql = ({ columns, rest }: Pick<ReturnType<typeof partsSql>, "columns" | "rest">) =>
  `(select ${columns.join(", ")}${rest})`

/** The parts of a SELECT: its output columns (numbered `c1`… for a spread), and the rest, starting with FROM. */
const partsSql = (plan: RowPlan, scope: RowScope, around: Around | undefined, numbered: boolean) => {
  const { from, row, conditions } = fromSql(plan, scope, around)
  const joined = plan.joins.map((join) => joinedSql(join, scope, beneath(plan, row, join, around), plan.grouped))
  const value = (item: Exclude<Item, { readonly _tag: "All" }>) => {
    switch (item._tag) {
      case "Field": {
        const stored = fieldSql(item.field, row, scope)
        const format = item.field.casts?.to_json ?? undefined
        const field = format === undefined ? stored : `${format}(${stored})`
        return aggregated(castSql(field, item.cast), item)
      }
      case "Count":
        return aggregated("*", { aggregate: "count", aggregateCast: item.aggregateCast })
      case "One":
        return "1"
      case "Embed":
        return `${joined[item.join]?.value ?? "null"}${plan.grouped ? "::jsonb" : ""}`
      case "Spread": {
        const column = joined[item.join]?.column(item.item) ?? "null"
        const compared = plan.grouped && item.aggregate === undefined && isJson(plan, item)
        return aggregated(compared ? `(${column})::jsonb` : column, item)
      }
    }
  }
  const columns = plan.items.map((item, at) =>
    item._tag === "All" ? `${row.columns}.*` : `${value(item)} as ${numbered ? `"c${at + 1}"` : quoteName(item.as)}`
  )
  const orderedBy: OrderedBy = ({ join, ordered }) => joined[join]?.ordered(ordered) ?? "null"
  const exists = (join: number) => existsOf(plan, join, row, scope, around)
  const all = [
    ...conditions,
    ...plan.where.map((condition) => conditionSql(condition, row, scope, exists)),
    ...joined.flatMap(({ condition }) => (condition === undefined ? [] : [condition]))
  ]
  const rest = [
    ` from ${from}`,
    ...joined.map(({ join }) => join),
    where(all),
    groupSql(plan, (field) => fieldSql(field, row, scope), orderedBy),
    orderSql(plan.order, (by) => (by._tag === "Field" ? fieldSql(by.field, row, scope) : orderedBy(by))),
    limitSql(plan.limit),
    offsetSql(plan.offset, scope)
  ]
  return { columns, row, rest: rest.join("") }
}

/** The column of an embed that the rows are ordered by. */
type OrderedBy = (by: Extract<PlannedOrder["by"], { readonly _tag: "Join" }>) => string

/** Whether a value of a spread is of type json, which has no equality: for groups it must become jsonb. */
const isJson = ({ joins }: RowPlan, { join, item }: { readonly join: number; readonly item: number }): boolean => {
  const spread = joins[join]
  const inner = spread?.rows.items[item]
  if (spread === undefined || !spread.single) return true
  if (inner?._tag === "Spread") return isJson(spread.rows, inner)
  return inner?._tag === "Embed" || (inner?._tag === "Field" && inner.cast === undefined && isFormatted(inner.field))
}

const isFormatted = ({ casts }: PlannedField) => casts !== null && casts.to_json !== null

/** A group is also distinguished by what the rows are ordered by, and by a domain's value rather than its representation. */
const groupSql = (plan: RowPlan, stored: (field: PlannedField) => string, orderedBy: OrderedBy) => {
  if (!plan.grouped) return ""
  const by = plan.items.flatMap((item, at) => {
    if (item._tag === "Count" || ("aggregate" in item && item.aggregate !== undefined)) return []
    return [item._tag === "Field" && isFormatted(item.field) ? stored(item.field) : String(at + 1)]
  })
  const orders = plan.order.flatMap(({ by }) => (by._tag === "Join" ? [orderedBy(by)] : []))
  const all = [...by, ...orders]
  return all.length === 0 ? "" : ` group by ${all.join(", ")}`
}

const nulls = { nullsfirst: " nulls first", nullslast: " nulls last" } as const

const orderSql = (order: ReadonlyArray<PlannedOrder>, value: (by: PlannedOrder["by"]) => string) => {
  const terms = order.map(
    (term) =>
      `${value(term.by)}${term.direction === undefined ? "" : ` ${term.direction}`}${term.nulls ? nulls[term.nulls] : ""}`
  )
  return terms.length === 0 ? "" : ` order by ${terms.join(", ")}`
}

/** The rows of a plan. `numbered`: their columns are `c1`, `c2` and so on, whatever their names; no item is `All`. */
export const selectSql = (plan: RowPlan, scope: RowScope, numbered = false) => {
  const { columns, rest } = partsSql(plan, scope, undefined, numbered)
  return `select ${columns.join(", ")}${rest}`
}
