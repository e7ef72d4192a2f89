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

/** The lines of PostgreSQL's log, the oldest first; what belongs to a line is its details. Before the first, `[]`. */
export const postgresLines = (log: string, host: string): ReadonlyArray<LogLine> => {
  const found: Array<{ at: string; level: LogLevel; text: string; details: Array<string> }> = []
  for (const line of log.split("\n")) {
    const [, day = "", time = "", zone = "", kind = "", text = ""] = start.exec(line) ?? []
    const level = levels[kind] ?? (kind.startsWith("DEBUG") ? "DEBUG" : undefined)
    const last = found.at(-1)
    if (level !== undefined) {
      const given = Date.parse(
        `${day}T${time}${zone === "UTC" || zone === "GMT" || !/^[+-]\d\d$/.test(zone) ? "Z" : `${zone}:00`}`
      )
      if (!Number.isNaN(given)) found.push({ at: new Date(given).toISOString(), level, text, details: [] })
    } else if (last !== undefined && line.trim() !== "")
      last.details.push(kind === "" ? line.trim() : `${kind}: ${text}`)
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
