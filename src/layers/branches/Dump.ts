import { Clock, Effect } from "effect"
import { stat } from "node:fs/promises"
import { type Unavailable } from "../../domain/errors.ts"
import { type BackupFiles } from "../../services/ports/BackupFiles.ts"
import { type DumpTools } from "../../services/ports/DumpTools.ts"

/** Where the dump of a branch is kept while the branch is filled from it. */
const dumpFile = (database: string) => `${database}.dump`

/** Such a file, and what a tool has of it until it is complete. */
const dumpPattern = /^(svc_branch_[0-9a-f]{12})\.dump(\..+)?$/

interface Dumping {
  readonly tools: DumpTools["Service"]
  readonly files: BackupFiles["Service"]
  /** Name of the main database. */
  readonly main: string
  /** Runs what must not meet a copy of the main database. */
  readonly undisturbed: <A, E>(dump: Effect.Effect<A, E>) => Effect.Effect<A, E | Unavailable>
}

/** Dumps the main database into a file beside the backups, fills the branch from it, and removes it. */
export const fillByDump = Effect.fnUntraced(function* ({ files, main, tools, undisturbed }: Dumping, database: string) {
  const tool = yield* tools.current
  yield* files.ready
  const file = files.path(dumpFile(database))
  const quiet = () => Effect.void
  yield* undisturbed(tool.dump(main, file, quiet)).pipe(
    Effect.andThen(tool.restore(file, database, quiet)),
    Effect.ensuring(removeDump(files, database))
  )
})

const remove = (files: BackupFiles["Service"], name: string) =>
  Effect.catchCause(files.remove(name), (cause) => Effect.logWarning(`${name} of a branch can't be removed`, cause))

/** What there is of a branch's dump. */
export const removeDump = (files: BackupFiles["Service"], database: string) =>
  Effect.gen(function* () {
    for (const name of yield* files.list) {
      if (dumpPattern.exec(name)?.[1] === database) yield* remove(files, name)
    }
  })

/** Dumps that nobody can be at any more, because they were last written to so many ms ago. */
export const removeOldDumps = (files: BackupFiles["Service"], millis: number) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const name of yield* files.list) {
      if (!dumpPattern.test(name)) continue
      const status = yield* Effect.promise(() => stat(files.path(name)).catch(() => undefined))
      if (status !== undefined && status.mtimeMs < now - millis) yield* remove(files, name)
    }
  })
