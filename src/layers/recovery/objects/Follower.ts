import { Clock, Effect } from "effect"
import { changesName } from "../../../domain/recovery/Objects.ts"
import { type StoreJournal } from "../../storage/endpoint/store/Model.ts"
import { type Archive } from "../store/Archive.ts"
import { BlobGone, type makePackWriter } from "./Packs.ts"
import { lineOf } from "./Files.ts"

/** Changes that are read at once: their small blobs have at most 8 MiB. */
export const batch = 500
/** A piece that has grown to so many bytes or flushes is replaced by a joined one, or ended. */
const [pieceBytes, maxFlushes] = [4 * 1024 * 1024, 60]
/** How long nothing may change before the archive says so, in ms. */
const idleMillis = 60_000
/** A change is committed at most this long after its time, in ms. */
const commitMillis = 1000

/** Writes the changes of a store behind a position into the archive, in order. */
export const makeFollower = (
  archive: Archive,
  journal: StoreJournal,
  store: string,
  packs: ReturnType<typeof makePackWriter>,
  begin: number
) => {
  let reached = begin
  /** The piece that grows: the names of what the archive has of it, and its lines. */
  let open = { from: begin, names: [] as Array<string>, lines: [] as Array<string>, bytes: 0 }
  let idle: string | undefined
  let until = 0
  let noted = 0
  /** Packs that are named by the changes since this was emptied. */
  const named = new Set<string>()

  const write = Effect.fnUntraced(function* (lines: ReadonlyArray<string>, to: number) {
    const bytes = lines.reduce((sum, line) => sum + line.length, 0)
    open.lines.push(...lines)
    open.bytes += bytes
    const whole = open.bytes >= pieceBytes || open.names.length >= maxFlushes
    const name = changesName({ store, from: whole ? open.from : reached, to, until })
    yield* archive.put(name, Buffer.from(`${(whole ? open.lines : lines).join("\n")}\n`))
    const replaced = [...(whole ? open.names : []), ...(idle === undefined ? [] : [idle])]
    idle = undefined
    reached = to
    noted = until
    if (!whole) open.names.push(name)
    else if (open.bytes >= pieceBytes) open = { from: to, names: [], lines: [], bytes: 0 }
    else open.names = [name]
    return replaced.filter((other) => other !== name)
  })

  /** Archives up to `batch` changes; whether there may be more. */
  const step = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const { blobs, changes, lost } = yield* journal.changes(reached, batch)
    if (lost) return yield* Effect.fail(new BlobGone("Changes of the store are missing"))
    const last = changes.at(-1)
    const more = changes.length === batch
    until = Math.max(until, more ? (last?.at ?? 0) : now - commitMillis)
    if (last === undefined) {
      if (until - noted < idleMillis) return false
      const name = changesName({ store, from: reached, to: reached, until })
      yield* archive.put(name, Buffer.alloc(0))
      if (idle !== undefined) yield* archive.remove([idle])
      idle = name
      noted = until
      return false
    }
    for (const { change } of changes) {
      if (change.kind === "object" || change.kind === "version") yield* packs.add(change.segments, blobs, reached)
    }
    yield* packs.flush(reached)
    const lines = changes.map((change) => lineOf(change, blobs, packs.placeOf))
    const replaced = yield* write(
      lines.map(({ text }) => text),
      last.sequence
    )
    for (const { packs } of lines) for (const pack of packs) named.add(pack)
    yield* packs.remember
    yield* journal.confirm(last.sequence)
    if (replaced.length > 0) yield* archive.remove(replaced)
    return more
  })

  return {
    step,
    named,
    get reached() {
      return reached
    },
    /** Everything until then is archived, in ms since 1970. */
    get until() {
      return until
    }
  }
}

export type ObjectFollower = ReturnType<typeof makeFollower>
