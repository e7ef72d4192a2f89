import { Schema } from "effect"

const Column = Schema.Struct({
  name: Schema.String,
  type: Schema.String,
  nullable: Schema.Boolean,
  default: Schema.NullOr(Schema.String),
  identity: Schema.NullOr(Schema.Literals(["always", "by default"])),
  generated: Schema.NullOr(Schema.String),
  comment: Schema.NullOr(Schema.String)
})

const ForeignKey = Schema.Struct({
  name: Schema.String,
  columns: Schema.Array(Schema.String),
  references: Schema.Struct({ schema: Schema.String, table: Schema.String, columns: Schema.Array(Schema.String) }),
  on_update: Schema.String,
  on_delete: Schema.String
})

const Policy = Schema.Struct({
  name: Schema.String,
  command: Schema.Literals(["ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]),
  permissive: Schema.Boolean,
  roles: Schema.Array(Schema.String),
  using: Schema.NullOr(Schema.String),
  check: Schema.NullOr(Schema.String)
})

/** PostgreSQL's statement or expression for it; null while the table is locked exclusively. */
const Defined = Schema.Struct({ name: Schema.String, definition: Schema.NullOr(Schema.String) })

/** The planner's estimate, as of the last VACUUM or ANALYZE; null before the first. */
const estimatedRows = Schema.NullOr(Schema.Finite)

const Privileges = Schema.Array(Schema.Literals(["SELECT", "INSERT", "UPDATE", "DELETE"]))

const Table = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  type: Schema.Literals(["table", "partitioned table", "foreign table"]),
  comment: Schema.NullOr(Schema.String),
  columns: Schema.Array(Column),
  primary_key: Schema.Array(Schema.String),
  unique_keys: Schema.Array(Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) })),
  foreign_keys: Schema.Array(ForeignKey),
  row_level_security: Schema.Struct({ enabled: Schema.Boolean, forced: Schema.Boolean }),
  policies: Schema.Array(Policy),
  indexes: Schema.Array(Defined),
  checks: Schema.Array(Defined),
  triggers: Schema.Array(Defined),
  /** The privileges of the callers' roles on all of its columns. */
  grants: Schema.Struct({ anon: Privileges, authenticated: Privileges }),
  estimated_rows: estimatedRows,
  /**
   * The size with indexes and long values, as of the last VACUUM or ANALYZE: to measure it now would wait for a locked
   * table.
   */
  bytes: Schema.Finite
})

const View = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  type: Schema.Literals(["view", "materialized view"]),
  comment: Schema.NullOr(Schema.String),
  columns: Schema.Array(Column),
  estimated_rows: estimatedRows,
  /** null while something that it reads is locked exclusively. */
  definition: Schema.NullOr(Schema.String)
})

const Function = Schema.Struct({
  schema: Schema.String,
  name: Schema.String,
  arguments: Schema.String,
  returns: Schema.NullOr(Schema.String),
  language: Schema.String,
  volatility: Schema.Literals(["immutable", "stable", "volatile"]),
  security_definer: Schema.Boolean,
  comment: Schema.NullOr(Schema.String)
})

/** An enum of an exposed schema, or of a column there. */
const Enum = Schema.Struct({
  /** The name that columns use: with its schema, unless that is in the search path. */
  type: Schema.String,
  values: Schema.Array(Schema.String)
})

/** Something in the database that gives callers more than its tables' policies do. */
const Warning = Schema.Struct({
  code: Schema.Literals(["VIEW_WITHOUT_POLICIES", "IMMUTABLE_UNPROVEN"]),
  schema: Schema.String,
  name: Schema.String,
  message: Schema.String,
  /** Statements that end it. */
  hint: Schema.String
}).annotate({ description: "A view over tables with row-level security that runs with its owner's rights" })

/**
 * The response of `GET /v1/database/schema`: the contents of the exposed schemas, sorted by name. Types, defaults and
 * expressions are PostgreSQL's texts.
 */
export const DatabaseSchema = Schema.Struct({
  schemas: Schema.Array(Schema.String),
  tables: Schema.Array(Table),
  views: Schema.Array(View),
  functions: Schema.Array(Function),
  enums: Schema.Array(Enum),
  warnings: Schema.Array(Warning)
})
