import type { Table } from "../catalogue/queries.ts"
import { dropEnumSql } from "../catalogue/sql/enums.ts"
import { dropFunctionSql } from "../catalogue/sql/functions.ts"
import { dropIndexSql } from "../catalogue/sql/indexes.ts"
import { dropSchemaSql } from "../catalogue/sql/schemas.ts"
import { dropTriggerSql } from "../catalogue/sql/triggers.ts"
import { plural } from "../ui/format.ts"
import type { Drop } from "./forms/parts.tsx"
import type { EnumType, StoredFunction } from "./queries.ts"

const dependents = "Drop what depends on it, too (cascade)"
const again = "Its statement, which makes it again, is in the list that you came from."

export const indexDrop = ({ name: table, schema }: Table, name: string): Drop => ({
  what: "index",
  name,
  named: false,
  cascades: undefined,
  sql: () => dropIndexSql({ schema, name }, false),
  words: `Statements that it makes fast read all of ${table} then. ${again}`
})

export const triggerDrop = (relation: { readonly schema: string; readonly name: string }, name: string): Drop => ({
  what: "trigger",
  name,
  named: false,
  cascades: undefined,
  sql: () => dropTriggerSql({ schema: relation.schema, table: relation.name, name }),
  words: `Changes of ${relation.name} no longer run its function. ${again}`
})

export const enumDrop = (type: EnumType): Drop => ({
  what: "enum",
  name: type.name,
  named: type.columns > 0,
  cascades:
    type.columns > 0 ? `Drop ${plural(type.columns, "column")} of this type, with the values (cascade)` : dependents,
  sql: (cascade) => dropEnumSql(type, cascade),
  words:
    type.columns > 0
      ? `${plural(type.columns, "column")} of tables ${type.columns === 1 ? "has" : "have"} this type: PostgreSQL refuses to drop it without them. This can't be undone; a backup or a branch has them still.`
      : "No column of a table has this type."
})

export const functionDrop = (stored: StoredFunction): Drop => ({
  what: stored.kind,
  name: stored.name,
  named: false,
  cascades: dependents,
  sql: (cascade) => dropFunctionSql(stored, cascade),
  words: "Callers of /v1/db and triggers can't use it then. This can't be undone; a backup or a branch has it still."
})

export const schemaDrop = (name: string, tables: ReadonlyArray<Table>): Drop => ({
  what: "schema",
  name,
  named: true,
  cascades: "Drop everything in it, too (cascade)",
  sql: (cascade) => dropSchemaSql(name, cascade),
  words:
    tables.length === 0
      ? "It has no tables. With anything else in it, PostgreSQL refuses to drop it."
      : `It has ${plural(tables.length, "table")}, so PostgreSQL refuses to drop it without them. This can't be undone; a backup or a branch has them still.`
})
