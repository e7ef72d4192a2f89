import { Effect } from "effect"
import { chmod, chown, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type FileOwner } from "../../process/FileLock.ts"
import {
  coverage,
  historyName,
  logFolder,
  type LogPiece,
  parsePiece,
  parseSegmentFile,
  segmentFile
} from "../../../domain/recovery/Log.ts"
import { type RecoveryWindow } from "../../../domain/recovery/Windows.ts"
import { type Archive } from "../store/Archive.ts"
import { type ArchiveTrouble } from "../store/Store.ts"

/** Segments that are ready before PostgreSQL asks for them, and those that stay because it may ask again. */
const [ahead, kept] = [4, 12]
const pollMillis = 20

/**
 * The restore_command: it asks for a file by creating one of its name, and waits until that is there, or refused. It has no
 * access to the archive, whose key only this process has.
 */
const script = (directory: string) => `#!/bin/sh
# The second argument is relative to PostgreSQL's directory.
at='${directory}'
: > "$at/want/$1"
# The directory is removed with the server, and a status above 125 ends its recovery.
while [ -d "$at/want" ]; do
  if [ -f "$at/log/$1" ]; then cp "$at/log/$1" "$2"; status=$?; rm -f "$at/want/$1"; exit $status; fi
  if [ -f "$at/none/$1" ]; then rm -f "$at/want/$1"; exit 1; fi
  sleep 0.05
done
exit 255
`

/** Reads pieces into the segment that begins at `start`, each up to its end. */
const copyPieces = Effect.fnUntraced(function* (
  archive: Archive,
  pieces: ReadonlyArray<LogPiece>,
  start: bigint,
  segment: Buffer
) {
  for (const { end, name, start: from } of pieces) {
    const content = yield* archive.get(name)
    content.copy(segment, Number(from - start), 0, Math.max(0, Number(end - from)))
  }
})

/** Serves the log of a window to a server that recovers, from a directory that both can enter, until the scope closes. */
export const feedLog = Effect.fnUntraced(function* (
  archive: Archive,
  window: RecoveryWindow,
  directory: string,
  owner: FileOwner | undefined,
  report: (position: bigint) => void
) {
  const segmentSize = BigInt(archive.info.segment_size)
  const command = join(directory, "get.sh")
  yield* Effect.promise(async () => {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    for (const name of ["want", "log", "none"]) await mkdir(join(directory, name), { mode: 0o700 })
    await writeFile(command, script(directory))
    await chmod(command, 0o500)
    if (owner !== undefined) {
      for (const path of [command, directory, ...["want", "log", "none"].map((name) => join(directory, name))]) {
        await chown(path, owner.uid, owner.gid)
      }
    }
  })

  const give = (folder: "log" | "none", name: string, content: Uint8Array) =>
    Effect.promise(async () => {
      const temporary = join(directory, `${name}.partial`)
      await writeFile(temporary, content, { mode: 0o600 })
      if (owner !== undefined) await chown(temporary, owner.uid, owner.gid)
      await rename(temporary, join(directory, folder, name))
    })

  const ready: Array<string> = []
  const make = Effect.fnUntraced(function* (name: string) {
    if (ready.includes(name)) return true
    const wanted = parseSegmentFile(name, segmentSize)
    if (wanted === undefined) {
      const timeline = Number.parseInt(name.slice(0, 8), 16)
      const file = historyName(timeline)
      if (!name.endsWith(".history") || timeline > window.timeline || (yield* archive.list(file)).length === 0)
        return false
      yield* give("log", name, yield* archive.get(file))
      return true
    }
    const { start, timeline } = wanted
    const pieces = window.log.filter(
      (piece) => piece.timeline === timeline && piece.start >= start && piece.start < start + segmentSize
    )
    if (pieces.length === 0) return false
    // PostgreSQL stops at the zeros behind the last record.
    const content = Buffer.alloc(Number(segmentSize))
    yield* copyPieces(archive, pieces, start, content).pipe(
      // Pieces of a segment are joined while it is written.
      Effect.catch(() => Effect.flatMap(joined(start, timeline), (now) => copyPieces(archive, now, start, content)))
    )
    yield* give("log", name, content)
    report(start)
    ready.push(name)
    for (const old of ready.splice(0, Math.max(0, ready.length - kept))) {
      yield* Effect.promise(() => rm(join(directory, "log", old), { force: true }))
    }
    return true
  })

  /** The pieces of a segment in the archive now, up to the end of the window: what follows may be after the target. */
  const joined = Effect.fnUntraced(function* (start: bigint, timeline: number) {
    const names = yield* archive.list(logFolder(timeline))
    const pieces = names.flatMap((name) => parsePiece(name) ?? []).filter((piece) => piece.start < start + segmentSize)
    const last = timeline === window.timeline ? (window.log.at(-1)?.end ?? 0n) : start + segmentSize
    return coverage(pieces, start).map(({ end, name, start, timeline, until }): LogPiece => ({
      name,
      timeline,
      start,
      end: end > last ? last : end,
      until
    }))
  })

  const round = Effect.gen(function* () {
    const wanted = yield* Effect.promise(() => readdir(join(directory, "want")))
    for (const name of wanted) {
      if (!(yield* make(name))) {
        yield* give("none", name, Buffer.alloc(0))
        continue
      }
      const at = parseSegmentFile(name, segmentSize)
      if (at === undefined) continue
      for (let next = 1; next <= ahead; next++) {
        yield* make(segmentFile(at.timeline, at.start + BigInt(next) * segmentSize, segmentSize))
      }
    }
  })
  const serve = Effect.forever(Effect.andThen(round, Effect.sleep(pollMillis))) as Effect.Effect<never, ArchiveTrouble>
  return { command, serve }
})
