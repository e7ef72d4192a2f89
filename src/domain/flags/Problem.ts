import { shorten } from "../text/Shorten.ts"
import { NotFound } from "../errors.ts"

/** Something invalid in a flag, a segment or a context, and its place. */
export interface FlagProblem {
  readonly path: ReadonlyArray<string | number>
  readonly problem: string
}

const maxLines = 50

/** A text of the client, cut to a length that fits into a message. */
export const shortened = (text: string) => shorten(text, 60)

/** A line for each problem, such as `targeting.if.0.starts_with.1: Expected …`; at most 50. */
export const problemLines = (problems: ReadonlyArray<FlagProblem>): ReadonlyArray<string> => {
  const lines = problems.slice(0, maxLines).map(({ path, problem }) => {
    const place = path.map((part) => shortened(String(part))).join(".")
    return place === "" ? problem : `${place}: ${problem}`
  })
  return problems.length > maxLines ? [...lines, `and ${problems.length - maxLines} more`] : lines
}

export const flagNotFound = (key: string) =>
  new NotFound({ error: `There is no flag ${key.slice(0, 200)}`, code: "FLAG_NOT_FOUND" })

export const segmentNotFound = (key: string) =>
  new NotFound({ error: `There is no segment ${key.slice(0, 200)}`, code: "SEGMENT_NOT_FOUND" })
