import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { open, rename, rm } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { dirname } from "node:path"
import { DumpFailed, type OnProgress } from "../../../services/ports/DumpTools.ts"
import { readArchive } from "./Archive.ts"
import { bareEnv, databaseArgument, loginEnv } from "./Login.ts"
import { startProgram } from "./Process.ts"
import { type Programs } from "./Programs.ts"
import { makeDumpProgress, makeRestoreProgress } from "./Progress.ts"
import { type Login } from "../../postgres/Login.ts"

/** pg_dump and pg_restore as child processes. */

interface NativeOptions {
  /** Longest a dump or a restore may take, in ms. */
  readonly timeout: number
}

/** How long a dump waits for a table that somebody has locked, in ms. */
const lockPatience = 60_000

const removed = (path: string) => Effect.promise(() => rm(path, { force: true }).catch(() => undefined))

const failed = (what: string) => (cause: unknown) =>
  new DumpFailed({ reason: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })

const withinTime =
  (timeout: number) =>
  <A, R>(effect: Effect.Effect<A, DumpFailed, R>) =>
    Effect.timeoutOrElse(effect, {
      duration: timeout,
      orElse: () =>
        Effect.fail(
          new DumpFailed({ reason: `It took longer than ${Math.round(timeout / 1000)} s (SVC_BACKUP_TIMEOUT)` })
        )
    })

/** A name for one program's sessions, which nobody else has. */
const sessionName = (what: string) => `svc ${what} ${randomBytes(6).toString("hex")}`

/** A file that only we may read, there before anybody writes; it goes with the scope unless it was renamed. */
const emptyFile = (path: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => (await open(path, "wx", 0o600)).close(),
      catch: failed("The file can't be made")
    }),
    () => removed(path)
  )

/** Gives a complete file its name, and makes both outlast a loss of power. */
const settleFile = (partial: string, file: string) =>
  Effect.tryPromise({
    try: async () => {
      await synced(partial, "r+")
      await rename(partial, file)
      if (process.platform !== "win32") await synced(dirname(file), "r")
    },
    catch: failed("The file can't be finished")
  })

const synced = async (path: string, flags: "r" | "r+") => {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Dumps a database as an archive of pg_dump's own format. */
export const dumpNative = (programs: Programs, login: Login, { timeout }: NativeOptions) =>
  Effect.fnUntraced(
    function* (database: string, file: string, onProgress: OnProgress) {
      const partial = `${file}.partial`
      const session = sessionName("dump")
      const env = yield* loginEnv(login, session)
      yield* emptyFile(partial)
      const progress = makeDumpProgress({ ...login, database }, session, onProgress)
      const running = yield* startProgram(
        programs.dump,
        [
          "--format=custom",
          `--compress=${programs.zstd ? "zstd" : "3"}`,
          `--lock-wait-timeout=${lockPatience}`,
          "--verbose",
          "--no-password",
          `--file=${partial}`,
          `--dbname=${databaseArgument(database)}`
        ],
        env,
        login.password,
        progress.hear
      )
      const warnings = yield* Effect.raceFirst(running.ended, Effect.andThen(progress.watch(running.pid), Effect.never))
      if (warnings.length > 0) yield* Effect.logWarning(`pg_dump: ${warnings.join("; ")}`)
      yield* Effect.uninterruptible(settleFile(partial, file)).pipe(
        Effect.andThen(onProgress(1)),
        Effect.onError(() => removed(file))
      )
    },
    Effect.scoped,
    withinTime(timeout)
  )

/**
 * Fills a database from such an archive. Left out beside owners: tablespaces, which another server need not have, and
 * subscriptions, which would compete with the original's for its slot.
 */
export const restoreNative = (programs: Programs, login: Login, { timeout }: NativeOptions) =>
  Effect.fnUntraced(
    function* (file: string, database: string, onProgress: OnProgress) {
      const env = yield* loginEnv(login, sessionName("restore"))
      const { entries, lists } = yield* readArchive(programs.restore, bareEnv(login.ssl), file)
      const progress = makeRestoreProgress(file, entries, onProgress)
      for (const list of lists) {
        const running = yield* startProgram(
          programs.restore,
          [
            "--exit-on-error",
            "--no-owner",
            "--no-tablespaces",
            "--no-subscriptions",
            // At least two: with one, other lines are said, and the server would wait while we read.
            `--jobs=${Math.max(2, Math.min(4, availableParallelism()))}`,
            "--verbose",
            "--no-password",
            `--dbname=${databaseArgument(database)}`,
            ...(list === undefined ? [] : [`--use-list=${list}`]),
            file
          ],
          env,
          login.password,
          progress.hear
        )
        const warnings = yield* Effect.raceFirst(
          running.ended,
          Effect.andThen(progress.watch(running.pid), Effect.never)
        )
        if (warnings.length > 0) yield* Effect.logWarning(`pg_restore: ${warnings.join("; ")}`)
      }
      yield* onProgress(1)
    },
    Effect.scoped,
    withinTime(timeout)
  )
