import { type Readable } from "node:stream"
import { type PrintedLine } from "../../services/ports/functions/FunctionEngine.ts"

/** Bytes that a process may print at once, and in a second from then on. It waits when it prints more. */
const [burst, perSecond] = [256 * 1024, 64 * 1024]
const maxLine = 10 * 1024

const levels: ReadonlySet<string> = new Set(["debug", "info", "warn", "error"])

const lineOf = (text: string, level: PrintedLine["level"]): PrintedLine => {
  if (text.startsWith("\u0001")) {
    try {
      const [given, requestId, content] = JSON.parse(text.slice(1)) as ReadonlyArray<unknown>
      if (
        typeof given === "string" &&
        levels.has(given) &&
        typeof requestId === "string" &&
        typeof content === "string"
      )
        return {
          level: given as PrintedLine["level"],
          requestId: requestId.slice(0, 64),
          text: content.slice(0, maxLine)
        }
    } catch {
      // A line of the function's own, which begins like one of Boot.ts.
    }
  }
  return { level, requestId: "", text: text.slice(0, maxLine) }
}

/** Reads what a process prints, as fast as it may print. `first`: takes the first line. */
export const readPrinted = (
  from: Readable,
  level: PrintedLine["level"],
  printed: (line: PrintedLine) => void,
  first: (line: string) => void = () => undefined
) => {
  let rest = ""
  let isFirst = true
  let allowance = burst
  let at = performance.now()
  const take = (text: string) => {
    if (isFirst) first(text)
    if (!(isFirst && text === "\u0001ready") && text !== "") printed(lineOf(text, level))
    isFirst = false
  }
  from.setEncoding("utf8")
  from.on("error", () => undefined)
  from.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) take(line)
    if (rest.length > maxLine * 2) {
      take(rest)
      rest = ""
    }
    const now = performance.now()
    allowance = Math.min(burst, allowance + ((now - at) / 1000) * perSecond) - chunk.length
    at = now
    if (allowance >= 0) return
    from.pause()
    setTimeout(() => from.resume(), (-allowance / perSecond) * 1000).unref()
  })
  from.on("end", () => {
    if (rest !== "") take(rest)
  })
}
