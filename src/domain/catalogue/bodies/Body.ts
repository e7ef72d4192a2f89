import { Option, Schema } from "effect"
import { type BodyParser, type Names, noNames } from "./Names.ts"
import { addPlpgsqlNames } from "./PlpgsqlNames.ts"
import { addSqlNames } from "./SqlNames.ts"

/** A function whose body is text that PostgreSQL parses when the function runs. */
export const Body = Schema.Struct({
  /** Oid and version of its catalogue entry. */
  oid: Schema.String,
  xmin: Schema.String,
  language: Schema.Literals(["sql", "plpgsql"]),
  source: Schema.String,
  /** CREATE FUNCTION up to the body, for PL/pgSQL; otherwise empty. */
  head: Schema.String,
  /** It has a search path of its own. */
  pathed: Schema.Boolean
})
export type Body = typeof Body.Type

/** The result of `bodiesSql`. */
export const Bodies = Schema.fromJsonString(Schema.Array(Body))

const attempt = (read: () => boolean) => Option.getOrElse(Option.liftThrowable(read)(), () => false)

/** The names in a body; undefined if more than reading and calling may happen in it. */
export const namesInBody = (parser: BodyParser, { head, language, source }: Body): Names | undefined => {
  const names = noNames()
  const isClean = attempt(() =>
    language === "sql" ? addSqlNames(names, parser.sql(source)) : addPlpgsqlNames(names, parser, head, source)
  )
  return isClean ? names : undefined
}

const none: ReadonlyArray<string> = []

/**
 * A body's row in the parameter of the catalogue query. Unqualified names are found by the search path of the caller.
 */
export const bodyRow = (
  { oid, pathed, xmin }: Body,
  { bare, changed, columns, functions, inserted, operators, relations, types, unread }: Names
) => ({
  oid,
  xmin,
  writes: inserted.size > 0 || changed.size > 0 || functions.has("nextval"),
  calls: [...functions],
  attributes: [...columns],
  unread: [...unread],
  operators: [...operators],
  relations: [...relations],
  inserted: [...inserted],
  changed: [...changed],
  types: [...types],
  bare_functions: pathed ? none : [...bare.functions, ...columns],
  bare_operators: pathed ? none : [...bare.operators],
  bare_relations: pathed ? none : [...bare.relations],
  // A call or a name behind a dot may be a cast.
  bare_types: pathed ? none : [...bare.types, ...bare.functions, ...columns]
})
