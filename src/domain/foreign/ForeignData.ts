import { Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"

/** An SQL name of 1–63 bytes: PostgreSQL would truncate a longer one and find another object. */
const Name = Schema.NonEmptyString.check(
  isStorable,
  Schema.makeFilter((text: string) => Buffer.byteLength(text) <= 63 || "Expected at most 63 bytes")
)

/** The value of a connection option, at most 1,000 characters. It is quoted, so it can't contain further options. */
const Value = Schema.NonEmptyString.check(Schema.isMaxCodePoints(1000), isStorable)

const Host = Value.check(
  Schema.makeFilter((text: string) => !/[\p{Cc}\s]/u.test(text) || "Expected a host name or an address")
)

/** A whole number, as text or as a number. */
const Port = Schema.Union([Schema.String, Schema.Int]).check(
  Schema.makeFilter(
    (given: string | number) =>
      (/^\d{1,5}$/.test(String(given)) && Number(given) >= 1 && Number(given) <= 65_535) ||
      "Expected a port from 1 to 65535"
  )
)

/** A foreign server to create (spec: POST /api/fdw/server). */
export const NewForeignServer = Schema.Struct({
  name: Name,
  /** Default `postgres_fdw`. */
  fdw_name: Schema.optionalKey(Name),
  host: Host,
  /** Default 5432. */
  port: Schema.optionalKey(Port),
  dbname: Value
})
export type NewForeignServer = typeof NewForeignServer.Type

/** A user mapping to create (spec: POST /api/fdw/user-mapping). */
export const NewUserMapping = Schema.Struct({
  server: Name,
  /** A role, or one of the keywords `current_user` (the role of service keys) and `PUBLIC`, in upper or lower case. */
  local_user: Name,
  remote_user: Value,
  /** "" if the server requires none. Never returned. */
  remote_password: Schema.String.check(Schema.isMaxCodePoints(1000), isStorable)
})
export type NewUserMapping = typeof NewUserMapping.Type

/** A schema to import (spec: POST /api/fdw/import). */
export const NewForeignImport = Schema.Struct({ server: Name, remote_schema: Name, local_schema: Name })
export type NewForeignImport = typeof NewForeignImport.Type

/** A foreign server (spec: Foreign data wrapper listing). */
export const ForeignServer = Schema.Struct({
  server_name: Schema.String,
  fdw_name: Schema.String,
  /** Names of functions; null if the wrapper has none. */
  handler: Schema.NullOr(Schema.String),
  validator: Schema.NullOr(Schema.String),
  /** `key=value`; the values of passwords, tokens and the like are `****`. */
  server_options: Schema.Array(Schema.String),
  /** Roles that have a mapping; `PUBLIC` for all roles without their own. */
  user_mappings: Schema.Array(Schema.String)
})
export type ForeignServer = typeof ForeignServer.Type

export const ForeignTable = Schema.Struct({
  schema: Schema.String,
  table_name: Schema.String,
  server_name: Schema.String,
  /** `name type` */
  columns: Schema.Array(Schema.String)
})
export type ForeignTable = typeof ForeignTable.Type

export const ForeignDataListing = Schema.Struct({
  wrappers: Schema.Array(ForeignServer),
  foreignTables: Schema.Array(ForeignTable)
})
export type ForeignDataListing = typeof ForeignDataListing.Type

export const UserMapping = Schema.Struct({
  server: Schema.String,
  /** The role's name, or `PUBLIC`. */
  local_user: Schema.String,
  remote_user: Schema.String
})
export type UserMapping = typeof UserMapping.Type

export const ForeignImport = Schema.Struct({
  server: Schema.String,
  remote_schema: Schema.String,
  local_schema: Schema.String,
  /** The tables that were created, by name. */
  foreignTables: Schema.Array(ForeignTable)
})
export type ForeignImport = typeof ForeignImport.Type

/** The local user of a mapping: a role name, or a keyword of PostgreSQL. */
export const localUserOf = (text: string): "current_user" | "public" | { readonly role: string } => {
  const lower = text.toLowerCase()
  return lower === "current_user" || lower === "public" ? lower : { role: text }
}

/** Whether foreign tables may be created in a schema: not in those of PostgreSQL and of the service. */
export const isImportTarget = (name: string) =>
  !name.startsWith("pg_") && name !== "information_schema" && name !== "svc"
