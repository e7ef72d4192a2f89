import { Clock, Effect, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { statfs } from "node:fs/promises"
import { NotImplemented, Unavailable, Unprocessable } from "../../domain/errors.ts"
import { formatRecoveryKey, newRecoveryKey, parseRecoveryKey } from "../../domain/recovery/RecoveryKey.ts"
import { logPosition } from "../../domain/recovery/Log.ts"
import { extended, recoveryWindows, spans, windowFor } from "../../domain/recovery/Windows.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { onOwnTables } from "../../services/OwnTables.ts"
import { DumpFailed } from "../../services/ports/DumpTools.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { DrillFailed, LogArchive } from "../../services/ports/recovery/LogArchive.ts"
import { ObjectStore } from "../../services/ports/ObjectStore.ts"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { makeDumpTools } from "../dumps/ToolsFound.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { listPieces } from "./objects/Files.ts"
import { runObjectArchiver } from "./objects/Archiver.ts"
import { postgresUser } from "../postgres/embedded/User.ts"
import { DataDir } from "../process/DataDir.ts"
import { StartError } from "../process/StartError.ts"
import { ObjectStoreAddress } from "../storage/Address.ts"
import { type AskCluster } from "./archive/AskCluster.ts"
import { runArchiver } from "./archive/Archiver.ts"
import { archiveSlotStateSql, endOfLog } from "./archive/Stream.ts"
import { recoverCluster } from "./cluster/Cluster.ts"
import { hasClusterPlaces, makeClusterPlaces } from "./cluster/Places.ts"
import { runDrill } from "./Drill.ts"
import { findServerProgram } from "./cluster/Programs.ts"
import { type Archive, openOrCreateArchive } from "./store/Archive.ts"
import { bucketStore } from "./store/Bucket.ts"
import { directoryStore, sameDisk } from "./store/Directory.ts"
import { installationText } from "./store/Installation.ts"
import { type ArchiveTrouble } from "./store/Store.ts"

const notConfigured = new NotImplemented({
  error: "Point-in-time recovery is unavailable: the write-ahead log is not archived",
  code: "PITR_NOT_CONFIGURED",
  hint: "Set SVC_PITR=true (docs/recovery.md); backups can be restored with POST /api/backups/{id}/restore"
})

/** Without SVC_PITR. */
const layerNone = Layer.succeed(
  LogArchive,
  LogArchive.of({
    state: notConfigured,
    configured: notConfigured,
    recovery: () => notConfigured,
    drill: () => notConfigured,
    makeRecoveryKey: notConfigured,
    confirmRecoveryKey: () => notConfigured
  })
)

const unavailable = (
  error: string,
  details: string,
  code: "PITR_ARCHIVE_UNUSABLE" | "PITR_TOOL_MISSING" | "PITR_NO_SPACE"
) => new Unavailable({ error, code, details, retry_after: 30 })

const unusable = ({ reason }: ArchiveTrouble) =>
  unavailable("The archive of the write-ahead log is unusable", reason, "PITR_ARCHIVE_UNUSABLE")

/** Space in bytes that a recovery needs besides the cluster's files: log that waits, and what stays free. */
const reserve = 512 * 1024 * 1024

const reportEvery = "500 millis"
/** The part of a recovery until the cluster serves; its dump is the rest. */
const recovering = 0.6

const clusterSql = `select current_setting('server_version_num')::int / 10000 as major, current_database() as database,
    pg_size_bytes(current_setting('wal_segment_size'))::int8::text as segment_size, current_setting('wal_level') as wal_level,
    (select system_identifier::text from pg_control_system()) as system_identifier,
    (select rolsuper or rolreplication from pg_roles where rolname = current_user) as replicates`

/** The archive of the main database's cluster, which is kept up by the process that holds its slot. */
const layerArchive = Layer.effect(
  LogArchive,
  Effect.gen(function* () {
    const settings = yield* RecoverySettings
    const backups = yield* BackupSettings
    const { current, old } = yield* EncryptionKeys
    const login = yield* PostgresAddress
    const sql = yield* SqlClient.SqlClient
    const dir = yield* DataDir
    if (current === undefined) {
      return yield* new StartError({
        message: "SVC_PITR requires SVC_ENCRYPTION_KEY, because the archive is encrypted (docs/configuration.md)"
      })
    }
    const objects = yield* ObjectStore
    const store =
      settings.bucket === undefined ? directoryStore(settings.directory) : bucketStore(objects, settings.bucket)
    const ask: AskCluster = (text) =>
      onOwnTables(Effect.map(sql.unsafe<Readonly<Record<string, unknown>>>(text), ([row]) => row ?? {}))

    const cluster = yield* ask(clusterSql)
    if (cluster["replicates"] !== true) {
      return yield* new StartError({
        message: `SVC_PITR requires a database login that may replicate. As an administrator: alter role "${login.user}" replication`
      })
    }
    if (cluster["wal_level"] === "minimal") {
      return yield* new StartError({
        message:
          "SVC_PITR requires wal_level=replica or logical, but the server has minimal. As an administrator: alter system set wal_level = replica; then restart PostgreSQL"
      })
    }

    let opened: Archive | undefined
    const oneOpens = yield* Semaphore.make(1)
    const open = Effect.gen(function* () {
      const slot = yield* ask(archiveSlotStateSql)
      const its = {
        system_identifier: String(cluster["system_identifier"]),
        segment_size: Number(cluster["segment_size"]),
        major: Number(cluster["major"]),
        database: String(cluster["database"]),
        user: login.user
      }
      const name = slot["there"] === true ? String(slot["name"]) : undefined
      const now = new Date(yield* Clock.currentTimeMillis).toISOString()
      return (opened = yield* openOrCreateArchive(store, current, old, its, name, now))
    })
    const archive = Effect.suspend(() => (opened === undefined ? open : Effect.succeed(opened))).pipe(
      oneOpens.withPermit
    )

    const { isEmbedded = false, journal } = yield* ObjectStoreAddress
    const onSameDisk = () =>
      settings.bucket === undefined ? sameDisk(dir.path, settings.directory) : isEmbedded || null

    let problem: string | undefined
    const installation = yield* installationText(dir)
    yield* runArchiver({ archive, ask, installation, login, settings, report: (found) => (problem = found) })

    // An archive in the store itself would be lost with it, and the store keeps what was deleted anyway.
    const objectsProgress =
      journal === undefined || (settings.bucket !== undefined && isEmbedded)
        ? undefined
        : yield* runObjectArchiver({ archive, journal, keep: settings.keep })

    /** At the first recovery: the user that temporary servers run as is created if it is missing. */
    const places = yield* Effect.cached(
      Effect.gen(function* () {
        const user = yield* postgresUser(`${dir.path}/postgres`, dir.owner)
        return { user, ...(yield* makeClusterPlaces(dir, user)) }
      }).pipe(
        Effect.mapError(({ message }) =>
          unavailable("A recovery can't start a temporary server", message, "PITR_TOOL_MISSING")
        )
      )
    )
    // A process that was killed may have left temporary servers.
    if (hasClusterPlaces(dir)) yield* Effect.ignore(places)
    const one = yield* Semaphore.make(1)

    /** The last time until which everything is archived, and where the log was. */
    let caughtUp = { position: 0n, until: 0 }

    /** The windows of now: everything is archived when PostgreSQL has written no more than the slot has passed on. */
    const look = Effect.gen(function* () {
      const slot = yield* ask(archiveSlotStateSql)
      const opened = yield* archive
      const bases = yield* opened.bases
      const passed = logPosition(String(slot["position"])) ?? 0n
      const { flushed, inserted, now, writing } = endOfLog(slot)
      const windows = recoveryWindows(bases, yield* opened.log)
      if (passed >= inserted) caughtUp = { position: passed, until: now }
      else if (passed >= flushed) caughtUp = { position: passed, until: Math.max(caughtUp.until, now - writing) }
      const info = yield* opened.current
      const objects = (yield* listPieces(opened)).reduce((last, { until }) => Math.max(last, until), 0)
      return {
        slot,
        info,
        objects,
        archive: opened,
        bases,
        now,
        windows: extended(windows, caughtUp.position, caughtUp.until)
      }
    }).pipe(Effect.catchTag("ArchiveTrouble", (error) => Effect.fail(unusable(error))))

    const state = Effect.map(look, ({ archive: { place }, bases, info, now, objects, slot, windows }) => ({
      place,
      sameDisk: onSameDisk(),
      bases,
      spans: spans(windows),
      now,
      active: slot["active"] === true,
      retained: Number(slot["retained"] ?? 0),
      limit: slot["limit"] === null ? undefined : Number(slot["limit"]),
      problem: slot["active"] === true ? undefined : problem,
      objects:
        objects === 0 && objectsProgress === undefined
          ? undefined
          : {
              until: Math.max(objects, objectsProgress?.until ?? 0) || undefined,
              problem: objectsProgress?.problem
            },
      recoveryKey: { made: info.keys.recovery !== null, keptAt: info.recovery_key_kept_at }
    }))

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

    const makeRecoveryKey = Effect.gen(function* () {
      const key = newRecoveryKey()
      yield* (yield* archive).setRecoveryKey(key)
      return formatRecoveryKey(key)
    }).pipe(Effect.catchTag("ArchiveTrouble", (error) => Effect.fail(unusable(error))))

    const confirmRecoveryKey = Effect.fnUntraced(
      function* (text: string) {
        const key = parseRecoveryKey(text)
        const now = new Date(yield* Clock.currentTimeMillis).toISOString()
        if (key !== undefined && (yield* (yield* archive).confirmRecoveryKey(key, now))) return
        return yield* new Unprocessable({
          error:
            key === undefined
              ? "The text is no recovery key, or has a typing error"
              : "The recovery key is not the archive's current one",
          code: "RECOVERY_KEY_WRONG"
        })
      },
      Effect.catchTag("ArchiveTrouble", (error) => Effect.fail(unusable(error)))
    )

    return LogArchive.of({ configured: Effect.void, state, recovery, drill, makeRecoveryKey, confirmRecoveryKey })
  })
).pipe(Layer.provide(DataDir.layer))

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

/** The archive of the write-ahead log, if SVC_PITR is set. */
export const layer = Layer.unwrap(Effect.map(RecoverySettings, ({ enabled }) => (enabled ? layerArchive : layerNone)))
