import { type ConnectionUrl, paramOf } from "./Url.ts"

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
