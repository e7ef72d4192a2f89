import { Result, Schema } from "effect"
import { isStorable } from "../text/StorableText.ts"
import { type ConnectionUrl, paramOf, readConnectionUrl } from "./Url.ts"

export const ConnectionId = Schema.Int.pipe(Schema.brand("ConnectionId"))
export type ConnectionId = typeof ConnectionId.Type

/** 1–100 characters, not blank. */
const Name = Schema.String.check(
  Schema.isMaxCodePoints(100),
  isStorable,
  Schema.makeFilter((text: string) => text.trim() !== "" || "Expected 1 to 100 characters")
)

/** A connection string of a supported scheme, at most 4,096 characters. */
const Url = Schema.String.check(
  Schema.isMaxCodePoints(4096),
  isStorable,
  Schema.makeFilter((text: string) => {
    const read = readConnectionUrl(text)
    return Result.isSuccess(read) || read.failure
  })
)

/** A connection to save (spec: Saved connection). */
export const NewConnection = Schema.Struct({ name: Name, connection_url: Url })
export type NewConnection = typeof NewConnection.Type

/** Absent fields are left unchanged. */
export const ConnectionChange = Schema.Struct({
  name: Schema.optionalKey(Name),
  connection_url: Schema.optionalKey(Url)
})
export type ConnectionChange = typeof ConnectionChange.Type

/** A saved connection as returned by the API. Timestamps are ISO 8601 in UTC with milliseconds. */
export const Connection = Schema.Struct({
  id: ConnectionId,
  name: Schema.String,
  /** `postgres`, `mysql`, `mongodb`, `redis` or `mssql`; null when the string can't be decrypted or parsed. */
  type: Schema.NullOr(Schema.String),
  /** The URL with `****` in place of each password; null when it can't be decrypted or parsed. */
  connection_url: Schema.NullOr(Schema.String),
  /** Why it can't be decrypted or parsed. */
  error: Schema.NullOr(Schema.String),
  /** Encrypted with a key of SVC_ENCRYPTION_KEYS_OLD; any PATCH re-encrypts it with the current one. */
  old_key: Schema.Boolean,
  created_at: Schema.String,
  updated_at: Schema.String
})
export type Connection = typeof Connection.Type

/** The result of a test. */
export const ConnectionCheck = Schema.Struct({
  ok: Schema.Boolean,
  /**
   * The check that a test of this type makes. `query`: signs in and runs `select 1`. `tls`: a TLS connection to a
   * server with a valid certificate. `tcp`: a server accepts connections. The latter two do not verify user and
   * password. Null: the connection string can't be read.
   */
  checked: Schema.NullOr(Schema.Literals(["query", "tls", "tcp"])),
  latency_ms: Schema.Int,
  /** Null when `ok`. */
  error: Schema.NullOr(Schema.String),
  /** An SQLSTATE or an error code of the operating system such as ECONNREFUSED, if there is one. */
  code: Schema.NullOr(Schema.String),
  /** The version as reported by PostgreSQL. */
  server_version: Schema.NullOr(Schema.String)
})
export type ConnectionCheck = typeof ConnectionCheck.Type

/** A server to connect to. */
export interface ConnectionTarget {
  /** A name or an address; the directory of a Unix socket begins with `/`. */
  readonly host: string
  readonly port: number
}

/** Whether a connection is encrypted from its first byte. */
export const startsWithTls = ({ params, scheme, type }: ConnectionUrl): boolean => {
  if (scheme === "rediss") return true
  if (type !== "mongodb") return false
  const tls = paramOf(params, "tls", "ssl")
  return tls === undefined ? scheme === "mongodb+srv" : tls === "true"
}

/** Whether the connection string disables the verification of certificates. */
export const trustsAnyCertificate = ({ params }: ConnectionUrl): boolean =>
  paramOf(params, "tlsinsecure", "tlsallowinvalidcertificates") === "true" || paramOf(params, "sslcertreqs") === "none"

/**
 * The servers of a connection string, in order. As in the native clients, parameters that name a host or a port override
 * the authority. For `mongodb+srv` the host is the name of a service, not of a server.
 */
export const targetsOf = (url: ConnectionUrl): ReadonlyArray<ConnectionTarget> => {
  const { defaultPort, hosts, params, type } = url
  const named =
    type === "postgres"
      ? (paramOf(params, "hostaddr") ?? paramOf(params, "host"))
      : type === "mysql"
        ? paramOf(params, "socket", "unixsocket")
        : type === "mssql"
          ? paramOf(params, "server", "servername")
          : undefined
  const names = named === undefined ? hosts.map(({ name }) => name) : named.split(",")
  const ports = type === "postgres" || type === "mssql" ? (paramOf(params, "port", "portnumber")?.split(",") ?? []) : []
  return names.map((name, i) => ({
    // The named instance of SQL Server is not part of the host name.
    host: (type === "mssql" ? name.split("\\")[0] : name) || (type === "postgres" ? "localhost" : ""),
    port:
      portOf(ports[i] ?? ports[0]) ??
      hosts[i]?.port ??
      (named === undefined ? undefined : hosts[0]?.port) ??
      defaultPort
  }))
}

const portOf = (text: string | undefined) => {
  const port = Number(text)
  return Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : undefined
}

/** libpq's `sslmode`; `prefer`: encrypted if the server supports it. */
export type SslMode = "disable" | "prefer" | "require" | "verify-ca" | "verify-full"

/** The `sslmode` of a PostgreSQL URL, including the spellings of other clients than libpq. Undefined if it is unknown. */
export const sslModeOf = ({ params }: ConnectionUrl): SslMode | undefined => {
  const mode = paramOf(params, "sslmode")
  if (mode === undefined) return paramOf(params, "ssl") === "true" ? "require" : "prefer"
  if (mode === "allow") return "prefer"
  if (mode === "no-verify") return "require"
  return modes.find((one) => one === mode)
}

const modes: ReadonlyArray<SslMode> = ["disable", "prefer", "require", "verify-ca", "verify-full"]
