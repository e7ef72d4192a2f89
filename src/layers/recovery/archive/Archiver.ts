import { Clock, Effect, Schedule } from "effect"
import { installationFile } from "../../../domain/recovery/Archive.ts"
import { logPosition } from "../../../domain/recovery/Log.ts"
import { outdated, reaches, recoveryWindows } from "../../../domain/recovery/Windows.ts"
import { type RecoverySettings } from "../../../services/recovery/Settings.ts"
import { type Login } from "../../postgres/Login.ts"
import { connectToCluster } from "../../postgres/log/Session.ts"
import { readBaseFiles } from "../cluster/Files.ts"
import { type Archive } from "../store/Archive.ts"
import { type Unavailable } from "../../../domain/errors.ts"
import { type ArchiveTrouble } from "../store/Store.ts"
import { type AskCluster } from "./AskCluster.ts"
import { makeBaseBackup, removeIncompleteBases } from "./BaseBackup.ts"
import { archiveLog, type ArchiveProgress } from "./Stream.ts"

/** How often a process tries to become the one that archives, and how often that one looks whether a base backup is due. */
const [tryEvery, lookEvery] = ["2 seconds", "10 seconds"] as const
/** After a base backup that failed. */
const pauseAfterFailure = "1 minute"

interface Archiving {
  readonly login: Login
  readonly ask: AskCluster
  readonly archive: Effect.Effect<Archive, ArchiveTrouble | Unavailable>
  readonly settings: RecoverySettings["Service"]
  /** See `installationFile`. */
  readonly installation: Effect.Effect<string>
  /** Runs when it is known why this process does not archive; undefined: it does, or another one. */
  readonly report: (problem: string | undefined) => void
}

const reasonOf = (error: { readonly message?: string; readonly reason?: string; readonly error?: string }) =>
  error.reason ?? error.error ?? error.message ?? "unknown"

/**
 * Archives the log, and makes base backups: by their schedule, and at once for an empty archive and after a gap. One
 * process does at a time: PostgreSQL gives the slot to one session.
 */
export const runArchiver = Effect.fnUntraced(function* ({
  archive,
  ask,
  installation,
  login,
  report,
  settings
}: Archiving) {
  let progress: ArchiveProgress | undefined
  /** Sessions of the log so far, and the last one of them before which no log is missing. */
  let [sessions, checked] = [0, -1]
  /** The last session in which the installation's secrets were put into the archive. */
  let kept = -1
  /** The failure that was logged last: the same one again and again is one line. */
  let logged: string | undefined

  const lease = Effect.gen(function* () {
    const client = yield* connectToCluster(login)
    sessions++
    yield* archiveLog(client, ask, yield* archive, (now) => {
      progress = now
      logged = undefined
      report(undefined)
    })
  }).pipe(Effect.scoped, Effect.ensuring(Effect.sync(() => (progress = undefined))))

  const failed = (problem: string, log: Effect.Effect<void>) => {
    report(problem)
    if (logged === problem) return Effect.void
    logged = problem
    return log
  }
  const notArchived = "The write-ahead log is not archived"
  const tryLease = lease.pipe(
    Effect.catch((error) => {
      const problem = reasonOf(error)
      return failed(problem, Effect.logWarning(`${notArchived}: ${problem}`))
    }),
    Effect.catchDefect((defect) => failed(String(defect), Effect.logError(notArchived, defect)))
  )
  yield* Effect.forkScoped(Effect.repeat(tryLease, Schedule.spaced(tryEvery)))

  /** The archive that needs a base backup, and whether restores wait for it. */
  const due = Effect.gen(function* () {
    if (progress === undefined) return undefined
    const { position, timeline } = progress
    const opened = yield* archive
    const bases = yield* opened.bases
    const last = bases.at(-1)
    if (last === undefined) return { archive: opened, fast: true }
    // Log can only be missing where a session of the log begins.
    if (checked !== sessions) {
      // A window has times, and at rest the archive records the time only now and then: positions decide.
      const log = yield* opened.log
      const usable = bases.some((base) => reaches(base, log, position))
      const reached = last.timeline !== timeline || (logPosition(last.end) ?? 0n) <= position
      if (!usable && reached) return { archive: opened, fast: true }
      if (usable) checked = sessions
    }
    const next = settings.schedule.times.next(Date.parse(last.started_at)) ?? Number.POSITIVE_INFINITY
    return next <= (yield* Clock.currentTimeMillis) ? { archive: opened, fast: false } : undefined
  })

  const makeBase = Effect.fnUntraced(function* (to: Archive, fast: boolean) {
    yield* removeIncompleteBases(to)
    const base = yield* makeBaseBackup(login, ask, to, fast)
    yield* readBaseFiles(to, base, undefined).pipe(Effect.tapError(() => Effect.ignore(to.removeBase(base.id))))
    yield* Effect.logInfo(
      `Base backup ${base.id} is in ${to.place}: ${Math.ceil(base.bytes / 1_048_576)} MiB, stored as ${Math.ceil(base.stored_bytes / 1_048_576)} MiB`
    )
  })

  const look = Effect.gen(function* () {
    if (progress !== undefined && kept !== sessions) {
      const session = sessions
      yield* (yield* archive).put(installationFile, Buffer.from(yield* installation))
      kept = session
    }
    const found = yield* due
    if (found === undefined) return
    yield* makeBase(found.archive, found.fast)
    yield* removeOutdated(found.archive, settings.keep)
  }).pipe(
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logWarning(`The archive was not kept up: ${reasonOf(error)}`),
        Effect.sleep(pauseAfterFailure)
      )
    ),
    Effect.catchDefect((defect) =>
      Effect.andThen(Effect.logError("The archive was not kept up", defect), Effect.sleep(pauseAfterFailure))
    )
  )
  yield* Effect.forkScoped(Effect.repeat(Effect.scoped(look), Schedule.spaced(lookEvery)))
})

/** Removes what no restore to the last `keep` ms needs. */
const removeOutdated = Effect.fnUntraced(function* (archive: Archive, keep: number) {
  const [bases, log] = [yield* archive.bases, yield* archive.log]
  const old = outdated(recoveryWindows(bases, log), bases, log.pieces, {
    keep,
    now: yield* Clock.currentTimeMillis,
    segmentSize: log.segmentSize
  })
  for (const { id } of old.bases) yield* archive.removeBase(id)
  yield* archive.remove(old.pieces.map(({ name }) => name))
})
