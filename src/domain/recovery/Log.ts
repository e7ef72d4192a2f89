import { parseLsn } from "../sql/Lsn.ts"

/**
 * The write-ahead log in an archive: pieces of at most a segment, each a byte range of the log of one timeline. A complete
 * segment is a piece as well; those of the segment that is still being written grow with every flush. A piece without
 * content only records a later time.
 */
export interface LogPiece {
  readonly name: string
  readonly timeline: number
  /** Positions in the log, the end exclusive. A piece never crosses the end of a segment. */
  readonly start: bigint
  readonly end: bigint
  /** The server's clock in ms since 1970: all that was committed until then is in this piece or before it. */
  readonly until: number
}

const hex = (value: number | bigint, digits: number) => value.toString(16).toUpperCase().padStart(digits, "0")

/** The folder of a timeline's pieces, in an order that is also that of their positions. */
export const logFolder = (timeline: number) => `log/${hex(timeline, 8)}/`

export const pieceName = ({ end, start, timeline, until }: Omit<LogPiece, "name">) =>
  `${logFolder(timeline)}${hex(start, 16)}-${hex(end, 16)}.${String(until).padStart(13, "0")}`

/** Undefined for other files of the archive. */
export const parsePiece = (name: string): LogPiece | undefined => {
  const found = /^log\/([0-9A-F]{8})\/([0-9A-F]{16})-([0-9A-F]{16})\.(\d{13})$/.exec(name)
  if (found === null) return undefined
  const [, timeline = "", start = "", end = "", until = ""] = found
  return {
    name,
    timeline: Number.parseInt(timeline, 16),
    start: BigInt(`0x${start}`),
    end: BigInt(`0x${end}`),
    until: Number(until)
  }
}

/** The history file of a timeline: its ancestors, and where each of them was left (PostgreSQL documentation, 25.3.6). */
export const historyName = (timeline: number) => `log/${hex(timeline, 8)}.history`

export const parseHistoryName = (name: string): number | undefined => {
  const found = /^log\/([0-9A-F]{8})\.history$/.exec(name)
  return found === null ? undefined : Number.parseInt(found[1] ?? "", 16)
}

/** An ancestor of a timeline, and the position at which the next one begins. */
export interface Switch {
  readonly timeline: number
  readonly at: bigint
}

/** `0/3000060` as a position; undefined for anything else. */
export const logPosition = (text: string): bigint | undefined => {
  const position = parseLsn(text)
  return position === undefined ? undefined : BigInt(position)
}

/** The ancestors in a history file, the oldest first. */
export const parseHistory = (text: string): ReadonlyArray<Switch> =>
  text.split("\n").flatMap((line) => {
    const [timeline = "", at = ""] = line.trim().split(/\s+/)
    const position = logPosition(at)
    return /^\d+$/.test(timeline) && position !== undefined ? [{ timeline: Number(timeline), at: position }] : []
  })

/** The name by which PostgreSQL asks for the segment that begins at a position. */
export const segmentFile = (timeline: number, start: bigint, segmentSize: bigint) => {
  const perGroup = 0x1_0000_0000n / segmentSize
  const number = start / segmentSize
  return `${hex(timeline, 8)}${hex(number / perGroup, 8)}${hex(number % perGroup, 8)}`
}

/** The timeline and the position of a segment of this name; undefined for other names. */
export const parseSegmentFile = (name: string, segmentSize: bigint) => {
  const found = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})$/.exec(name)
  if (found === null) return undefined
  const perGroup = 0x1_0000_0000n / segmentSize
  const [, timeline = "", group = "", rest = ""] = found
  const number = BigInt(`0x${group}`) * perGroup + BigInt(`0x${rest}`)
  return { timeline: Number.parseInt(timeline, 16), start: number * segmentSize }
}

/** Where a segment begins that contains the position. */
export const segmentStart = (position: bigint, segmentSize: bigint) => position - (position % segmentSize)

/** The pieces of one timeline from a position on, without a gap and without those that longer ones replace. */
export const coverage = (pieces: ReadonlyArray<LogPiece>, from: bigint): ReadonlyArray<LogPiece> => {
  const sorted = pieces
    .filter(({ end }) => end > from)
    .sort((a, b) => (a.start === b.start ? Number(b.end - a.end) : Number(a.start - b.start)))
  const chosen: Array<LogPiece> = []
  let reached = from
  for (const piece of sorted) {
    if (piece.start > reached) break
    if (piece.end <= reached) continue
    chosen.push(piece)
    reached = piece.end
  }
  return chosen
}
