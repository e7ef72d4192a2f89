import { type LogLevel, type LogLine, longestDetails, shownText } from "./Line.ts"

const levels: Readonly<Record<string, LogLevel>> = {
  LOG: "INFO",
  INFO: "INFO",
  NOTICE: "INFO",
  WARNING: "WARN",
  ERROR: "ERROR",
  FATAL: "FATAL",
  PANIC: "FATAL"
}

/** `2026-01-31 12:00:00.000 UTC [42] LOG:  message`. */
const start = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) (\S+) \[\d+\] ([A-Z]+\d?):\s+(.*)$/

/** What is shown of what belongs to a line: statements and their contexts have values of callers. */
const shownKinds: ReadonlySet<string> = new Set(["DETAIL", "HINT"])

/** The lines of PostgreSQL's log, the oldest first; what belongs to a line is its details. */
export const postgresLines = (log: string, host: string): ReadonlyArray<LogLine> => {
  const found: Array<{ at: string; level: LogLevel; text: string; details: Array<string> }> = []
  /** Whether what follows belongs to something that is shown. */
  let shown = false
  for (const line of log.split("\n")) {
    const [, day = "", time = "", zone = "", kind = "", text = ""] = start.exec(line) ?? []
    const level = levels[kind] ?? (kind.startsWith("DEBUG") ? "DEBUG" : undefined)
    if (level !== undefined) {
      const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : "Z"
      const at = Date.parse(`${day}T${time}${offset}`)
      shown = !Number.isNaN(at)
      if (shown) found.push({ at: new Date(at).toISOString(), level, text, details: [] })
    } else {
      if (kind !== "") shown = shownKinds.has(kind)
      if (shown && line.trim() !== "") found.at(-1)?.details.push(kind === "" ? line.trim() : `${kind}: ${text}`)
    }
  }
  return found.map(({ at, details, level, text }) => ({
    at,
    level,
    text: shownText(text),
    details: details.length === 0 ? null : shownText(details.join("\n"), longestDetails),
    request_id: null,
    host,
    worker: 0
  }))
}
