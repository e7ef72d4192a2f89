/** Something that is wrong in a flag, a segment or a context, and where. */
export interface FlagProblem {
  readonly path: ReadonlyArray<string | number>
  readonly problem: string
}

const most = 50

/** What the caller wrote, short enough to stand in a line of ours. */
export const shortened = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** A line for each problem, as those of other fields: `targeting.if.0.starts_with.1: Expected …`; at most 50. */
export const problemLines = (problems: ReadonlyArray<FlagProblem>): ReadonlyArray<string> => {
  const lines = problems.slice(0, most).map(({ path, problem }) => {
    const place = path.map((part) => shortened(String(part))).join(".")
    return place === "" ? problem : `${place}: ${problem}`
  })
  return problems.length > most ? [...lines, `and ${problems.length - most} more`] : lines
}
