import { Schema } from "effect"
import { NewMigration } from "../../migrations/Migration.ts"

/** The database that the statements change: so that it gets the schema of the other one. */
const Target = Schema.Literals(["main", "branch"])
export type SchemaTarget = typeof Target.Type

export const SchemaDifferenceQuery = Schema.Struct({ to: Schema.optionalKey(Target) })

const SchemaStatement = Schema.Struct({
  sql: Schema.String,
  verb: Schema.Literals(["create", "alter", "drop"]),
  /** What it is about: `table`, `column`, `view`, `grant`, … */
  kind: Schema.String,
  /** The name of that, such as `public.orders.total`. */
  object: Schema.String,
  /** It deletes rows or values. */
  destructive: Schema.Boolean,
  /** It writes each row of a table again, which is locked meanwhile. */
  rewrites: Schema.Boolean,
  /** Counts from 1. All statements of a number are committed together. */
  transaction: Schema.Int
})
export type SchemaStatement = typeof SchemaStatement.Type

/**
 * `NOT_COVERED`: an object of a kind, or a property, that differs and for which there is no statement. `RENAMED`: what is dropped
 * has the same definition as what is created, so its rows are lost where a rename would keep them. `DATA_DEPENDS`: it fails, or
 * changes values, depending on the rows.
 */
const SchemaWarning = Schema.Struct({
  code: Schema.Literals(["NOT_COVERED", "RENAMED", "DATA_DEPENDS"]),
  kind: Schema.String,
  object: Schema.String,
  message: Schema.String
})
export type SchemaWarning = typeof SchemaWarning.Type

/** Statements after which one database has the schema of the other. */
export const SchemaDifference = Schema.Struct({
  to: Target,
  /** Names the schema that the statements change; a run refuses another one. */
  fingerprint: Schema.String,
  /** All statements as a migration file, with the warnings as comments; empty if there is no difference. */
  sql: Schema.String,
  statements: Schema.Array(SchemaStatement),
  transactions: Schema.Int,
  /** The number of statements that delete rows or values. */
  destructive: Schema.Int,
  warnings: Schema.Array(SchemaWarning)
}).annotate({ identifier: "SchemaDifference" })
export type SchemaDifference = typeof SchemaDifference.Type

/** `sql` is run if the main database still has the schema of `fingerprint`; null runs it in any case. */
export const SchemaRun = Schema.Struct({
  ...NewMigration.fields,
  fingerprint: Schema.NullOr(Schema.String.check(Schema.isMaxLength(128)))
})
export type SchemaRun = typeof SchemaRun.Type
