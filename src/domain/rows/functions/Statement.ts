import { type StoredFunction } from "../../catalogue/Catalogue.ts"
import { type PlannedCall } from "./Call.ts"
import { type ReadPlan, type RowSource, type WritePlan } from "../plan/Plan.ts"
import { RowScope } from "../sql/Scope.ts"
import { limitedJson } from "../sql/Size.ts"
import { csvNames } from "../sql/Csv.ts"
import { answerSql, bodySql, countedSql, limitedAnswerSql, type RowSql, rowsSql, totalSql } from "../sql/Statement.ts"
import { quoteName } from "../../sql/Names.ts"

/**
 * Writes calls as SQL. Like reads (rows/sql/Statement.ts), each statement returns one row: the body, the number of rows in
 * it, and the total if requested.
 */

/** A call and the plan for its rows. */
export interface CallPlan extends ReadPlan, Pick<WritePlan, "maxAffected" | "exactlyOne"> {
  readonly call: PlannedCall
}

/** The WITH query that holds the function's result. */
const part = "_svc_call"
/** Its only column if the function returns values and not rows. The name is PostgREST's. */
const valueName = "pgrst_scalar"
const valueColumn = quoteName(valueName)

/** Returns one value in each row. A record counts as a value, because its columns are known only at run time. */
const givesValues = ({ result }: StoredFunction) => result === "scalar" || result === "record" || result === "void"

/** The source of a call's rows. */
export const callSource = (fn: StoredFunction): Extract<RowSource, { readonly _tag: "With" }> => {
  const type = rowsOf(fn)
  const called = type?.name ?? (fn.result === "row" && fn.outputs.length > 1 ? "record" : fn.name)
  return { _tag: "With", name: part, called, whole: undefined, ...(type && { type }) }
}

/** The relation whose rows a function returns. A function with OUT columns returns rows of its own type. */
const rowsOf = ({ returns, outputs }: StoredFunction) => (outputs.length === 0 ? (returns ?? undefined) : undefined)

/**
 * A prepared statement keeps its parameter types, but a user-defined type may be dropped and recreated. Such a parameter
 * is sent as text. Names of user-defined types contain a schema.
 */
const castTo = (type: string) => (type.includes(".") ? `::text::${type}` : `::${type}`)

/** The call, and what precedes it in FROM. */
const callingSql = ({ fn, values }: PlannedCall, scope: RowScope) => {
  const name = `${quoteName(fn.schema)}.${quoteName(fn.name)}`
  if (values._tag === "Whole") return { from: "", call: `${name}(${scope.param(values.value)}::${values.type})` }
  const { given } = values
  // An omitted VARIADIC argument gets its default only if the others are passed by position.
  const byPosition =
    fn.arguments.at(-1)?.variadic === true && given.every((argument, at) => argument === fn.arguments[at])
  const json = values._tag === "Json" && given.length > 0 ? scope.param(values.json) : ""
  const unnamed = given[0]?.name === ""
  const value =
    values._tag === "Json"
      ? (at: number) => `_svc_args.${unnamed ? "value" : quoteName(given[at]?.name ?? "")}`
      : (at: number) => `${scope.param(values.texts[at] ?? null)}${castTo(given[at]?.type ?? "text")}`
  const args = given.map(
    ({ name, variadic }, at) =>
      `${variadic ? "variadic " : ""}${byPosition || unnamed ? "" : `${quoteName(name)} => `}${value(at)}`
  )
  const types = given.map((argument) => `${unnamed ? "value" : quoteName(argument.name)} ${argument.type}`)
  // A column must have a name.
  const record = unnamed
    ? `pg_catalog.json_build_object('value', pg_catalog.json_object_field(${json}::json, ''))`
    : json
  return {
    from: json === "" ? "" : `pg_catalog.json_to_record(${record}) as _svc_args(${types.join(", ")})`,
    call: `${name}(${args.join(", ")})`
  }
}

/** The arguments and the call, for FROM. */
const inFrom = ({ from, call }: ReturnType<typeof callingSql>, alias: string) =>
  `${from === "" ? "" : `${from}, lateral `}${call} ${alias}`

/** The rows that a function returns, with the column names that queries use. */
const calledSql = (call: PlannedCall, scope: RowScope) => {
  const { fn } = call
  const calling = callingSql(call, scope)
  const [only] = fn.outputs
  const from = calling.from === "" ? "" : ` from ${calling.from}`
  if (givesValues(fn)) return `select ${calling.call} as ${valueColumn}${from}`
  // PostgreSQL returns a single output column as a bare value; restore its name. FROM would expand a composite one.
  if (only !== undefined && fn.outputs.length === 1) {
    return `select ${calling.call} as ${quoteName(only || fn.name)}${from}`
  }
  if (fn.set) return `select _svc_f.* from ${inFrom(calling, "_svc_f")}`
  // NULL is no row, rather than a row of NULLs.
  return `select (_svc_f.v).* from (select ${calling.call} as v${from} offset 0) _svc_f where _svc_f.v is distinct from null`
}

/** Returns one value, or nothing. */
export const isValue = (fn: StoredFunction) => fn.result === "void" || (!fn.set && givesValues(fn))

/** The call of a function that returns one value, as JSON, or nothing. */
export const valueSql = (call: PlannedCall): RowSql => {
  const scope = new RowScope()
  const calling = callingSql(call, scope)
  const { result, volatile } = call.fn
  const text = (() => {
    if (result === "void") return answerSql(["''::text", "pg_catalog.count(*)::text"], inFrom(calling, "_svc_row"))
    // FROM would need the columns of a record.
    const [value, from] =
      result === "record"
        ? [`pg_catalog.to_json(${calling.call})`, calling.from]
        : // Evaluated once, also if the planner can put the function's body in place of its call.
          [
            limitedJson("_svc_row.v"),
            `(select ${calling.call} as v${calling.from && ` from ${calling.from}`} offset 0) _svc_row`
          ]
    const columns = [`coalesce(${value}, 'null')`, "'1'::text"] as const
    return (volatile ? limitedAnswerSql : answerSql)(columns, from)
  })()
  return { text, params: scope.params, prepare: true, bounded: true }
}

/** The columns of a CSV; undefined if only the rows have their names. */
const namesOf = ({ call: { fn }, rows }: CallPlan) => {
  const named = csvNames(rows)
  if (named !== undefined || rows.items.length !== 1) return named
  if (givesValues(fn)) return [valueName]
  if (fn.outputs.length === 1) return [fn.outputs[0] || fn.name]
  return fn.outputs.length === 0 || fn.outputs.includes("") ? undefined : fn.outputs
}

/** Values and single rows are returned without an array. `row`: what a row adds to the array. */
const callBodySql = (plan: CallPlan, row: string) => {
  const { call, form } = plan
  const { fn } = call
  const { media, stripNulls } = form
  const bare = media === "json" || media === "object"
  if (!bare || (fn.set && (media === "object" || !givesValues(fn)))) return bodySql(form, () => namesOf(plan), row)
  const rows = `pg_catalog.json_agg(${givesValues(fn) ? `_svc_row.${valueColumn}` : row})`
  const array = stripNulls ? `pg_catalog.json_strip_nulls(${rows})` : rows
  return fn.set ? `coalesce(${array}, '[]')` : `coalesce(${array} -> 0, 'null')`
}

/** A call and its rows, planned and written like the rows of a table. */
export const callSql = (plan: CallPlan): RowSql => {
  const scope = new RowScope()
  const { fn } = plan.call
  const called = calledSql(plan.call, scope)
  const { from, value } = rowsSql(plan.rows, plan.form, scope)
  const columns = [callBodySql(plan, value), fn.set ? countedSql(plan) : "'1'::text", ...totalSql(plan, scope)] as const
  const text = `with ${part} as (${called}) ${(fn.volatile ? limitedAnswerSql : answerSql)(columns, from)}`
  return { text: scope.finish(text), params: scope.params, prepare: true, costly: scope.costly }
}
