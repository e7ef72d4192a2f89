interface Similar {
  readonly name: string
  /** A value from 0 to 1; 1 means equality without case. */
  readonly score: number
}

/** How often each piece occurs in each name, and the lengths of the names as vectors of these counts. */
interface Pieces {
  readonly having: ReadonlyMap<string, ReadonlyArray<readonly [name: number, count: number]>>
  readonly lengths: ReadonlyArray<number>
}

/** PostgreSQL's names are not longer, so longer ones get no suggestions. */
const maxLength = 64
const sizes = [3, 2] as const
/** Indexes of lists of names, kept as long as the lists: a catalogue's list is searched repeatedly. */
const indexes = new WeakMap<ReadonlyArray<string>, ReadonlyMap<number, Pieces>>()

/**
 * The most similar names, best first: compared by the pieces of 3 (then 2) characters that they share, and the best of
 * these by edit distance. The method is that of FuzzySet, which PostgREST uses.
 */
export const similarNames = (names: ReadonlyArray<string>, name: string, least = 0.33): ReadonlyArray<Similar> => {
  if (name.length > maxLength) return []
  const index = indexes.get(names) ?? new Map(sizes.map((size) => [size, piecesOf(names, size)]))
  indexes.set(names, index)
  const wanted = name.toLowerCase()
  for (const size of sizes) {
    const near = sharing(index.get(size), piecesIn(wanted, size))
      .map((at) => names[at] ?? "")
      .map((name) => ({ name, score: likeness(wanted, name.toLowerCase()) }))
      .filter(({ score }) => score >= least)
      .toSorted((a, b) => b.score - a.score)
    if (near.length > 0) return near
  }
  return []
}

const piecesIn = (text: string, size: number): ReadonlyMap<string, number> => {
  const padded = `-${text.replaceAll(/[^\p{L}\p{N},_ ]+/gu, "")}-`.padEnd(size, "-")
  const pieces = new Map<string, number>()
  for (let at = 0; at + size <= padded.length; at++) {
    const piece = padded.slice(at, at + size)
    pieces.set(piece, (pieces.get(piece) ?? 0) + 1)
  }
  return pieces
}

const lengthOf = (pieces: ReadonlyMap<string, number>) => {
  let sum = 0
  for (const count of pieces.values()) sum += count * count
  return Math.sqrt(sum)
}

const piecesOf = (names: ReadonlyArray<string>, size: number): Pieces => {
  const having = new Map<string, Array<readonly [number, number]>>()
  const lengths = names.map((name, at) => {
    const pieces = piecesIn(name.toLowerCase(), size)
    for (const [piece, count] of pieces) {
      const known = having.get(piece)
      if (known === undefined) having.set(piece, [[at, count]])
      else known.push([at, count])
    }
    return lengthOf(pieces)
  })
  return { having, lengths }
}

/** The indexes of the 50 names with the highest cosine similarity. */
const sharing = (pieces: Pieces | undefined, wanted: ReadonlyMap<string, number>): ReadonlyArray<number> => {
  const products = new Map<number, number>()
  for (const [piece, count] of wanted) {
    for (const [at, other] of pieces?.having.get(piece) ?? []) {
      products.set(at, (products.get(at) ?? 0) + count * other)
    }
  }
  return [...products]
    .map(([at, product]) => [at, product / (pieces?.lengths[at] ?? 1)] as const)
    .toSorted((a, b) => b[1] - a[1])
    .slice(0, 50)
    .map(([at]) => at)
}

/** 1 for equal texts, less for each character to insert, delete or change (Levenshtein). */
const likeness = (a: string, b: string) => {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  const longer = Math.max(a.length, b.length)
  return longer === 0 ? 1 : 1 - (row.at(-1) ?? 0) / longer
}
