/** A parameter of a connection string. */
export interface ConnectionParam {
  /** As it is written. */
  readonly raw: string
  /** Lower case, without spaces, `_` and `-`. */
  readonly name: string
  /** Without percent-encoding, in SQL Server's way of writing them without braces. */
  readonly value: string
}

/** What stands for a password when a connection string is shown. */
export const mask = "****"

/** Names whose values are nobody's business. */
const secretName = /pass|pwd|secret|token|credential|apikey|accesskey|privatekey|accountkey|mechanismproperties|^sig$/
/** A value that itself holds a secret: another URL with a password, or further parameters. */
const secretValue = /:\/\/[^/]*:[^/]*@|(?:pass|pwd|secret|token)\w*\s*[=:]/i

/**
 * Behind `;` a value ends where the next one begins, so a part of an unquoted password may look like a parameter: only
 * what is known to be harmless is shown.
 */
const harmless = new Set(
  (
    "database databasename initialcatalog user username userid uid encrypt trustservercertificate schema port " +
    "portnumber server servername instance instancename applicationname logintimeout connectiontimeout " +
    "sockettimeout connectionlimit pooltimeout isolationlevel hostnameincertificate integratedsecurity authentication"
  ).split(" ")
)

const nameOf = (text: string) => text.toLowerCase().replaceAll(/[\s_-]/g, "")

/** Undefined when the percent-encoding is broken. `mark` is what they stand behind. */
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

/** Whether the value of an option of this name is to be masked. */
export const secretOption = (name: string, value: string) => secretName.test(nameOf(name)) || secretValue.test(value)

const isSecret = ({ name, value }: ConnectionParam, mark: "" | "?" | ";") =>
  secretOption(name, value) || (mark === ";" && !harmless.has(name))

/** Written again, with the mask for each secret. */
export const maskedParams = (params: ReadonlyArray<ConnectionParam>, mark: "" | "?" | ";"): string =>
  params
    .map((param) => {
      const equals = param.raw.indexOf("=")
      if (!isSecret(param, mark)) return param.raw
      // A piece of something that was cut apart, or written in another way than we read it.
      if (equals < 0) return mask
      return equals === param.raw.length - 1 ? param.raw : `${param.raw.slice(0, equals + 1)}${mask}`
    })
    .join(mark === ";" ? ";" : "&")

/** Whether it is what `maskedParams` wrote. */
export const holdsMask = (params: ReadonlyArray<ConnectionParam>): boolean =>
  params.some(({ raw }) => raw.slice(raw.indexOf("=") + 1) === mask)

/** The last value of one of these names; undefined when there is none, or nothing in it. */
export const paramOf = (params: ReadonlyArray<ConnectionParam>, ...names: ReadonlyArray<string>): string | undefined =>
  params.findLast(({ name, value }) => names.includes(name) && value !== "")?.value
