import { type AnswerForm, type BodyForm } from "../Preferences.ts"
import { isPattern } from "../parse/Operators.ts"
import { type PlannedCondition, type ReadPlan, type RowPlan, type WritePlan } from "../plan/Plan.ts"
import { checkText } from "../Refusals.ts"
import { csvNames, csvSql } from "./Csv.ts"
import { cutSql } from "./Cut.ts"
import { RowScope } from "./Scope.ts"
import { countSql, everyRowSql, multiplies, selectSql } from "./Select.ts"
import { limitedRows, limitedText } from "./Size.ts"
import { changeSql, insertedSql, returningSql } from "./Write.ts"

/**
 * Writes plans as SQL. Each statement returns one row. For a read it holds the body, the number of rows in it, and the
 * total if requested. For a write: the body, the number of rows, the number of inserted rows (of an upsert), and the
 * location of a single new row (JSON pairs of column and value as text). Names are quoted, values are `$n` parameters,
 * and everything else comes from closed lists. Requests of one shape have the same text.
 */
export interface RowSql {
  readonly text: string
  readonly params: ReadonlyArray<string | Uint8Array | null>
  /** False for statements that are unlikely to be repeated. */
  readonly prepare: boolean
  /** A read without embeds, total and patterns: the cost of a value cannot be out of proportion to others'. */
  readonly bounded?: boolean
  /** See `RowScope`. */
  readonly costly?: boolean
  /** Returns any number of rows of one column, the lines of a text. */
  readonly lines?: boolean
}

/** Alias of the result's rows. `_svc_row.*` is the row, whatever its columns are named. */
const row = "_svc_row"

/**
 * The response body, built from all rows of `_svc_row`; of type json where that saves the copy that a cast to text makes.
 * For JSON, `value` is what each adds, and for CSV, `names` are those of the columns, undefined if only the rows have them.
 */
export const bodySql = (
  { media, stripNulls }: BodyForm,
  names: () => ReadonlyArray<string> | undefined,
  value = `${row}.*`
) => {
  const rows = `pg_catalog.json_agg(${value})`
  const array = stripNulls ? `pg_catalog.json_strip_nulls(${rows})` : rows
  switch (media) {
    case "json":
      return `coalesce(${array}, '[]')`
    case "object":
      return `case when pg_catalog.count(*) = 1 then ${array} -> 0 end`
    case "csv":
      return csvSql(row, names())
    case "none":
      return "''::text"
  }
}

/** The total, if it was requested: the rows of the page and before it, unless the page may be incomplete. */
export const totalSql = ({ rows, total }: ReadPlan, scope: RowScope): ReadonlyArray<string> => {
  if (total._tag === "None") return []
  // The parameter of the rows' OFFSET, the last one that they add.
  const offset = rows.offset === undefined ? undefined : `$${scope.params.length}`
  const cut = [
    ...(rows.limit === undefined ? [] : [`pg_catalog.count(*) >= ${rows.limit}`]),
    ...(offset === undefined ? [] : ["pg_catalog.count(*) = 0"])
  ]
  const seen = offset === undefined ? "pg_catalog.count(*)" : `${offset}::bigint + pg_catalog.count(*)`
  if (cut.length === 0) return [`(${seen})::text`]
  // The count is built only here, because it adds parameters to the statement.
  const counted = `(${countSql(rows, scope, total._tag === "UpTo" ? total.rows : undefined)})`
  return [`(case when ${cut.join(" or ")} then ${counted} else ${seen} end)::text`]
}

/** PostgreSQL's planner takes 3 MiB and 8 ms for each of more embeds. */
const manyEmbeds = 10

const embedsIn = ({ joins }: RowPlan): number => joins.reduce((sum, { rows }) => sum + 1 + embedsIn(rows), 0)

/** FROM of a plan's rows, and what each adds to a JSON body. */
export const rowsSql = (plan: RowPlan, { maxCell, media }: BodyForm, scope: RowScope) => {
  scope.costly ||= embedsIn(plan) > manyEmbeds
  const rows = `(${maxCell === undefined || media === "none" ? selectSql(plan, scope) : cutSql(plan, maxCell, scope)})`
  return multiplies(plan) && (media === "json" || media === "object")
    ? { from: `${limitedRows(rows, scope)} ${row}`, value: `${row}.j` }
    : { from: `${rows} ${row}`, value: `${row}.*` }
}

type Columns = readonly [body: string, ...others: ReadonlyArray<string>]

export const answerSql = (columns: Columns, from: string) =>
  `select ${columns.join(", ")}${from === "" ? "" : ` from ${from}`}`

/** An answer whose body must not be too large; otherwise the write is undone. */
export const limitedAnswerSql = ([body, ...others]: Columns, from: string) => {
  const names = others.map((_, at) => `n${at + 1}`)
  const inner = answerSql([`(${body})::text as b`, ...others.map((other, at) => `${other} as ${names[at]}`)], from)
  return answerSql([limitedText("_svc_answer.b"), ...names], `(${inner}) _svc_answer`)
}

/** `common`: the WITH query that the plan's source names, if it is `With`. */
export const readSql = (plan: ReadPlan, common?: (scope: RowScope) => string): RowSql => {
  const scope = new RowScope()
  const before = common === undefined ? "" : `${common(scope)} `
  const { from, value } = rowsSql(plan.rows, plan.form, scope)
  const body = bodySql(plan.form, () => csvNames(plan.rows), value)
  const text = `${before}${answerSql([body, "pg_catalog.count(*)::text", ...totalSql(plan, scope)], from)}`
  return {
    text: scope.finish(text),
    params: scope.params,
    prepare: true,
    bounded: isBounded(plan),
    costly: scope.costly
  }
}

/** The rows as they are, without a limit of their number. */
export const allRowsSql = (rows: RowPlan): RowSql => {
  const scope = new RowScope()
  const text = selectSql(rows, scope)
  return { text: scope.finish(text), params: scope.params, prepare: false }
}

const isBounded = ({ rows, total }: ReadPlan) =>
  rows.joins.length === 0 && total._tag === "None" && !rows.where.some(hasPattern)

const hasPattern = (condition: PlannedCondition): boolean => {
  if (condition._tag !== "Test") return condition._tag !== "Exists" && condition.conditions.some(hasPattern)
  const { test } = condition
  return test._tag === "FullText" || (test._tag === "Compare" && isPattern(test.operator))
}

/** The plan for all rows, with PostgreSQL's estimate of their number. Returns one row, a JSON array. */
export const estimateSql = (rows: RowPlan): RowSql => {
  const scope = new RowScope()
  const text = `explain (format json) ${everyRowSql(rows, scope)}`
  return { text, params: scope.params, prepare: false }
}

/** EXPLAIN of a statement: returns lines of text, or one row with a JSON array. */
export const explainSql = ({ text, params }: RowSql, { media, options }: AnswerForm): RowSql => {
  const asText = media === "plan-text"
  return {
    text: `explain (${[`format ${asText ? "text" : "json"}`, ...options].join(", ")}) ${text}`,
    params,
    prepare: false,
    lines: asText
  }
}

/** The number of rows; the statement fails if it is not allowed. `written`: the number of rows changed. */
export const countedSql = (
  { maxAffected, exactlyOne, limit }: Pick<WritePlan, "maxAffected" | "exactlyOne" | "limit">,
  written = "pg_catalog.count(*)"
) => {
  const failing = (code: Parameters<typeof checkText>[0], rows: string) =>
    `('${checkText(code)}' || (${rows})::text)::int::text`
  const checks = [
    ...(exactlyOne === undefined
      ? []
      : [`when pg_catalog.count(*) <> 1 then ${failing(exactlyOne, "pg_catalog.count(*)")}`]),
    ...(maxAffected === undefined ? [] : [`when ${written} > ${maxAffected} then ${failing("PGRST124", written)}`]),
    ...(limit === undefined ? [] : [`when ${written} > ${limit} then ${failing("LIMIT_NOT_ALLOWED", written)}`])
  ]
  return checks.length === 0
    ? "pg_catalog.count(*)::text"
    : `case ${checks.join(" ")} else pg_catalog.count(*)::text end`
}

const locationSql = (columns: ReadonlyArray<string>, scope: RowScope) => {
  if (columns.length === 0) return "null::text"
  const keys = columns.map((column) => scope.param(column)).join(", ")
  return `case when (select pg_catalog.count(*) from _svc_w) = 1 then (select pg_catalog.json_agg(pg_catalog.json_build_array(k, v))::text from pg_catalog.json_each_text((select pg_catalog.row_to_json(_svc_l.*) from _svc_w _svc_l)) as _svc_k(k, v) where k in (${keys})) end`
}

export const writeSql = (plan: WritePlan): RowSql => {
  const scope = new RowScope()
  const { relation, change, form, location } = plan
  const bare = form.media === "none"
  const written = changeSql(relation, change, scope)
  const returning = returningSql(relation, bare ? undefined : plan.rows, location)
  const merging =
    change._tag === "Insert" && change.conflict?.resolution === "merge" && change.conflict.columns.length > 0
  const { from, value } = bare ? { from: "_svc_w", value: undefined } : rowsSql(plan.rows, form, scope)
  const more =
    merging || location.length > 0 ? [merging ? insertedSql : "null::text", locationSql(location, scope)] : []
  // An inner embed drops rows from the response, but they are written.
  const counted = countedSql(plan, "(select pg_catalog.count(*) from _svc_w)")
  const text = `with _svc_w as (${written}${returning}) ${(bare ? answerSql : limitedAnswerSql)([bodySql(form, () => csvNames(plan.rows), value), counted, ...more], from)}`
  const mixed = change._tag === "Insert" && change.payload._tag === "Mixed" && change.payload.keys.length > 0
  return {
    text: scope.finish(text),
    params: scope.params,
    prepare: !mixed,
    bounded: change._tag === "Insert",
    costly: scope.costly
  }
}
