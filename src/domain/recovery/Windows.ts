import { type BaseBackup } from "./Archive.ts"
import { coverage, type LogPiece, logPosition, segmentStart, type Switch } from "./Log.ts"

/** The log of an archive, and the ancestors of each timeline that has a history. */
export interface ArchivedLog {
  readonly pieces: ReadonlyArray<LogPiece>
  readonly histories: ReadonlyMap<number, ReadonlyArray<Switch>>
  readonly segmentSize: bigint
}

/** The times that a base backup can be restored to, in ms since 1970. */
export interface RecoveryWindow {
  readonly base: BaseBackup
  readonly from: number
  readonly to: number
  /** The pieces that a recovery reads, in order. */
  readonly log: ReadonlyArray<LogPiece>
  /** The timeline that it ends on. */
  readonly timeline: number
}

const start = (base: BaseBackup) => logPosition(base.start) ?? 0n
const end = (base: BaseBackup) => logPosition(base.end) ?? 0n

/** The log of a base backup up to the first gap, on the newest timeline that descends from its own. */
const logOf = (base: BaseBackup, { histories, pieces, segmentSize }: ArchivedLog) => {
  const on = (timeline: number) => pieces.filter((piece) => piece.timeline === timeline)
  const descendants = [...histories]
    .filter(([, ancestors]) => ancestors.some(({ timeline }) => timeline === base.timeline))
    .sort(([a], [b]) => b - a)
  for (const [timeline, ancestors] of descendants) {
    const left = ancestors.find((one) => one.timeline === base.timeline)
    // The base was made on the part of its timeline that the other one has left behind.
    if (left === undefined || end(base) > left.at) continue
    const log: Array<LogPiece> = []
    let [from, whole] = [segmentStart(start(base), segmentSize), true]
    for (const { at, timeline: ancestor } of ancestors.slice(ancestors.indexOf(left))) {
      const part = coverage(on(ancestor), from).filter((piece) => piece.start < at)
      log.push(...part)
      whole &&= (part.at(-1)?.end ?? from) >= at
      // The first segment of a timeline begins with a copy of its ancestor's log.
      from = segmentStart(at, segmentSize)
    }
    const last = coverage(on(timeline), from)
    if (whole && last.length > 0) return { timeline, log: [...log, ...last] }
  }
  return { timeline: base.timeline, log: coverage(on(base.timeline), segmentStart(start(base), segmentSize)) }
}

/** Whether no log is missing between a base backup and a position after it. */
export const reaches = (base: BaseBackup, log: ArchivedLog, position: bigint): boolean => {
  const archived = logOf(base, log).log.at(-1)?.end ?? 0n
  return archived >= end(base) && archived >= position
}

/** The window of each base backup that can be used, by its beginning. */
export const recoveryWindows = (bases: ReadonlyArray<BaseBackup>, log: ArchivedLog): ReadonlyArray<RecoveryWindow> =>
  bases
    .flatMap((base) => {
      const found = logOf(base, log)
      const last = found.log.at(-1)
      const reached = log.pieces.filter(({ end, timeline }) => timeline === found.timeline && end <= (last?.end ?? 0n))
      const [from, to] = [Date.parse(base.ended_at), reached.reduce((latest, { until }) => Math.max(latest, until), 0)]
      return last !== undefined && last.end >= end(base) && to >= from ? [{ base, from, to, ...found }] : []
    })
    .sort((a, b) => a.from - b.from)

/** The windows when all that was committed until a time is before a position: those with log up to it last until then. */
export const extended = (
  windows: ReadonlyArray<RecoveryWindow>,
  position: bigint,
  until: number
): ReadonlyArray<RecoveryWindow> =>
  windows.map((window) =>
    (window.log.at(-1)?.end ?? 0n) >= position ? { ...window, to: Math.max(window.to, until) } : window
  )

/** The window to restore a time from: that of the newest base backup before it, which has the least log to read. */
export const windowFor = (windows: ReadonlyArray<RecoveryWindow>, time: number): RecoveryWindow | undefined =>
  windows.findLast(({ from, to }) => from <= time && time <= to)

/** Windows that overlap or touch as one, the earliest first. */
export const spans = (windows: ReadonlyArray<RecoveryWindow>): ReadonlyArray<{ from: number; to: number }> => {
  const merged: Array<{ from: number; to: number }> = []
  for (const { from, to } of windows) {
    const last = merged.at(-1)
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to)
    else merged.push({ from, to })
  }
  return merged
}

/**
 * What no restore to the last `keep` ms needs: base backups that a newer one replaces, and the log before the oldest one
 * that stays.
 */
export const outdated = (
  windows: ReadonlyArray<RecoveryWindow>,
  bases: ReadonlyArray<BaseBackup>,
  pieces: ReadonlyArray<LogPiece>,
  { keep, now, segmentSize }: { readonly keep: number; readonly now: number; readonly segmentSize: bigint }
) => {
  const oldest = windows.findLast(({ from }) => from <= now - keep) ?? windows[0]
  if (oldest === undefined) return { bases: [], pieces: [] }
  const before = segmentStart(start(oldest.base), segmentSize)
  return {
    bases: bases.filter((base) => start(base) < start(oldest.base)),
    pieces: pieces.filter((piece) => piece.end <= before)
  }
}
