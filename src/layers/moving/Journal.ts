import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { MovedInstallation, MovingPosition } from "../../domain/moving/Archive.ts"
import { type DataDir } from "../process/DataDir.ts"
import { takeFileLock } from "../process/FileLock.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { readStored, writeStored } from "../process/StoredFile.ts"
import { archivePlace } from "./Place.ts"

const Size = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** What an export needs to continue after it was interrupted. */
export const ExportJournal = Schema.Struct({
  place: Schema.String,
  /** What is exported: server, database and store. */
  source: Schema.String,
  /** The first line of the archive, and a digest that shows whether a passphrase is the same. */
  line: Schema.String,
  key_digest: Schema.String,
  installation: MovedInstallation,
  dump_size: Size,
  upload: Schema.NullOr(Schema.String),
  segments: Schema.Array(Schema.Struct({ size: Size, etag: Schema.NullOr(Schema.String), position: MovingPosition }))
})
export type ExportJournal = typeof ExportJournal.Type

/** A directory next to the data for the dump and the journal of one export, whose process has it locked. */
export interface WorkDirectory {
  readonly path: string
  readonly dump: string
}

const journalOf = (directory: string) => join(directory, "journal.json")

/** The journal of a directory; undefined unless it can be used. */
export const readJournal = (directory: string) =>
  readStored<unknown>(journalOf(directory)).pipe(
    Effect.map((json) => (Schema.is(ExportJournal)(json) ? json : undefined)),
    Effect.orElseSucceed(() => undefined)
  )

export const writeJournal = (dir: DataDir["Service"], { path }: WorkDirectory, journal: ExportJournal) =>
  writeStored(journalOf(path), journal, dir.owner)

const remove = (path: string) => attempt(`Failed to remove ${path}`, () => rm(path, { recursive: true, force: true }))

const locked = (path: string, dir: DataDir["Service"]) =>
  Effect.acquireRelease(takeFileLock(join(path, "lock"), dir.owner), (lock) => Effect.sync(() => lock?.release()))

/** The directory of an export to a place, locked until the scope ends. Without a journal it is removed then. */
export const workDirectory = Effect.fnUntraced(function* (dir: DataDir["Service"], place: string) {
  const id = createHash("sha256").update(place).digest("hex").slice(0, 16)
  const path = join(dir.path, `export-${id}`)
  yield* attempt(`Failed to create ${path}`, () => mkdir(path, { recursive: true, mode: 0o700 }))
  let held = false
  yield* Effect.addFinalizer(() =>
    Effect.ignore(
      Effect.flatMap(readJournal(path), (journal) => (journal === undefined && held ? remove(path) : Effect.void))
    )
  )
  held = (yield* locked(path, dir)) !== undefined
  if (!held) return yield* new StartError({ message: `Another export to ${place} runs` })
  return { path, dump: join(path, "database.sql.zst") } satisfies WorkDirectory
})

/** Removes the files of an export that is complete. */
export const removeWork = Effect.fnUntraced(function* (directory: string) {
  yield* remove(journalOf(directory))
  yield* remove(join(directory, "database.sql.zst"))
})

/** Removes the journal of an export and all that it has written. */
export const abandon = Effect.fnUntraced(function* (directory: string, journal: ExportJournal | undefined) {
  if (journal !== undefined) {
    const problem = `Failed to remove the unfinished archive ${journal.place}`
    yield* attempt(problem, () => archivePlace(journal.place).abandon(journal))
  }
  yield* removeWork(directory)
})

/** Removes what exports to other places have left, unless they run. */
export const abandonOthers = Effect.fnUntraced(function* (
  dir: DataDir["Service"],
  own: WorkDirectory,
  report: (line: string) => Effect.Effect<void>
) {
  const names = yield* attempt(`Failed to read ${dir.path}`, () => readdir(dir.path))
  const others = names.filter((name) => /^export-[0-9a-f]{16}$/.test(name)).map((name) => join(dir.path, name))
  for (const path of others) {
    if (path === own.path) continue
    yield* Effect.gen(function* () {
      if ((yield* locked(path, dir)) === undefined) return
      const journal = yield* readJournal(path)
      if (journal !== undefined) yield* report(`Removing the unfinished export to ${journal.place}`)
      yield* abandon(path, journal)
      yield* remove(path)
    }).pipe(
      Effect.scoped,
      // Its store may need other credentials than this export has: the next export tries again.
      Effect.catchTag("StartError", ({ message }) => report(message))
    )
  }
})
