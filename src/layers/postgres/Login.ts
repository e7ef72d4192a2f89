import { type PgConnection } from "@effect/sql-pg"
import { Redacted } from "effect"
import { type ConnectionOptions } from "node:tls"
import { type ClientConfig as PgConfig } from "pg"

/** Address and credentials: how to connect to one database as one role. */
export interface Login {
  /** A name, an address, or the directory of a Unix socket. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: Redacted.Redacted
  readonly database: string
  /** TLS as `node:tls` takes it; false for a plain connection. */
  readonly ssl: false | ConnectionOptions
}

/**
 * search_path of the service's own connections, whose login may be a superuser: they must not resolve a name to an object
 * that another role created.
 */
export const ownSearchPath = "pg_catalog"

/** A login as sql-pg's configuration. */
export const clientConfig = (login: Login): PgConnection.Config => ({
  host: login.host,
  port: login.port,
  username: login.user,
  password: login.password,
  database: login.database,
  ssl: login.ssl
})

/** A value of `-c name=value` in the startup options. */
const escaped = (value: string) => value.replaceAll(/[\\\s]/g, "\\$&")

/** A login as pg's configuration; `options` are settings of the session. */
export const pgConfig = (login: Login, options: Readonly<Record<string, string>>): PgConfig => ({
  host: login.host,
  port: login.port,
  user: login.user,
  password: Redacted.value(login.password),
  database: login.database,
  // A copy, in which the driver hides the key from enumeration.
  ssl: login.ssl === false ? false : { ...login.ssl },
  options: Object.entries(options)
    .map(([name, value]) => `-c ${name}=${escaped(value)}`)
    .join(" ")
})

/** The server's address for `node:net`. */
export const socketAddress = ({ host, port }: Login) =>
  host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }

const tlsByMode: Readonly<Record<string, false | ConnectionOptions>> = {
  disable: false,
  allow: false,
  prefer: false,
  // As in libpq, encrypted without checking the certificate. Public networks need verify-full.
  require: { rejectUnauthorized: false },
  "no-verify": { rejectUnauthorized: false },
  "verify-ca": { checkServerIdentity: () => undefined },
  "verify-full": {}
}

/** Parameters of a libpq URI that name files of certificates. */
export interface TlsFiles {
  /** `system`: the certificates of the operating system. */
  readonly sslrootcert?: string
  readonly sslcert?: string
  readonly sslkey?: string
}

/** What a libpq URI says. */
export interface LoginUri {
  readonly login: Login
  readonly files: TlsFiles
  /** Names of parameters that have no effect here. */
  readonly ignored: ReadonlyArray<string>
}

const known = new Set(["sslmode", "host", "port", "application_name"])
const fileNames = ["sslrootcert", "sslcert", "sslkey"] as const

/** Reads a libpq URI (`postgres://user:password@host:port/database?sslmode=…`); undefined if it is invalid or has several hosts. */
export const parseLoginUri = (uri: string): LoginUri | undefined => {
  if (!URL.canParse(uri)) return undefined
  const url = new URL(uri)
  if (!/^postgres(ql)?:$/.test(url.protocol)) return undefined
  const params = url.searchParams
  try {
    const user = decodeURIComponent(url.username) || "postgres"
    const mode = tlsByMode[params.get("sslmode") ?? "disable"]
    const host = params.get("host") ?? (url.hostname.replace(/^\[|\]$/g, "") || "localhost")
    // libpq would try several hosts one after the other.
    if (mode === undefined || /,/.test(host + (params.get("port") ?? ""))) return undefined
    const files: TlsFiles = Object.fromEntries(
      fileNames.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : []))
    )
    // As in libpq, certificates of authorities make `require` check the server's.
    const checks = files.sslrootcert !== undefined && params.get("sslmode") === "require"
    return {
      login: {
        host,
        port: Number(url.port || (params.get("port") ?? 5432)),
        user,
        password: Redacted.make(decodeURIComponent(url.password)),
        database: decodeURIComponent(url.pathname.slice(1)) || user,
        ssl: checks ? (tlsByMode["verify-ca"] ?? false) : mode
      },
      files,
      ignored: [...new Set(params.keys())].filter((name) => !known.has(name) && !Object.hasOwn(files, name))
    }
  } catch {
    return undefined
  }
}

/** The login of a libpq URI without files of certificates; undefined if it is invalid. */
export const parseLogin = (uri: string): Login | undefined => parseLoginUri(uri)?.login

/** A login without TLS as a libpq URI, with its password. */
export const loginUri = ({ database, host, password, port, user }: Login) => {
  const part = encodeURIComponent
  const at = host.startsWith("/")
    ? `localhost:${port}/${part(database)}?host=${part(host)}`
    : `${host}:${port}/${part(database)}`
  return `postgres://${part(user)}:${part(Redacted.value(password))}@${at}`
}
