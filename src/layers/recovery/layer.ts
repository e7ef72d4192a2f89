import { Clock, Effect, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { NotImplemented, Unprocessable } from "../../domain/errors.ts"
import { formatRecoveryKey, newRecoveryKey, parseRecoveryKey } from "../../domain/recovery/RecoveryKey.ts"
import { logPosition } from "../../domain/recovery/Log.ts"
import { extended, recoveryWindows, spans } from "../../domain/recovery/Windows.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { onOwnTables } from "../../services/OwnTables.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { LogArchive } from "../../services/ports/recovery/LogArchive.ts"
import { ObjectStore } from "../../services/ports/ObjectStore.ts"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
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
import { hasClusterPlaces, makeClusterPlaces } from "./cluster/Places.ts"
import { makeRecoveries, unavailable } from "./Recoveries.ts"
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

const unusable = ({ reason }: ArchiveTrouble) =>
  unavailable("The archive of the write-ahead log is unusable", reason, "PITR_ARCHIVE_UNUSABLE")

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
      // Another process may archive the objects.
      const objects =
        objectsProgress?.until ?? (yield* listPieces(opened)).reduce((last, { until }) => Math.max(last, until), 0)
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
              until: objects || undefined,
              problem: objectsProgress?.problem
            },
      recoveryKey: { made: info.keys.recovery !== null, keptAt: info.recovery_key_kept_at }
    }))

    const { drill, recovery } = yield* makeRecoveries(look, places, backups)

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

/** The archive of the write-ahead log, if SVC_PITR is set. */
export const layer = Layer.unwrap(Effect.map(RecoverySettings, ({ enabled }) => (enabled ? layerArchive : layerNone)))
