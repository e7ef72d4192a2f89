import { type PgConnection } from "@effect/sql-pg"
import { Redacted } from "effect"
import { isIP } from "node:net"
import { type ConnectionOptions } from "node:tls"
import { type ClientConfig as PgConfig } from "pg"
import { type HostAndPort, Servers } from "./servers/Servers.ts"

/** A server's address, and how to connect to it. It has no credentials, which do not depend on it. */
export interface ServerAddress extends HostAndPort {
  /** TLS as `node:tls` takes it; false for a plain connection. */
  readonly ssl: false | ConnectionOptions
  /** All servers, if there are several; `host` and `port` are of one of them. */
  readonly servers?: Servers
  /** The server is a standby. Others must not be, because the service writes. */
  readonly standby?: true
}

/** The role that logs in, which is the same at every address. */
interface Credentials {
  readonly user: string
  readonly password: Redacted.Redacted
}

/** How to connect to one database as one role. A login has an address rather than being one, so that neither is taken for the other. */
export interface Login extends Credentials {
  readonly at: ServerAddress
  /** Servers that replicate each other have the same databases; a pooler may have another name for one. */
  readonly database: string
  /** A pooler's address for the same database, for statements that need no session of their own. */
  readonly pooler?: Pooler
  /** The sessions are a pooler's: each transaction may run in another one, behind those of anyone else. */
  readonly shared?: Shared
  /** The database is a Citus cluster, and the server its coordinator. */
  readonly citus?: boolean
}

/** A pooler's address, and its name for the database. */
interface Pooler {
  readonly at: ServerAddress
  readonly database: string
}

interface Shared {
  /** PostgreSQL behind the pooler. */
  readonly behind: Login
  /** A connection that has to respond and is silent for longer than this, in ms, is broken: it waits for a session in vain. */
  readonly patience: number
}

/** The login at the pooler, if there is one. `patience`: see `Shared`. */
export const pooled = (login: Login, patience: number): Login => {
  const { pooler, ...rest } = login
  return pooler === undefined
    ? login
    : { ...rest, at: pooler.at, database: pooler.database, shared: { behind: login, patience } }
}

/** The login at one of its servers. Encryption is that of the whole address. */
export const atPlace = (login: Login, { host, port }: HostAndPort): Login => ({
  ...login,
  at: { ...login.at, host, port }
})

/** The login at the server that is the primary now. What connects takes it each time. */
export const atPrimary = (login: Login): Login =>
  login.at.servers === undefined ? login : atPlace(login, login.at.servers.current)

/**
 * search_path of the service's own connections, whose login may be a superuser: they must not resolve a name to an object
 * that another role created.
 */
export const ownSearchPath = "pg_catalog"

/** A login as sql-pg's configuration. */
export const clientConfig = (login: Login): PgConnection.Config => ({
  host: login.at.host,
  port: login.at.port,
  username: login.user,
  password: login.password,
  database: login.database,
  ssl:
    login.at.ssl === false || login.at.servers === undefined
      ? login.at.ssl
      : namingCurrent(login.at.ssl, login.at.servers)
})

/** The server's name for a client that is configured once, and reads this for each connection. */
const namingCurrent = (ssl: ConnectionOptions, servers: Servers): ConnectionOptions =>
  Object.defineProperty({ ...ssl }, "servername", {
    enumerable: true,
    get: () => (isIP(servers.current.host) === 0 ? servers.current.host : undefined)
  })

/** A value of `-c name=value` in the startup options. */
const escaped = (value: string) => value.replaceAll(/[\\\s]/g, "\\$&")

/** A login as pg's configuration; `options` are settings of the session, which only a session of its own can have. */
export const pgConfig = (login: Login, options: Readonly<Record<string, string>>): PgConfig => ({
  host: login.at.host,
  port: login.at.port,
  user: login.user,
  password: Redacted.value(login.password),
  database: login.database,
  // A copy, in which the driver hides the key from enumeration.
  ssl: login.at.ssl === false ? false : { ...login.at.ssl },
  ...(login.shared === undefined && {
    options: Object.entries(options)
      .map(([name, value]) => `-c ${name}=${escaped(value)}`)
      .join(" ")
  })
})

/** The server's address for `node:net`. */
export const socketAddress = ({ host, port }: HostAndPort) =>
  host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }

const tlsByMode: Readonly<Record<string, false | ConnectionOptions>> = {
  disable: false,
  allow: false,
  prefer: false,
  // `require` encrypts without checking the certificate, as in libpq. Public networks need verify-full.
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

/** The parts of a libpq URI; omitted ones are undefined. */
export interface ServerUri {
  readonly at: ServerAddress
  readonly user: string | undefined
  readonly password: Redacted.Redacted | undefined
  readonly database: string | undefined
  readonly files: TlsFiles
  /** Names of parameters that have no effect here. */
  readonly ignored: ReadonlyArray<string>
}

const known = new Set(["sslmode", "host", "port", "application_name", "target_session_attrs"])
/** The service writes, so that of several servers it always needs the primary. */
const targets: ReadonlySet<string | null> = new Set([null, "read-write", "primary"])
const fileNames = ["sslrootcert", "sslcert", "sslkey"] as const

/** A libpq URI with only the first of its hosts, or a host if it has none; and all of them, if there are several. */
const splitHosts = (uri: string): { readonly uri: string; readonly hosts: ReadonlyArray<string> } => {
  const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s.exec(uri)
  if (parts === null) return { uri, hosts: [] }
  const [, start = "", hosts = "", rest = ""] = parts
  const all = hosts.split(",")
  return { uri: `${start}${all[0] || "localhost"}${rest}`, hosts: all.length === 1 ? [] : all }
}

/** `host:port` of a URI, each of which may be missing; undefined if it is invalid. */
const placeOf = (host: string, port: string): HostAndPort | undefined => {
  const number = Number(port || 5432)
  if (/[\s@/?#,]/.test(host) && !host.startsWith("/")) return undefined
  return /^\d*$/.test(port) && number > 0 && number < 65_536
    ? { host: host.replace(/^\[|\]$/g, "") || "localhost", port: number }
    : undefined
}

const hostAndPort = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s

/** The servers of a URI: of its parameters `host` and `port`, as libpq prefers them, or of its authority. */
const placesOf = (url: URL, listed: ReadonlyArray<string>): ReadonlyArray<HostAndPort | undefined> => {
  const [host, port] = [url.searchParams.get("host"), url.searchParams.get("port")]
  if (host === null && listed.length > 0) {
    return listed.map((one) => {
      const [, name = "", number = ""] = hostAndPort.exec(one) ?? []
      return placeOf(decodeURIComponent(name), number)
    })
  }
  const hosts = (host ?? url.hostname).split(",")
  const ports = (url.port || (port ?? "")).split(",")
  if (ports.length > 1 && ports.length !== hosts.length) return [undefined]
  return hosts.map((one, at) => placeOf(one, ports[ports.length > 1 ? at : 0] ?? ""))
}

/** More servers than this are a mistake: each process keeps a connection to each. */
const maxServers = 16

/**
 * Reads a libpq URI (`postgres://user:password@host:port,host:port/database?sslmode=…`); undefined if it is invalid. Of
 * several hosts, the service uses the primary.
 */
export const parseServerUri = (given: string): ServerUri | undefined => {
  const { hosts, uri } = splitHosts(given)
  if (!URL.canParse(uri)) return undefined
  const url = new URL(uri)
  if (!/^postgres(ql)?:$/.test(url.protocol)) return undefined
  const params = url.searchParams
  try {
    const mode = tlsByMode[params.get("sslmode") ?? "disable"]
    const [first, ...others] = placesOf(url, hosts)
    if (mode === undefined || first === undefined || others.length >= maxServers) return undefined
    if (!targets.has(params.get("target_session_attrs"))) return undefined
    const valid = others.filter((place) => place !== undefined)
    if (valid.length < others.length) return undefined
    const files: TlsFiles = Object.fromEntries(
      fileNames.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : []))
    )
    // A file of root certificates makes `require` check the server's, as in libpq.
    const checks = files.sslrootcert !== undefined && params.get("sslmode") === "require"
    return {
      at: {
        ...first,
        ssl: checks ? (tlsByMode["verify-ca"] ?? false) : mode,
        ...(valid.length > 0 && { servers: new Servers(first, valid) })
      },
      user: decodeURIComponent(url.username) || undefined,
      password: url.password === "" ? undefined : Redacted.make(decodeURIComponent(url.password)),
      database: decodeURIComponent(url.pathname.slice(1)) || undefined,
      files,
      ignored: [...new Set(params.keys())].filter((name) => !known.has(name) && !Object.hasOwn(files, name))
    }
  } catch {
    return undefined
  }
}

/** The login of a URI, with libpq's defaults for what it leaves out. */
export const loginOf = ({ at, database, password = Redacted.make(""), user = "postgres" }: ServerUri): Login => ({
  at,
  user,
  password,
  database: database ?? user
})

/** The login of a libpq URI without files of certificates; undefined if it is invalid. */
export const parseLogin = (uri: string): Login | undefined => {
  const parsed = parseServerUri(uri)
  return parsed && loginOf(parsed)
}

/** A login without TLS as a libpq URI, with its password. */
export const loginUri = ({ at: { host, port }, database, password, user }: Login) => {
  const part = encodeURIComponent
  const place = host.startsWith("/")
    ? `localhost:${port}/${part(database)}?host=${part(host)}`
    : `${host}:${port}/${part(database)}`
  return `postgres://${part(user)}:${part(Redacted.value(password))}@${place}`
}
