import { Effect, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { type Archive } from "./Archive.ts"
import { ArchiveTrouble } from "./Store.ts"

/** How often a writer looks for others, and how long a new one waits for an answer: at least two looks, in ms. */
export const writerTimes = { look: 1000, wait: 3500 }

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
  const read = Effect.gen(function* () {
    if ((yield* archive.list(name)).length === 0) return undefined
    return yield* Effect.mapError(
      decodeMark((yield* archive.get(name)).toString("utf8")),
      () => new ArchiveTrouble({ reason: `${name} in ${archive.place} is damaged` })
    )
  })
  const another = new ArchiveTrouble({
    reason: `Another service writes to the archive in ${archive.place}, such as the one that this data directory or cluster was copied from: set another SVC_PITR_DIR or SVC_PITR_BUCKET here, or stop the other one`
  })

  const found = yield* read
  if (found !== undefined) {
    yield* put(false)
    yield* Effect.sleep(writerTimes.wait)
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
      yield* Effect.sleep(writerTimes.look)
      const mark = yield* read
      if (mark?.writer === writer) continue
      if (mark?.holds === true) return yield* another
      yield* put(true)
    }
  })
  return { lost }
})
