import { Result } from "effect"
import { type Routine } from "./Catalogue.ts"
import { DatabaseError, NotFound } from "./errors.ts"
import { type RowSql } from "./RowSql.ts"
import { quoteName } from "./RowText.ts"

/** A call of one stored function with named arguments. */
export interface RoutineCall {
  readonly routine: Routine
  /** Names of the arguments given, as the function declares them. */
  readonly given: ReadonlyArray<Routine["arguments"][number]>
}

const quoteLiteral = (text: string) => `'${text.replaceAll("'", "''")}'`

const list = (names: ReadonlyArray<string>) => names.join(", ")

/** Chooses among overloads by the names of the arguments: all given ones must exist, all required ones be given. */
export const planCall = (
  schema: string,
  name: string,
  overloads: ReadonlyArray<Routine>,
  names: ReadonlyArray<string>
): Result.Result<RoutineCall, NotFound | DatabaseError> => {
  const given = new Set(names)
  const fitting = overloads.filter(
    (routine) =>
      names.every((name) => name !== "" && routine.arguments.some((argument) => argument.name === name)) &&
      routine.arguments.every((argument) => argument.optional || given.has(argument.name))
  )
  const [routine] = fitting
  if (routine === undefined) {
    const what = names.length === 0 ? "without parameters" : `with parameters (${list(names)})`
    const hint = overloads
      .map((one) => `${schema}.${name}(${list(one.arguments.map((argument) => argument.name || argument.type))})`)
      .join(" or ")
    return Result.fail(
      new NotFound({
        error: `Could not find the function ${schema}.${name} ${what} in the schema cache`,
        code: "PGRST202",
        hint: overloads.length === 0 ? null : `Perhaps you meant to call ${hint}`
      })
    )
  }
  if (fitting.length > 1) {
    return Result.fail(
      new DatabaseError({
        status: 300,
        error: `Could not choose the best candidate function between: ${list(
          fitting.map((one) => `${schema}.${name}(${list(one.arguments.map((a) => `${a.name} => ${a.type}`))})`)
        )}`,
        code: "PGRST203",
        hint: "Overloads are told apart by the names of their arguments; give more of them, or rename the function"
      })
    )
  }
  return Result.succeed({ routine, given: routine.arguments.filter((argument) => given.has(argument.name)) })
}

/**
 * The call as SQL. `json` is the object of arguments as text: PostgreSQL converts each value to its argument's type.
 * `limit` caps the rows of a set, as whole number in text.
 */
export const callSql = ({ routine, given }: RoutineCall, json: string, limit: string | undefined): RowSql => {
  const name = `${quoteName(routine.schema)}.${quoteName(routine.name)}`
  const params = given.length > 0 ? [json] : []
  const types = given.map((argument) => `${quoteName(argument.name)} ${argument.type}`)
  const args = given.length > 0 ? `json_to_record($1) as _svc_args(${types.join(", ")}), ` : ""
  // A VARIADIC argument that is left out has its default only where the others are told apart by position.
  const byPosition =
    routine.arguments.at(-1)?.variadic === true && given.every((argument, at) => argument === routine.arguments[at])
  const call = `${name}(${given
    .map(
      ({ name, variadic }) =>
        `${variadic ? "variadic " : ""}${byPosition ? "" : `${quoteName(name)} => `}_svc_args.${quoteName(name)}`
    )
    .join(", ")})`
  const source = args === "" ? "" : ` from ${args.slice(0, -2)}`
  const lateral = args === "" ? "" : "lateral "
  const capped = routine.set && limit !== undefined ? ` limit ${limit}` : ""
  const inFrom = `${args}${lateral}${call}`
  const many = (value: string, rows: string) =>
    `select coalesce(json_agg(${value}), '[]')::text, count(*)::text from (select ${rows}${capped}) _svc_row`
  const text = (() => {
    if (routine.result === "void") return `select ''::text, count(*)::text from ${inFrom} _svc_row`
    if (routine.result === "scalar") {
      return routine.set
        ? many("_svc_row.v", `_svc_f.v from ${inFrom} _svc_f(v)`)
        : `select coalesce(to_json(_svc_row.v), 'null')::text, '1'::text from ${inFrom} _svc_row(v)`
    }
    // PostgreSQL gives a single output column bare; its name is put back. In FROM, a composite one would be spread.
    if (routine.outputs.length === 1) {
      const only = quoteLiteral(routine.outputs[0] || routine.name)
      return routine.set
        ? many(`json_build_object(${only}, _svc_row.v)`, `${call} as v${source}`)
        : `select json_build_object(${only}, ${call})::text, '1'::text${source}`
    }
    // Not in FROM, where a NULL would become a row of NULLs.
    if (!routine.set) return `select coalesce(to_json(${call}), 'null')::text, '1'::text${source}`
    return routine.result === "row"
      ? many("_svc_row", `_svc_f.* from ${inFrom} _svc_f`)
      : many("_svc_row.v", `${call} as v${source}`)
  })()
  return { text, params, prepare: true }
}
