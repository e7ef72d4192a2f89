import { Redacted } from "effect"

/** Longest line that is looked at; the rest of it is left out. A failed statement may be hundreds of megabytes. */
const lineLimit = 2_000
/** Messages that are kept: those that come first tell most. */
const kept = 5
const reasonLimit = 1_000

/** Cuts a stream of text into lines, holding no more than `lineLimit` of one. */
export const lineCutter = (onLine: (line: string) => void) => {
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

/** What a line is about, by its beginning; undefined where it goes on with what the one before was about. */
const about = (line: string) => {
  const match = /^pg_(?:dump|restore): (error|warning|detail|hint|while|from TOC entry)?/.exec(line)
  return match === null ? undefined : (match[1] ?? "info")
}

/** Where a statement, a row or a program's state is quoted: those may hold secrets, and data of users. */
const quoting = /^(pg_\w+: )?(detail: )?(Command was|Query was|LINE \d+|CONTEXT|STATEMENT|QUERY): /

/**
 * Reads what pg_dump or pg_restore says.
 *
 * @param onInfo gets the lines of --verbose
 */
export const makeMessages = (onInfo: (line: string) => void) => {
  const errors: Array<string> = []
  const warnings: Array<string> = []
  let entry = ""
  // What comes before its first word is not from the program itself, but from what was to start it.
  let topic = "error"
  const add = (line: string) => {
    topic = about(line) ?? topic
    if (quoting.test(line)) topic = "quoted"
    if (topic === "info" && about(line) === "info") onInfo(line)
    const text = line.replace(/^pg_\w+: ((error|warning|detail|hint): )?/, "").trim()
    if (topic === "warning" && about(line) === topic && warnings.length < kept) warnings.push(text)
    if (topic === "from TOC entry" && errors.length === 0) entry = text.replace(/^from TOC entry \d+; \d+ \d+ /, "")
    if (/^(error|detail|hint)$/.test(topic) && text !== "" && errors.length < kept) errors.push(text)
  }
  return {
    add,
    warnings: (): ReadonlyArray<string> => warnings,
    /** Why it failed, for people and in one line; `how` it ended stands for what it did not say. */
    reason: (how: string, password: Redacted.Redacted) => {
      const secret = Redacted.value(password)
      const said = errors.length === 0 ? how : `${errors.join("; ")}${entry === "" ? "" : ` (at ${entry})`}`
      const clean = secret === "" ? said : said.replaceAll(secret, "****")
      return clean.replaceAll(/\s+/g, " ").slice(0, reasonLimit)
    }
  }
}
