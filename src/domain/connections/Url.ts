import { Redacted, Result } from "effect"

/** A parameter of a connection string. */
interface ConnectionParam {
  /** The name as written in the connection string. */
  readonly raw: string
  /** Lower case, without spaces, `_` and `-`. */
  readonly name: string
  /** Percent-decoded; in SQL Server's syntax without the braces. */
  readonly value: string
}

/** Replaces passwords in connection strings that are returned. */
export const mask = "****"

/** Names of parameters whose values are secret. */
const secretName = /pass|pwd|secret|token|credential|apikey|accesskey|privatekey|accountkey|mechanismproperties|^sig$/
/** Values that contain a secret: a URL with a password, further parameters, PEM, or an object such as MySQL's `ssl`. */
const secretValue = /:\/\/[^/]*:[^/]*@|(?:pass|pwd|secret|token|key)\w*["']?\s*[=:]|-----BEGIN|^\s*[{[]/i

/**
 * Harmless parameters, whose values are shown. In `;` syntax the part of an unquoted password after a `;` looks like a
 * parameter, so others are masked.
 */
const harmless = new Set(
  (
    "database databasename initialcatalog user username userid uid encrypt trustservercertificate schema port " +
    "portnumber server servername instance instancename applicationname logintimeout connectiontimeout " +
    "sockettimeout connectionlimit pooltimeout isolationlevel hostnameincertificate integratedsecurity authentication"
  ).split(" ")
)

const nameOf = (text: string) => text.toLowerCase().replaceAll(/[\s_-]/g, "")

/** Undefined when the percent-encoding is invalid. `mark` is the character that introduces the parameters. */
const readParams = (text: string, mark: "" | "?" | ";"): ReadonlyArray<ConnectionParam> | undefined => {
  if (text === "") return []
  const parts = mark === ";" ? (text.match(/(?:\{(?:[^}]|\}\})*\}|[^;])+|;/g) ?? []) : text.split("&")
  try {
    return parts
      .filter((raw) => raw !== ";" && raw !== "")
      .map((raw) => {
        const equals = raw.indexOf("=")
        const [key, given] = equals < 0 ? [raw, ""] : [raw.slice(0, equals), raw.slice(equals + 1)]
        if (mark === ";") {
          const value = /^\{.*\}$/s.test(given) ? given.slice(1, -1).replaceAll("}}", "}") : given
          return { raw, name: nameOf(key), value }
        }
        return { raw, name: nameOf(decodeURIComponent(key)), value: decodeURIComponent(given) }
      })
  } catch {
    return undefined
  }
}

/** Whether the value of an option must be masked. */
export const secretOption = (name: string, value: string) => secretName.test(nameOf(name)) || secretValue.test(value)

const isSecret = ({ name, value }: ConnectionParam, mark: "" | "?" | ";") =>
  secretOption(name, value) || (mark === ";" && !harmless.has(name))

/** The parameters as text, with each secret masked. */
const maskedParams = (params: ReadonlyArray<ConnectionParam>, mark: "" | "?" | ";"): string =>
  params
    .map((param) => {
      const equals = param.raw.indexOf("=")
      if (!isSecret(param, mark)) return param.raw
      // A fragment of a value that was split, or syntax that this parser does not support.
      if (equals < 0) return mask
      return equals === param.raw.length - 1 ? param.raw : `${param.raw.slice(0, equals + 1)}${mask}`
    })
    .join(mark === ";" ? ";" : "&")

/** Whether a value is the mask that `maskedParams` writes. */
const holdsMask = (params: ReadonlyArray<ConnectionParam>): boolean =>
  params.some(({ raw }) => raw.slice(raw.indexOf("=") + 1) === mask)

/** The last non-empty value of one of these names. */
export const paramOf = (params: ReadonlyArray<ConnectionParam>, ...names: ReadonlyArray<string>): string | undefined =>
  params.findLast(({ name, value }) => names.includes(name) && value !== "")?.value

type ConnectionType = "postgres" | "mysql" | "mongodb" | "redis" | "mssql"

interface Scheme {
  readonly type: ConnectionType
  /** The default port. */
  readonly port: number
}

const schemes: Readonly<Record<string, Scheme>> = {
  postgres: { type: "postgres", port: 5432 },
  postgresql: { type: "postgres", port: 5432 },
  mysql: { type: "mysql", port: 3306 },
  mariadb: { type: "mysql", port: 3306 },
  mongodb: { type: "mongodb", port: 27_017 },
  "mongodb+srv": { type: "mongodb", port: 27_017 },
  redis: { type: "redis", port: 6379 },
  rediss: { type: "redis", port: 6379 },
  mssql: { type: "mssql", port: 1433 },
  sqlserver: { type: "mssql", port: 1433 }
}

interface Host {
  /** A name, an address (IPv6 without brackets) or the directory of a Unix socket; "" when absent. */
  readonly name: string
  readonly port: number | undefined
}

/** A parsed connection string, percent-decoded. */
export interface ConnectionUrl {
  readonly scheme: string
  readonly type: ConnectionType
  readonly defaultPort: number
  readonly user: string
  readonly password: Redacted.Redacted
  readonly hosts: ReadonlyArray<Host>
  /** The part after the first `/`, usually the name of a database; "" when absent. */
  readonly path: string
  /** Parameters of the query, or after `;` in SQL Server's syntax. */
  readonly params: ReadonlyArray<ConnectionParam>
  /** The string with `****` in place of each password. */
  readonly masked: string
}

const known = Object.keys(schemes).join(", ")
/** The error names the expected form and never quotes the text, which may be a password. */
const refused = (problem: string) => Result.fail(problem)
const unclear = refused(
  "Expected scheme://user:password@host:port/database, with / ? # @ : and % in user and password percent-encoded"
)

const strange = /[\p{Cc}\s#]/u
/** A value in braces of SQL Server's syntax, which may hold anything: `;name={…}`. */
const braced = /(?<=;[^;={}]*=)\{(?:[^}]|\}\})*\}(?=;|$)/g
const hostForm = /^(?:\[([\w:.%]+)\]|([\p{L}\p{N}._%\\$-]*))(?::(\d{1,5}))?$/u

/**
 * Parses a connection string of a supported scheme. Strict, because a lenient parser could take part of the password for
 * something else and reveal it: only unambiguous strings are accepted. Fails with a message that quotes nothing of them.
 */
export const readConnectionUrl = (text: string): Result.Result<ConnectionUrl, string> => {
  const [, name = "", rest = ""] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text) ?? []
  const scheme = schemes[name.toLowerCase()]
  if (scheme === undefined) return refused(`Expected a URL of one of the schemes ${known}`)
  const semicolons = scheme.type === "mssql"
  const end = rest.search(semicolons ? /[/?;]/ : /[/?]/)
  const authority = end < 0 ? rest : rest.slice(0, end)
  const after = end < 0 ? "" : rest.slice(end)
  const plain = `${authority}${semicolons ? after.replaceAll(braced, "") : after}`
  if (strange.test(plain)) return refused("Expected no white space and no # in the URL; percent-encode them")
  const at = authority.indexOf("@")
  if (plain.split("@").length - 1 !== (at < 0 ? 0 : 1)) return unclear

  const login = at < 0 ? undefined : authority.slice(0, at)
  const { colon, rawPassword, rawUser } = splitLogin(login ?? "", scheme.type)
  const hosts = readHosts(authority.slice(at + 1))
  if (hosts === undefined) return unclear
  if (hosts.length > 1 && (semicolons || name.toLowerCase() === "mongodb+srv")) return refused("Expected one host")

  const [rawPath, rawParams, mark] = splitAfter(after, semicolons)
  const params = readParams(rawParams, mark)
  const [user, password, path] = [decoded(rawUser), decoded(rawPassword), decoded(rawPath.slice(1))]
  if (params === undefined || user === undefined || password === undefined || path === undefined) {
    return refused("Expected valid percent-encoding, without NUL")
  }
  if (rawPassword === mask || holdsMask(params)) return refused("Expected a password, but it is masked (****)")

  const from = login === undefined ? "" : `${rawUser}${colon}${rawPassword === "" ? "" : mask}@`
  return Result.succeed({
    scheme: name.toLowerCase(),
    type: scheme.type,
    defaultPort: scheme.port,
    user,
    password: Redacted.make(password),
    hosts,
    path,
    params,
    masked: `${name}://${from}${authority.slice(at + 1)}${rawPath}${mark}${maskedParams(params, mark)}`
  })
}

/** A login without a colon is a user; in Redis, a password. */
const splitLogin = (login: string, type: ConnectionType) => {
  const at = login.indexOf(":")
  if (at >= 0) return { rawUser: login.slice(0, at), colon: ":", rawPassword: login.slice(at + 1) }
  return type === "redis"
    ? { rawUser: "", colon: "", rawPassword: login }
    : { rawUser: login, colon: "", rawPassword: "" }
}

/** Path, parameters, and the mark that separates them. */
const splitAfter = (after: string, semicolons: boolean): readonly [string, string, "" | "?" | ";"] => {
  const at = after.search(semicolons ? /[?;]/ : /\?/)
  if (at < 0) return [after, "", ""]
  return [after.slice(0, at), after.slice(at + 1), after[at] === ";" ? ";" : "?"]
}

const readHosts = (text: string): ReadonlyArray<Host> | undefined => {
  const hosts: Array<Host> = []
  for (const part of text.split(",")) {
    const match = hostForm.exec(part)
    const name = decoded(match?.[1] ?? match?.[2] ?? "")
    const port = match?.[3] === undefined ? undefined : Number(match[3])
    if (match === null || name === undefined) return undefined
    if (port !== undefined && (port < 1 || port > 65_535)) return undefined
    hosts.push({ name, port })
  }
  return hosts
}

const decoded = (text: string): string | undefined => {
  try {
    const value = decodeURIComponent(text)
    return value.includes("\0") ? undefined : value
  } catch {
    return undefined
  }
}
