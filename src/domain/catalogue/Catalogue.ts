import { Schema } from "effect"
import { probed, probedRelation } from "./Probe.ts"
import { type RelationName, type Relationship } from "./Relationship.ts"
import { RelationshipRows, makeRelationships } from "./Relationships.ts"

/**
 * A function of the user's that is declared IMMUTABLE, and whose body is not proven to be. PostgreSQL evaluates it when it
 * makes a plan and keeps the result, so what it reads of one caller could reach the next.
 */
export const PromisedFunction = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  /** `schema.name(types)`, quoted. */
  signature: Schema.String
})
export type PromisedFunction = typeof PromisedFunction.Type

export const promisedMessage = ({ signature }: PromisedFunction) =>
  `The function ${signature} is declared IMMUTABLE, but its body is not proven to answer every caller alike. No plan that may contain its result is kept, so requests with user code take longer`

export const promisedFix = ({ signature }: PromisedFunction) => `alter function ${signature} stable;`

const warningCode = "IMMUTABLE_UNPROVEN" as const

/** A warning of the description of a schema. */
export const promisedWarning = (fn: PromisedFunction) => ({
  code: warningCode,
  schema: fn.schema,
  name: fn.name,
  message: promisedMessage(fn),
  hint: promisedFix(fn)
})

/** How JSON paths and full-text search treat a value; a domain is of its base type's kind. */
const Kind = Schema.Literals(["json", "array", "composite", "tsvector", "other"])

/**
 * The functions of a domain's casts, quoted, which PostgreSQL itself ignores: what JSON shows of its values, and how they
 * are read from JSON and from the text of a filter. All are user code.
 */
const Casts = Schema.Struct({
  to_json: Schema.NullOr(Schema.String),
  from_json: Schema.NullOr(Schema.String),
  from_text: Schema.NullOr(Schema.String)
})

/** A column, as far as the row path needs it. `type` is its name in SQL, valid with any search path. */
const Column = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  type_oid: Schema.Int,
  /** GENERATED ALWAYS, as identity or as an expression: not writable. */
  generated: Schema.Boolean,
  /** Its type is a domain, which may reject NULL. */
  domain: Schema.Boolean,
  casts: Schema.NullOr(Casts),
  kind: Kind
})

/** A computed column: a function that takes a row of a relation and returns one value. */
const ComputedColumn = Schema.Struct({
  name: Schema.String,
  /** The function's schema. */
  schema: Schema.String,
  type: Schema.String,
  type_oid: Schema.Int,
  kind: Kind
})

/** A table, partitioned table, view, materialized view or foreign table. */
const Relation = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  /** Changes with the definition. */
  stamp: Schema.String,
  columns: Schema.Array(Column),
  /** The statements on it that run no user code (docs/performance.md); see `Statement.clean`. */
  clean_read: Schema.Boolean,
  clean_insert: Schema.Boolean,
  clean_change: Schema.Boolean,
  /** Every role that may read it gets all rows: it has no row-level security, and is not a view. */
  all_rows: Schema.Boolean,
  kind: Schema.Literals(["table", "partitioned", "view", "materialized", "foreign"]),
  computed: Schema.Array(ComputedColumn)
})

const Argument = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  optional: Schema.Boolean,
  variadic: Schema.Boolean
})

/** A function that can be called by name; not a procedure, aggregate or trigger function. */
const StoredFunction = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  stamp: Schema.String,
  arguments: Schema.Array(Argument),
  /** Returns a set. */
  set: Schema.Boolean,
  /** `void`: nothing; `scalar`: one value; `row`: named columns; `record`: columns known only when it runs. */
  result: Schema.Literals(["void", "scalar", "row", "record"]),
  /** Names of OUT, INOUT and TABLE columns. */
  outputs: Schema.Array(Schema.String),
  volatile: Schema.Boolean,
  /** The exposed relation whose rows it returns. */
  returns: Schema.NullOr(Schema.Struct({ schema: Schema.String, name: Schema.String })),
  /** Type of its only argument if that has no name: it receives the request's body unchanged. */
  body: Schema.NullOr(Schema.Literals(["json", "jsonb", "text", "bytea", "xml"])),
  clean: Schema.Boolean,
  /** Whether it writes rows, or takes values of sequences. Determined only for functions whose body is text. */
  writes: Schema.Boolean
})

type Column = typeof Column.Type
export type Relation = typeof Relation.Type & {
  readonly byName: ReadonlyMap<string, Column>
  /** Some column's domain has a cast to JSON. */
  readonly formatted: boolean
  /**
   * The columns of the primary key, in its order; of a view, the keys of the tables that it selects from. Empty if
   * there is none.
   */
  readonly primary_key: ReadonlyArray<string>
}
export type StoredFunction = typeof StoredFunction.Type

/**
 * The result of the catalogue query. `watched`: DDL is reported as it happens, so that a catalogue can be invalidated.
 * `promised`: the functions that are declared IMMUTABLE and not proven to be, 100 at most.
 */
export const CatalogueRows = Schema.Struct({
  watched: Schema.Boolean,
  surroundings: Schema.String,
  promised: Schema.Array(PromisedFunction),
  relations: Schema.Array(Relation),
  functions: Schema.Array(StoredFunction),
  relationships: RelationshipRows
})

/** The exposed relations and functions of one database, by schema and name. */
export interface Catalogue {
  readonly watched: boolean
  /** Changes with what the definition of a table refers to outside of it. */
  readonly surroundings: string
  /** Functions whose declaration as IMMUTABLE is not proven: no plan may outlive a request, because it may keep their results. */
  readonly promised: ReadonlyArray<PromisedFunction>
  readonly relation: (schema: string, name: string) => Relation | undefined
  /** All overloads. */
  readonly functions: (schema: string, name: string) => ReadonlyArray<StoredFunction>
  /** The relationships of a relation, in a stable order. */
  readonly relationships: (from: RelationName) => ReadonlyArray<Relationship>
  /** Names of the relations of a schema. */
  readonly names: (schema: string) => ReadonlyArray<string>
  /** Names of the functions of a schema, for hints; collected at each call. */
  readonly functionNames: (schema: string) => ReadonlyArray<string>
}

/** Names cannot contain NUL, so keys are unique. */
const nameKey = (schema: string, name: string) => `${schema}\0${name}`

export const makeCatalogue = (rows: typeof CatalogueRows.Type): Catalogue => {
  const schemas = new Map<string, Array<string>>()
  for (const { name, schema } of rows.relations) {
    const names = schemas.get(schema)
    if (names === undefined) schemas.set(schema, [name])
    else names.push(name)
  }
  const reachable = new Set(rows.relations.map(({ name, schema }) => nameKey(schema, name)))
  const relationships = makeRelationships(rows.relationships, ({ name, schema }) =>
    reachable.has(nameKey(schema, name))
  )
  const relations = new Map<string, Relation>([[nameKey(probed.schema, probed.table), probedRelation]])
  for (const relation of rows.relations) {
    const byName = new Map(relation.columns.map((column) => [column.name, column]))
    const primary_key = relationships.primaryKey(relation)
    const formatted = relation.columns.some(({ casts }) => casts !== null && casts.to_json !== null)
    relations.set(nameKey(relation.schema, relation.name), { ...relation, byName, primary_key, formatted })
  }
  const functions = new Map<string, Array<StoredFunction>>()
  for (const fn of rows.functions) {
    const key = nameKey(fn.schema, fn.name)
    const overloads = functions.get(key)
    if (overloads) overloads.push(fn)
    else functions.set(key, [fn])
  }
  return {
    watched: rows.watched,
    surroundings: rows.surroundings,
    promised: rows.promised,
    relation: (schema, name) => relations.get(nameKey(schema, name)),
    functions: (schema, name) => functions.get(nameKey(schema, name)) ?? [],
    relationships: relationships.from,
    names: (schema) => schemas.get(schema) ?? [],
    functionNames: (schema) => [...new Set(rows.functions.flatMap((fn) => (fn.schema === schema ? [fn.name] : [])))]
  }
}
