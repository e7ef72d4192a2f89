import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { open, readFile, rename, rm } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import { withinBackupTimeout } from "../../../services/backups/Settings.ts"
import { DumpScript } from "../../../domain/dumps/Script.ts"
import { DumpFailed, type OnProgress, type RestoreTarget } from "../../../services/ports/DumpTools.ts"
import { dumpContents } from "../contents/Contents.ts"
import { readArchive } from "./Archive.ts"
import { bareEnv, databaseArgument, loginEnv } from "./Login.ts"
import { startProgram } from "./Process.ts"
import { type Programs } from "./Programs.ts"
import { makeDumpProgress, makeRestoreProgress } from "./Progress.ts"
import { makeRestoreRunner } from "../plain/Runner.ts"
import { type Login } from "../../postgres/Login.ts"

/** pg_dump and pg_restore as child processes. */

interface NativeOptions {
  /** Time limit of a dump or a restore, in ms. */
  readonly timeout: number
}

/** How long a dump waits for a locked table, in ms. */
const lockTimeout = 60_000

const removed = (path: string) => Effect.promise(() => rm(path, { force: true }).catch(() => undefined))

const failed = (what: string) => (cause: unknown) =>
  new DumpFailed({ reason: `${what}: ${cause instanceof Error ? cause.message : String(cause)}` })

/** A unique application_name for the sessions of one program. */
const sessionName = (what: string) => `svc ${what} ${randomBytes(6).toString("hex")}`

/** Creates an empty file, readable by the service alone; removed when the scope closes, unless it was renamed. */
const emptyFile = (path: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => (await open(path, "wx", 0o600)).close(),
      catch: failed("Failed to create the file")
    }),
    () => removed(path)
  )

/** Syncs a complete file and gives it its name. */
const finaliseFile = (partial: string, file: string) =>
  Effect.tryPromise({
    try: async () => {
      await synced(partial, "r+")
      await rename(partial, file)
      if (process.platform !== "win32") await synced(dirname(file), "r")
    },
    catch: failed("Failed to rename the file")
  })

const synced = async (path: string, flags: "r" | "r+") => {
  const handle = await open(path, flags)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Reads the content of an archive, as pg_restore writes it. */
export const contentsNative = (programs: Programs) => (file: string) =>
  dumpContents({
    program: programs.restore,
    args: ["--file=-", "--no-owner", "--no-privileges", "--no-tablespaces", "--no-subscriptions", file],
    env: bareEnv(false) as Readonly<Record<string, string>>
  })

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
          `--lock-wait-timeout=${lockTimeout}`,
          "--verbose",
          "--no-password",
          `--file=${partial}`,
          `--dbname=${databaseArgument(database)}`
        ],
        env,
        login.password,
        progress.read
      )
      const warnings = yield* Effect.raceFirst(running.ended, Effect.andThen(progress.watch(running.pid), Effect.never))
      if (warnings.length > 0) yield* Effect.logWarning(`pg_dump: ${warnings.join("; ")}`)
      yield* Effect.uninterruptible(finaliseFile(partial, file)).pipe(
        Effect.andThen(onProgress(1)),
        Effect.onError(() => removed(file))
      )
    },
    Effect.scoped,
    withinBackupTimeout(timeout)
  )

/** Options of every pg_restore. */
const restoreOptions = [
  "--exit-on-error",
  "--no-owner",
  "--no-tablespaces",
  // They would compete with the original's for its slot.
  "--no-subscriptions",
  "--verbose",
  "--no-password"
]

/**
 * Fills a database from such an archive, without owners, tablespaces, which another server may not have, and
 * subscriptions. pg_restore connects as the target's login, which may only become its role; what needs more rights is
 * written as a script, and run by `makeRestoreRunner`.
 *
 * @param login the service's, in the main database
 */
export const restoreNative = (programs: Programs, login: Login, { timeout }: NativeOptions) =>
  Effect.fnUntraced(
    function* (file: string, target: RestoreTarget, onProgress: OnProgress) {
      const own: Login = { ...login, database: target.database, user: target.login, password: target.password }
      const env = yield* loginEnv(own, sessionName("restore"))
      const { directory, entries, lists } = yield* readArchive(programs.restore, bareEnv(login.at.ssl), file)
      const progress = makeRestoreProgress(file, entries, onProgress)
      const runner = yield* makeRestoreRunner(login, target)

      const program = (options: ReadonlyArray<string>, list: string) =>
        startProgram(
          programs.restore,
          [...restoreOptions, ...options, `--use-list=${list}`, file],
          env,
          own.password,
          progress.read
        )

      const asScript = Effect.fnUntraced(function* (list: string | undefined) {
        if (list === undefined) return
        const path = join(directory, "script.sql")
        yield* (yield* program([`--file=${path}`], list)).ended
        const text = yield* Effect.tryPromise({ try: () => readFile(path), catch: failed("Failed to read the script") })
        const script = new DumpScript()
        yield* runner.run(script, text)
        yield* runner.end(script)
      })

      yield* asScript(lists.first)
      yield* runner.beginObjects
      yield* asScript(lists.definitions)
      if (lists.filling !== undefined) {
        yield* runner.lendPath
        const running = yield* program(
          [
            // pg_restore needs two jobs at least: a single one prints other lines, and the server waits while the
            // archive is read.
            `--jobs=${Math.max(2, Math.min(4, availableParallelism()))}`,
            `--role=${target.role}`,
            `--dbname=${databaseArgument(target.database)}`
          ],
          lists.filling
        )
        const warnings = yield* Effect.raceFirst(
          running.ended,
          Effect.andThen(progress.watch(running.pid), Effect.never)
        )
        if (warnings.length > 0) yield* Effect.logWarning(`pg_restore: ${warnings.join("; ")}`)
      }
      yield* asScript(lists.rest)
      yield* asScript(lists.last)
      yield* runner.finish
      yield* onProgress(1)
    },
    Effect.scoped,
    withinBackupTimeout(timeout)
  )
