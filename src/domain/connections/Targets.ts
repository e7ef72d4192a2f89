import { paramOf } from "./Params.ts"
import { type ConnectionUrl } from "./Url.ts"

/** Where a connection goes. */
export interface ConnectionTarget {
  /** A name or an address; what begins with `/` is a Unix socket. */
  readonly host: string
  readonly port: number
}

/** Whether a connection is encrypted from its first byte. */
export const startsWithTls = ({ params, scheme, type }: ConnectionUrl): boolean => {
  if (scheme === "rediss") return true
  if (type !== "mongodb") return false
  const said = paramOf(params, "tls", "ssl")
  return said === undefined ? scheme === "mongodb+srv" : said === "true"
}

/** Whether the connection string itself says that the certificate is not to be checked. */
export const trustsAnyCertificate = ({ params }: ConnectionUrl): boolean =>
  paramOf(params, "tlsinsecure", "tlsallowinvalidcertificates") === "true" || paramOf(params, "sslcertreqs") === "none"

/**
 * All servers that a connection string names, in its order. As its own clients do, parameters that name a host or a
 * port win over what stands in the authority. For `mongodb+srv` the host is the name of a service, not of a server.
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
    // SQL Server's named instance is not part of the host's name.
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

/** How libpq's `sslmode` is to be taken; `prefer`: encrypted when the server can. */
export type SslMode = "disable" | "prefer" | "require" | "verify-ca" | "verify-full"

/** Of a PostgreSQL URL, with what other clients than libpq write. Undefined when it is none of those known. */
export const sslModeOf = ({ params }: ConnectionUrl): SslMode | undefined => {
  const mode = paramOf(params, "sslmode")
  if (mode === undefined) return paramOf(params, "ssl") === "true" ? "require" : "prefer"
  if (mode === "allow") return "prefer"
  if (mode === "no-verify") return "require"
  return modes.find((one) => one === mode)
}

const modes: ReadonlyArray<SslMode> = ["disable", "prefer", "require", "verify-ca", "verify-full"]
