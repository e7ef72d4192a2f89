import { Redacted } from "effect"

/** Lines are truncated to this length: a failed statement may have hundreds of megabytes. */
const lineLimit = 2_000
/** Number of messages that are kept; the first ones are the most useful. */
const kept = 5
const reasonLimit = 1_000

/** Splits a stream of text into lines of at most `lineLimit` characters. */
export const lineSplitter = (onLine: (line: string) => void) => {
  let pending = ""
  return {
    push: (text: string) => {
      let from = 0
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
        onLine((pending + text.slice(from, Math.min(end, from + lineLimit))).slice(0, lineLimit))
        pending = ""
        from = end + 1
      }
      if (pending.length < lineLimit) pending += text.slice(from, from + lineLimit)
    },
    end: () => {
      if (pending !== "") onLine(pending.slice(0, lineLimit))
    }
  }
}

/** The topic of a line, by its prefix; undefined for a continuation of the line before. */
const topicOf = (line: string) => {
  const match = /^pg_(?:dump|restore): (error|warning|detail|hint|while|from TOC entry)?/.exec(line)
  return match === null ? undefined : (match[1] ?? "info")
}

/** Lines that quote a statement, a row or a program's state, which may contain secrets and data of users. */
const quoting = /^(pg_\w+: )?(detail: )?(Command was|Query was|LINE \d+|CONTEXT|STATEMENT|QUERY): /

/**
 * Collects the messages of pg_dump or pg_restore.
 *
 * @param onInfo receives the lines of --verbose
 */
export const makeToolMessages = (onInfo: (line: string) => void) => {
  const errors: Array<string> = []
  const warnings: Array<string> = []
  let entry = ""
  // Lines without a prefix at the start are not from the program, but from whatever failed to start it.
  let topic = "error"
  const add = (line: string) => {
    topic = topicOf(line) ?? topic
    if (quoting.test(line)) topic = "quoted"
    if (topic === "info" && topicOf(line) === "info") onInfo(line)
    const text = line.replace(/^pg_\w+: ((error|warning|detail|hint): )?/, "").trim()
    if (topic === "warning" && topicOf(line) === topic && warnings.length < kept) warnings.push(text)
    if (topic === "from TOC entry" && errors.length === 0) entry = text.replace(/^from TOC entry \d+; \d+ \d+ /, "")
    if (/^(error|detail|hint)$/.test(topic) && text !== "" && errors.length < kept) errors.push(text)
  }
  return {
    add,
    warnings: (): ReadonlyArray<string> => warnings,
    /** Why it failed, in one line for users; `how` it ended if it printed no error. */
    reason: (how: string, password: Redacted.Redacted) => {
      const secret = Redacted.value(password)
      const message = errors.length === 0 ? how : `${errors.join("; ")}${entry === "" ? "" : ` (at ${entry})`}`
      const clean = secret === "" ? message : message.replaceAll(secret, "****")
      return clean.replaceAll(/\s+/g, " ").slice(0, reasonLimit)
    }
  }
}
