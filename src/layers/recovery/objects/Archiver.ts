import { Clock, Effect, Schedule } from "effect"
import { randomBytes } from "node:crypto"
import {
  changesFrom,
  dataFolder,
  outdatedObjects,
  packOfPart,
  rowsFile,
  rowsPage,
  type StoredRows
} from "../../../domain/recovery/Objects.ts"
import { type Unavailable } from "../../../domain/errors.ts"
import { sampleOf } from "../../../domain/metrics/Sample.ts"
import { CurrentMeters } from "../../../services/metrics/Meters.ts"
import { type StoreJournal } from "../../storage/endpoint/store/Model.ts"
import { type Archive } from "../store/Archive.ts"
import { type ArchiveTrouble } from "../store/Store.ts"
import { holdWriter } from "../store/Writer.ts"
import { listPieces, listRows } from "./Files.ts"
import { makeFollower } from "./Follower.ts"
import { BlobGone, makePackWriter } from "./Packs.ts"
import { archiveRows } from "./Rows.ts"

const [lookEvery, tryEvery] = ["500 millis", "2 seconds"] as const
const pauseAfterLoss = "10 seconds"
/** Rows are written at most once in this time, in ms. */
const rowsEvery = 86_400_000
const writerFile = "objects/writer"

/** How far the objects of the embedded store are archived. */
export interface ObjectsProgress {
  /** Everything until then, in ms since 1970; undefined: nothing yet. */
  until: number | undefined
  /** Why they are not archived now. */
  problem: string | undefined
}

interface ArchivingObjects {
  readonly archive: Effect.Effect<Archive, ArchiveTrouble | Unavailable>
  readonly journal: StoreJournal
  /** How far back a restore can reach, in ms. */
  readonly keep: number
}

/** Where the store was left: its name in the archive, and the position up to which the archive follows its latest rows. */
const resume = Effect.fnUntraced(function* (archive: Archive, journal: StoreJournal) {
  const [known, position] = [yield* journal.archive, yield* journal.position]
  const { complete } = yield* listRows(archive)
  const rows = complete.filter(({ store }) => store === known?.store).sort((a, b) => a.at - b.at)
  const last = rows.at(-1)
  const pieces = (yield* listPieces(archive)).filter(({ store }) => store === known?.store)
  const reached = last === undefined ? position : (changesFrom(pieces, last.from).at(-1)?.to ?? last.from)
  // An index that was put back to an earlier state is another store.
  if (known?.id === archive.info.id && reached <= position && pieces.every(({ to }) => to <= position)) {
    return { store: known.store, reached, last }
  }
  const store = randomBytes(6).toString("hex")
  yield* journal.begin(archive.info.id, store)
  return { store, reached: position, last: undefined }
})

const removeOutdated = Effect.fnUntraced(function* (archive: Archive, store: string, keep: number) {
  const { complete, incomplete } = yield* listRows(archive)
  const data = yield* archive.list(dataFolder)
  const packs = [...new Set(data.map(packOfPart))]
  const pieces = yield* listPieces(archive)
  const before = (yield* Clock.currentTimeMillis) - keep
  const old = outdatedObjects({ rows: complete, pieces, packs }, store, before)
  const gonePacks = new Set(old.packs)
  // Each before what it needs: what it names is there as long as it is.
  yield* archive.remove(old.rows.map(({ id, store }) => rowsFile(store, id)))
  yield* archive.remove([
    ...incomplete,
    ...old.rows.flatMap(({ id, pages, store }) =>
      Array.from({ length: pages }, (_, page) => rowsPage(store, id, page + 1))
    )
  ])
  yield* archive.remove(old.pieces.map(({ name }) => name))
  yield* archive.remove(data.filter((name) => gonePacks.has(packOfPart(name))))
})

const archiveObjects = Effect.fnUntraced(function* (
  archive: Archive,
  { journal, keep }: ArchivingObjects,
  progress: ObjectsProgress
) {
  const resumed = yield* resume(archive, journal)
  let last: StoredRows | undefined = resumed.last
  const { store } = resumed
  const packs = makePackWriter(archive, journal, store)
  const follow = function* (from: number) {
    const follower = makeFollower(archive, journal, store, packs, from)
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      if (last === undefined || (now - last.at >= rowsEvery && follower.reached > last.to)) {
        last = yield* archiveRows(archive, journal, store, packs, follower)
        yield* removeOutdated(archive, store, keep)
      }
      const more = yield* follower.step
      progress.until = follower.until
      progress.problem = undefined
      if (!more) yield* Effect.sleep(lookEvery)
    }
  }
  let from = resumed.reached
  for (;;) {
    yield* Effect.gen(() => follow(from)).pipe(
      Effect.catchIf(
        (error): error is BlobGone => error instanceof BlobGone,
        (error) =>
          Effect.andThen(
            Effect.logWarning(`The archive of objects begins again with all rows: ${error.message}`),
            Effect.sleep(pauseAfterLoss)
          )
      )
    )
    last = undefined
    from = yield* journal.position
  }
})

/** Archives the objects of the embedded store until the scope closes, with its index as of any time. */
export const runObjectArchiver = Effect.fnUntraced(function* (archiving: ArchivingObjects) {
  const progress: ObjectsProgress = { until: undefined, problem: undefined }
  const began = yield* Clock.currentTimeMillis
  const clock = yield* Clock.Clock
  yield* (yield* CurrentMeters).sample(() => {
    const lag = (clock.currentTimeMillisUnsafe() - (progress.until ?? began)) / 1000
    return [sampleOf("svc_pitr_objects_lag_seconds", {}, Math.max(0, lag))]
  })
  let logged: string | undefined
  const failed = (problem: string, log: Effect.Effect<void>) => {
    progress.problem = problem
    if (logged === problem) return Effect.void
    logged = problem
    return log
  }
  const what = "Objects are not archived"
  yield* Effect.gen(function* () {
    const archive = yield* archiving.archive
    const { lost } = yield* holdWriter(archive, writerFile)
    logged = undefined
    return yield* Effect.raceFirst(archiveObjects(archive, archiving, progress), lost)
  }).pipe(
    Effect.scoped,
    Effect.catch((error) => {
      const problem = "reason" in error ? error.reason : "error" in error ? error.error : String(error)
      return failed(problem, Effect.logWarning(`${what}: ${problem}`))
    }),
    Effect.catchDefect((defect) => failed(String(defect), Effect.logError(what, defect))),
    Effect.repeat(Schedule.spaced(tryEvery)),
    Effect.forkScoped
  )
  return progress
})
