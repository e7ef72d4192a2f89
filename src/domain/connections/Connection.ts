import { Result, Schema } from "effect"
import { readConnectionUrl } from "./Url.ts"
import { isStorable } from "../text/StorableText.ts"

export const ConnectionId = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })).pipe(
  Schema.brand("ConnectionId")
)
export type ConnectionId = typeof ConnectionId.Type

/** 1–100 characters, not only white space. */
const Name = Schema.String.check(
  Schema.isMaxLength(100),
  isStorable,
  Schema.makeFilter((text: string) => text.trim() !== "" || "Expected 1 to 100 characters")
)

/** A connection string of a known scheme, at most 4,096 characters. */
const Url = Schema.String.check(
  Schema.isMaxLength(4096),
  isStorable,
  Schema.makeFilter((text: string) => {
    const read = readConnectionUrl(text)
    return Result.isSuccess(read) || read.failure
  })
)

/** What may be saved (spec: Saved connection). */
export const NewConnection = Schema.Struct({ name: Name, connection_url: Url })
export type NewConnection = typeof NewConnection.Type

/** What is not given stays. */
export const ConnectionChange = Schema.Struct({
  name: Schema.optionalKey(Name),
  connection_url: Schema.optionalKey(Url)
})
export type ConnectionChange = typeof ConnectionChange.Type

/** A saved connection as it is shown. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Connection = Schema.Struct({
  id: ConnectionId,
  name: Schema.String,
  /** `postgres`, `mysql`, `mongodb`, `redis` or `mssql`; null when the string can't be read. */
  type: Schema.NullOr(Schema.String),
  /** With `****` for each password in it; null when it can't be read. */
  connection_url: Schema.NullOr(Schema.String),
  /** Why it can't be read. */
  error: Schema.NullOr(Schema.String),
  /** Encrypted with a key of SVC_ENCRYPTION_KEYS_OLD; any PATCH encrypts it with the current one. */
  old_key: Schema.Boolean,
  created_at: Schema.String,
  updated_at: Schema.String
})
export type Connection = typeof Connection.Type

/** What a test found. */
export const ConnectionCheck = Schema.Struct({
  ok: Schema.Boolean,
  /**
   * How far a test of this kind goes. `query`: signed in, and `select 1` answered. `tls`: a TLS connection to a server
   * whose certificate is good. `tcp`: somebody accepts connections there. Neither of these two looks at user and
   * password. Null: there was nothing to try.
   */
  checked: Schema.NullOr(Schema.Literals(["query", "tls", "tcp"])),
  latency_ms: Schema.Int,
  /** Null when `ok`. */
  error: Schema.NullOr(Schema.String),
  /** An SQLSTATE, or a code of the operating system such as ECONNREFUSED, where there is one. */
  code: Schema.NullOr(Schema.String),
  /** As PostgreSQL says it. */
  server_version: Schema.NullOr(Schema.String)
})
export type ConnectionCheck = typeof ConnectionCheck.Type
