/** A parameter of a connection string. */
export interface ConnectionParam {
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
export const readParams = (text: string, mark: "" | "?" | ";"): ReadonlyArray<ConnectionParam> | undefined => {
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
export const maskedParams = (params: ReadonlyArray<ConnectionParam>, mark: "" | "?" | ";"): string =>
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
export const holdsMask = (params: ReadonlyArray<ConnectionParam>): boolean =>
  params.some(({ raw }) => raw.slice(raw.indexOf("=") + 1) === mask)

/** The last non-empty value of one of these names. */
export const paramOf = (params: ReadonlyArray<ConnectionParam>, ...names: ReadonlyArray<string>): string | undefined =>
  params.findLast(({ name, value }) => names.includes(name) && value !== "")?.value
