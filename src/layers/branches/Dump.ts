import { Clock, Effect } from "effect"
import { stat } from "node:fs/promises"
import { branchDumpFile } from "../../domain/branches/Branch.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { type BackupFiles } from "../../services/ports/BackupFiles.ts"
import { type DumpTools, type OnProgress, type RestoreTarget } from "../../services/ports/DumpTools.ts"

/** Such a file, complete or partial. */
const dumpPattern = /^(svc_branch_[0-9a-f]{12})\.dump(\..+)?$/

interface FillOptions {
  readonly tools: DumpTools["Service"]
  readonly files: BackupFiles["Service"]
  /** Name of the main database. */
  readonly main: string
  /** Runs a dump while the main database is not copied. */
  readonly undisturbed: <A, E>(dump: Effect.Effect<A, E>) => Effect.Effect<A, E | Unavailable>
}

/** Dumps the main database into a file in the backup directory, restores it into the branch, and removes it. */
export const fillByDump = Effect.fnUntraced(function* (
  { files, main, tools, undisturbed }: FillOptions,
  target: RestoreTarget,
  report: OnProgress
) {
  const { database } = target
  const tool = yield* tools.current
  yield* files.ready
  const file = files.path(branchDumpFile(database))
  yield* undisturbed(tool.dump(main, file, (fraction) => report(fraction / 2))).pipe(
    Effect.andThen(tool.restore(file, target, (fraction) => report(0.5 + fraction / 2))),
    Effect.ensuring(removeDump(files, database))
  )
})

const remove = (files: BackupFiles["Service"], name: string) =>
  Effect.catchCause(files.remove(name), (cause) =>
    Effect.logWarning(`Failed to remove ${name}, a dump of a branch`, cause)
  )

/** Removes the dump of a branch, complete or partial. */
export const removeDump = (files: BackupFiles["Service"], database: string) =>
  Effect.gen(function* () {
    for (const name of yield* files.list) {
      if (dumpPattern.exec(name)?.[1] === database) yield* remove(files, name)
    }
  })

/** Removes dumps that were last written to more than `millis` ago, which no process can be using. */
export const removeOldDumps = (files: BackupFiles["Service"], millis: number) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const name of yield* files.list) {
      if (!dumpPattern.test(name)) continue
      const status = yield* Effect.promise(() => stat(files.path(name)).catch(() => undefined))
      if (status !== undefined && status.mtimeMs < now - millis) yield* remove(files, name)
    }
  })
