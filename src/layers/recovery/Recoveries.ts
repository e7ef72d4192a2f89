import { Effect, Semaphore } from "effect"
import { statfs } from "node:fs/promises"
import { Unavailable, Unprocessable } from "../../domain/errors.ts"
import { type RecoveryWindow, spans, windowFor } from "../../domain/recovery/Windows.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { DumpFailed } from "../../services/ports/DumpTools.ts"
import { DrillFailed } from "../../services/ports/recovery/LogArchive.ts"
import { makeDumpTools } from "../dumps/ToolsFound.ts"
import { type PostgresUser } from "../postgres/embedded/User.ts"
import { recoverCluster } from "./cluster/Cluster.ts"
import { type ClusterPlaces } from "./cluster/Places.ts"
import { findServerProgram } from "./cluster/Programs.ts"
import { runDrill } from "./Drill.ts"
import { type Archive } from "./store/Archive.ts"

export const unavailable = (
  error: string,
  details: string,
  code: "PITR_ARCHIVE_UNUSABLE" | "PITR_TOOL_MISSING" | "PITR_NO_SPACE"
) => new Unavailable({ error, code, details, retry_after: 30 })

/** Space in bytes that a recovery needs besides the cluster's files: log that waits, and what stays free. */
const reserve = 512 * 1024 * 1024

const reportEvery = "500 millis"
/** The part of a recovery until the cluster serves; its dump is the rest. */
const recovering = 0.6

const outside = (target: number, all: ReadonlyArray<{ readonly from: number; readonly to: number }>) => {
  const [first, last] = [all[0], all.at(-1)]
  const iso = (time: number) => new Date(time).toISOString()
  if (first === undefined || last === undefined) {
    return new Unprocessable({
      error: "No time can be restored yet: the first base backup is not complete",
      code: "TARGET_TIME_OUTSIDE",
      hint: "GET /api/backups/pitr shows when it is"
    })
  }
  const gap = all.length > 1 && target > first.from && target < last.to
  return new Unprocessable({
    error: `target_time is outside of what can be restored: from ${iso(first.from)} to ${iso(last.to)}`,
    code: "TARGET_TIME_OUTSIDE",
    details: gap
      ? `Log is missing around it. Spans: ${all.map(({ from, to }) => `${iso(from)} to ${iso(to)}`).join(", ")}`
      : `earliest ${iso(first.from)}, latest ${iso(last.to)}`
  })
}

/** What can be recovered now. */
interface Recoverable {
  readonly archive: Archive
  readonly windows: ReadonlyArray<RecoveryWindow>
}

/** Recoveries of a time into a temporary cluster: for a dump, and for a drill. */
export const makeRecoveries = Effect.fnUntraced(function* (
  look: Effect.Effect<Recoverable, Unavailable>,
  places: Effect.Effect<ClusterPlaces & { readonly user: PostgresUser }, Unavailable>,
  backups: BackupSettings["Service"]
) {
  const one = yield* Semaphore.make(1)

  /** What a recovery to a time needs; it takes `times` the size of the cluster on the disk. */
  const prepare = Effect.fnUntraced(function* (target: number, times: number) {
    const { archive, windows } = yield* look
    const window = windowFor(windows, target)
    if (window === undefined) return yield* outside(target, spans(windows))
    const { parent, place, user } = yield* places
    const program = yield* findServerProgram(window.base.server_version, backups.programs, parent, user)
    if (program === undefined) {
      return yield* unavailable(
        `No server program of PostgreSQL ${archive.info.major} was found on this machine`,
        "A recovery starts a temporary server: install the server package of that version here, or set PG_BIN_DIR to the directory of its postgres",
        "PITR_TOOL_MISSING"
      )
    }
    const free = yield* Effect.promise(() =>
      statfs(parent).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => Number.POSITIVE_INFINITY
      )
    )
    const needed = times * window.base.bytes + reserve
    if (free < needed) {
      return yield* unavailable(
        "Not enough disk space for a recovery",
        `${needed} bytes are needed in ${parent}, and ${free} are free`,
        "PITR_NO_SPACE"
      )
    }
    return { archive, window, program, place, user }
  })

  const drill = (target: number, id: number) =>
    Effect.gen(function* () {
      const { archive, place, program, user, window } = yield* prepare(target, 1)
      return yield* runDrill(archive, window, target, id, { program, user, directory: yield* place })
    }).pipe(
      Effect.scoped,
      Effect.catchTag("ArchiveTrouble", ({ reason }) => Effect.fail(new DrillFailed({ reason })))
    )

  const recovery = Effect.fnUntraced(function* (target: number) {
    // The cluster and a dump of it.
    const { archive, place, program, user, window } = yield* prepare(target, 2)
    return (file: string, onProgress: (fraction: number) => Effect.Effect<void>) =>
      Effect.gen(function* () {
        yield* Effect.acquireRelease(one.take(1), () => one.release(1), { interruptible: true })
        const directory = yield* place
        let done = 0
        const report = Effect.suspend(() => onProgress(recovering * done)).pipe(
          Effect.delay(reportEvery),
          Effect.forever
        )
        const { login: server } = yield* Effect.raceFirst(
          recoverCluster(
            archive,
            window,
            target,
            { program, user, directory, kept: false },
            (fraction) => (done = fraction)
          ),
          report
        )
        const tool = yield* Effect.flatMap(makeDumpTools(server), ({ current }) => current)
        yield* tool.dump(server.database, file, (fraction) => onProgress(recovering + (1 - recovering) * fraction))
        return tool.format
      }).pipe(
        Effect.provideService(BackupSettings, backups),
        Effect.catchTag("ArchiveTrouble", ({ reason }) => Effect.fail(new DumpFailed({ reason }))),
        Effect.catchDefect((defect) =>
          Effect.andThen(
            Effect.logError("A recovery ended unexpectedly", defect),
            Effect.fail(new DumpFailed({ reason: "The recovery ended unexpectedly; the log of the service has why" }))
          )
        )
      )
  })

  return { drill, recovery }
})
