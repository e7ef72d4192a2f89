import { type StoredFunction } from "../../catalogue/Catalogue.ts"
import { type PlannedCall } from "./Call.ts"
import { type ReadPlan, type RowSource, type WritePlan } from "../plan/Plan.ts"
import { RowScope } from "../sql/Scope.ts"
import { bodySql, countedSql, type RowSql, totalSql } from "../sql/Statement.ts"
import { selectSql } from "../sql/Select.ts"
import { quoteName } from "../../sql/Names.ts"

/**
 * Calls as SQL. Every text gives one row, like those of reads (domain/RowSql.ts): the answer's body, how many rows it
 * tells of, and how many there are in all when that was asked for.
 */

/** A call, and what is asked of the rows it gives. */
export interface CallPlan extends ReadPlan, Pick<WritePlan, "maxAffected" | "exactlyOne"> {
  readonly call: PlannedCall
}

/** The WITH part that holds what the function gave. */
const part = "_svc_call"
/** Its only column where the function gives values and not rows: as PostgREST calls it. */
const valueColumn = quoteName("pgrst_scalar")

/** Gives values, one in each row. What a record is made of is known only when it runs, so that it is a value too. */
const givesValues = ({ result }: StoredFunction) => result === "scalar" || result === "record" || result === "void"

/** Where the rows of a call come from. */
export const callSource = (fn: StoredFunction): Extract<RowSource, { readonly _tag: "With" }> => {
  const type = rowsOf(fn)
  const called = type?.name ?? (fn.result === "row" && fn.outputs.length > 1 ? "record" : fn.name)
  return { _tag: "With", name: part, called, whole: undefined, ...(type && { type }) }
}

/** The relation whose rows a function gives; one that has OUT columns gives rows of its own. */
const rowsOf = ({ returns, outputs }: StoredFunction) => (outputs.length === 0 ? (returns ?? undefined) : undefined)

/**
 * A prepared statement keeps the types of its parameters, and one that users made may be gone and made anew: their names
 * have a schema.
 */
const castTo = (type: string) => (type.includes(".") ? `::text::${type}` : `::${type}`)

/** What is in FROM before the call, and the call. */
const callingSql = ({ fn, values }: PlannedCall, scope: RowScope) => {
  const name = `${quoteName(fn.schema)}.${quoteName(fn.name)}`
  if (values._tag === "Whole") return { from: "", call: `${name}(${scope.param(values.text)}::${values.type})` }
  const { given } = values
  // A VARIADIC argument that is left out has its default only where the others are told apart by position.
  const byPosition =
    fn.arguments.at(-1)?.variadic === true && given.every((argument, at) => argument === fn.arguments[at])
  const json = values._tag === "Json" && given.length > 0 ? scope.param(values.text) : ""
  const value =
    values._tag === "Json"
      ? (at: number) => `_svc_args.${quoteName(given[at]?.name ?? "")}`
      : (at: number) => `${scope.param(values.texts[at] ?? null)}${castTo(given[at]?.type ?? "text")}`
  const args = given.map(
    ({ name, variadic }, at) =>
      `${variadic ? "variadic " : ""}${byPosition ? "" : `${quoteName(name)} => `}${value(at)}`
  )
  const types = given.map((argument) => `${quoteName(argument.name)} ${argument.type}`)
  return {
    from: json === "" ? "" : `json_to_record(${json}) as _svc_args(${types.join(", ")})`,
    call: `${name}(${args.join(", ")})`
  }
}

/** FROM with what the call gives beside its arguments. */
const inFrom = ({ from, call }: ReturnType<typeof callingSql>, alias: string) =>
  ` from ${from === "" ? "" : `${from}, lateral `}${call} ${alias}`

/** The rows that a function gives, under the names they are asked by. */
const calledSql = (call: PlannedCall, scope: RowScope) => {
  const { fn } = call
  const calling = callingSql(call, scope)
  const [only] = fn.outputs
  const from = calling.from === "" ? "" : ` from ${calling.from}`
  if (givesValues(fn)) return `select ${calling.call} as ${valueColumn}${from}`
  // PostgreSQL gives a single output column bare; its name is put back. In FROM, a composite one would be spread.
  if (only !== undefined && fn.outputs.length === 1) {
    return `select ${calling.call} as ${quoteName(only || fn.name)}${from}`
  }
  if (fn.set) return `select _svc_f.*${inFrom(calling, "_svc_f")}`
  // A NULL is no row, and not a row of NULLs.
  return `select (_svc_f.v).* from (select ${calling.call} as v${from} offset 0) _svc_f where _svc_f.v is distinct from null`
}

/** Gives one value, or nothing. */
export const isValue = (fn: StoredFunction) => fn.result === "void" || (!fn.set && givesValues(fn))

/** A call of a function that gives one value, as JSON, or nothing. */
export const valueSql = (call: PlannedCall): RowSql => {
  const scope = new RowScope()
  const calling = callingSql(call, scope)
  const { result } = call.fn
  const text = (() => {
    if (result === "void") return `select ''::text, count(*)::text${inFrom(calling, "_svc_row")}`
    // A record has no columns that FROM could know.
    if (result === "record") {
      return `select coalesce(to_json(${calling.call}), 'null')::text, '1'::text${calling.from && ` from ${calling.from}`}`
    }
    return `select coalesce(to_json(_svc_row.v), 'null')::text, '1'::text${inFrom(calling, "_svc_row(v)")}`
  })()
  return { text, params: scope.params, prepare: true }
}

/** Values and single rows are answered bare. */
const callBodySql = ({ form, call: { fn } }: CallPlan) => {
  const { media, stripNulls } = form
  const bare = media === "json" || media === "object"
  if (!bare || (fn.set && (media === "object" || !givesValues(fn)))) return bodySql(form)
  const rows = `json_agg(_svc_row.${givesValues(fn) ? valueColumn : "*"})`
  const array = stripNulls ? `json_strip_nulls(${rows})` : rows
  return fn.set ? `coalesce(${array}, '[]')::text` : `coalesce(${array} -> 0, 'null')::text`
}

/** A call and its rows, by the same plan and writer as those of a table. */
export const callSql = (plan: CallPlan): RowSql => {
  const scope = new RowScope()
  const called = calledSql(plan.call, scope)
  const rows = selectSql(plan.rows, scope)
  const { offset } = plan.rows
  // The same parameter as in the rows' own OFFSET, which is the last one that they add.
  const total = totalSql(plan, scope, offset === undefined ? undefined : `$${scope.params.length}`)
  const count = plan.call.fn.set ? countedSql(plan) : "'1'::text"
  const text = `with ${part} as (${called}) select ${callBodySql(plan)}, ${count}${total} from (${rows}) _svc_row`
  return { text: scope.finish(text), params: scope.params, prepare: true }
}
