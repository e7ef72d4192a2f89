export interface DiffLine {
  readonly sign: " " | "+" | "-"
  readonly text: string
}

/** Lines that are compared at most; beyond, all old ones are followed by all new ones. */
const most = 1500

/** The longest common subsequence of two short lists of lines, as a list of changes. */
const changes = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<DiffLine> => {
  const width = after.length + 1
  const lengths = new Uint16Array((before.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Array<DiffLine> = []
  let [i, j] = [0, 0]
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ sign: " ", text: before[i] ?? "" })
      i += 1
      j += 1
    } else if (i < before.length && (j === after.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ sign: "-", text: before[i++] ?? "" })
    } else lines.push({ sign: "+", text: after[j++] ?? "" })
  }
  return lines
}

/** What became of a text, line by line. */
export const diffLines = (before: string, after: string): ReadonlyArray<DiffLine> => {
  const [old, now] = [before.split("\n"), after.split("\n")]
  const same =
    (sign: " ") =>
    (text: string): DiffLine => ({ sign, text })
  let start = 0
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1
  let end = 0
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1
  const [gone, come] = [old.slice(start, old.length - end), now.slice(start, now.length - end)]
  const middle: ReadonlyArray<DiffLine> =
    gone.length > most || come.length > most
      ? [...gone.map((text): DiffLine => ({ sign: "-", text })), ...come.map((text): DiffLine => ({ sign: "+", text }))]
      : changes(gone, come)
  return [...old.slice(0, start).map(same(" ")), ...middle, ...old.slice(old.length - end).map(same(" "))]
}
