import { Effect, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { type Archive } from "./Archive.ts"
import { ArchiveTrouble } from "./Store.ts"

/** How long a new writer waits for the answer of another one, in ms: two looks, and what they take. */
const patience = ({ lookEvery }: Archive) => 2 * lookEvery + 1500

/** How long the end of a service waits for an archive that does not answer. */
const endMillis = 3000

const Mark = Schema.Struct({ writer: Schema.String, holds: Schema.Boolean })
const decodeMark = Schema.decodeUnknownEffect(Schema.fromJsonString(Mark))

/**
 * Makes sure that one service writes a part of an archive, until the scope closes: a copy of a data directory has the same keys and
 * the same cluster as its original. Each writer puts a mark of its own; one that finds another's asks by a mark without
 * `holds`, which a living writer replaces by its own. Fails if one does; `lost` fails when another has taken over, such as
 * after a pause of this process.
 */
export const holdWriter = Effect.fnUntraced(function* (archive: Archive, name: string) {
  const writer = randomUUID()
  const put = (holds: boolean) => archive.put(name, Buffer.from(JSON.stringify({ writer, holds })))
  const current = Effect.flatMap(archive.get(name), (text) =>
    Effect.mapError(
      decodeMark(text.toString("utf8")),
      () => new ArchiveTrouble({ reason: `${name} in ${archive.place} is damaged` })
    )
  )
  const read = Effect.flatMap(archive.list(name), (names) => (names.length === 0 ? Effect.undefined : current))
  const another = new ArchiveTrouble({
    reason: `Another service writes to the archive in ${archive.place}, such as the one that this data directory or cluster was copied from: set another SVC_PITR_DIR or SVC_PITR_BUCKET here, or stop the other one`
  })

  const found = yield* read
  if (found !== undefined) {
    yield* put(false)
    yield* Effect.sleep(patience(archive))
    if ((yield* read)?.writer !== writer) return yield* another
  }
  yield* put(true)
  // In good order, the next writer need not wait.
  yield* Effect.addFinalizer(() =>
    Effect.flatMap(read, (mark) => (mark?.writer === writer ? archive.remove([name]) : Effect.void)).pipe(
      Effect.interruptible,
      Effect.timeoutOption(endMillis),
      Effect.ignoreCause
    )
  )
  const lost: Effect.Effect<never, ArchiveTrouble> = Effect.gen(function* () {
    for (;;) {
      yield* Effect.sleep(archive.lookEvery)
      const mark = yield* current
      if (mark.writer === writer) continue
      if (mark.holds) return yield* another
      yield* put(true)
    }
  })
  return { lost }
})
