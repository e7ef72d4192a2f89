import { Schema } from "effect"
import { Time } from "../audit/Entry.ts"
import { isStorable } from "../text/StorableText.ts"

/** From the least to the most severe. */
export const logLevels = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"] as const
export type LogLevel = (typeof logLevels)[number]

const LogSource = Schema.Literals(["service", "database"])

export const LogLine = Schema.Struct({
  at: Schema.String,
  level: Schema.Literals(logLevels),
  text: Schema.String,
  /** The cause of an error with its stack, or further fields; null without. */
  details: Schema.NullOr(Schema.String),
  request_id: Schema.NullOr(Schema.String),
  /** The host that wrote it, and the number of its process; 0 without workers. */
  host: Schema.String,
  worker: Schema.Int
})
export type LogLine = typeof LogLine.Type

const Text = Schema.NonEmptyString.check(Schema.isMaxCodePoints(200), isStorable)

export const LogSearch = Schema.Struct({
  /** The service's own lines, or those of the embedded PostgreSQL; default `service`. */
  source: Schema.optionalKey(LogSource),
  /** This level and those above it. */
  level: Schema.optionalKey(Schema.Literals(logLevels)),
  /** Part of the text or the details, in any case. */
  text: Schema.optionalKey(Text),
  request_id: Schema.optionalKey(Text),
  /** The time from which on, and the one before which. */
  from: Schema.optionalKey(Time),
  to: Schema.optionalKey(Time),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1000 })))
})
export type LogSearch = typeof LogSearch.Type

export const LogPage = Schema.Struct({
  /** The host that answered. */
  host: Schema.String,
  /** `external`: PostgreSQL is a server of yours, whose log can't be read here. */
  database: Schema.Literals(["embedded", "external"]),
  /** The newest first. */
  lines: Schema.Array(LogLine),
  /** Whether there are older ones. */
  more: Schema.Boolean
})
export type LogPage = typeof LogPage.Type

/** Characters of a text, and of details. */
export const [longestText, longestDetails] = [4_000, 16_000]

const cut = (text: string, longest: number) =>
  text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`

/**
 * Texts that are credentials by their form. No line of the service has one on purpose; a message of another program, such
 * as a driver's or PostgreSQL's, may repeat what it was given.
 */
const credentials: ReadonlyArray<readonly [RegExp, string]> = [
  [/\b(svc_[ps]k_)[\w-]+/g, "$1…"],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, "eyJ…"],
  [/\b([a-z][\w+.-]*:\/\/[^\s:/@"']*:)[^\s/"']*@/gi, "$1…@"],
  [/\b((?:bearer|basic)\s+)[\w.~+/=-]{8,}/gi, "$1…"],
  [/\b(password["']?\s*[:=]?\s*)(?:"[^"]*"|'(?:[^']|'')*')/gi, "$1'…'"],
  [/([?&;\s](?:password|passfile|secret|token|apikey|jwt)=)[^\s&;"']+/gi, "$1…"],
  [/\b(x-amz-(?:signature|credential|security-token)=)[^&\s"']+/gi, "$1…"]
]

export const withoutCredentials = (text: string): string =>
  credentials.reduce((shown, [form, replacement]) => shown.replaceAll(form, replacement), text)

/** Shows a text of a line: bounded, and without credentials. */
export const shownText = (text: string, longest = longestText): string => withoutCredentials(cut(text, longest))

/** Whether a line is one that a query asks for. `text` of the query must be in lower case. */
export const selectsLine = ({ level, request_id, text }: LogSearch, from: number, to: number) => {
  const least = level === undefined ? 0 : logLevels.indexOf(level)
  return (line: LogLine): boolean => {
    const at = Date.parse(line.at)
    return (
      at >= from &&
      at < to &&
      logLevels.indexOf(line.level) >= least &&
      (request_id === undefined || line.request_id === request_id) &&
      (text === undefined || `${line.text}\n${line.details ?? ""}`.toLowerCase().includes(text))
    )
  }
}
