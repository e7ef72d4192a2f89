import { Effect, Latch, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { backupCopyLock } from "../../domain/sql/AdvisoryLocks.ts"
import { globalsFile, inventoryFile } from "../../domain/backups/Backup.ts"
import { tryAdvisoryLocks } from "../AdvisoryLock.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"
import { BackupFiles, type FileTrouble } from "../ports/BackupFiles.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"
import { storedReason } from "./Records.ts"

/** The check runs without a notification too: another process may have been killed while it copied. */
const checkEvery = "30 seconds"
const retrySchedule = Schedule.exponential("1 second", 5)

/** The keys of copies begin with it. */
export const copiesPrefix = "backups/"

interface Pending {
  readonly id: number
  readonly file: string
  readonly size: number
  readonly bucket: string
  readonly globals: string | null
}

const typeOf = (file: string) => (file.endsWith(".zst") ? "application/zstd" : "application/octet-stream")

/** Copies of complete backups in the bucket of SVC_BACKUP_BUCKET, made in the background, one at a time. */
export const makeBackupCopies = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const files = yield* BackupFiles
  const store = yield* ObjectStore
  const wakeUp = yield* Latch.make(false)

  const remove = (bucket: string, key: string) =>
    Effect.forEach([key, globalsFile(key), inventoryFile(key)], (one) => store.remove(bucket, one), {
      discard: true
    }).pipe(Effect.catchTag("NotFound", () => Effect.void))

  const upload = ({ bucket, file, globals, size }: Pending) =>
    Effect.gen(function* () {
      const key = copiesPrefix + file
      yield* store.putStream(bucket, key, typeOf(file), files.bytes(file), size)
      const script = new TextEncoder().encode(globals ?? "")
      yield* store.put(bucket, globalsFile(key), "text/plain; charset=utf-8", script)
      const inventory = inventoryFile(file)
      const length = yield* files.size(inventory)
      if (length !== undefined) {
        yield* store.putStream(bucket, inventoryFile(key), "application/gzip", files.bytes(inventory), length)
      }
      return key
    }).pipe(Effect.retry({ times: 2, schedule: retrySchedule }))

  const record = (text: string, params: ReadonlyArray<string | number>) =>
    onOwnTables(sql.unsafe(`update svc.backups set copy_to = null, ${text} where id = $1 returning id`, [...params]))

  const failed = ({ bucket, id }: Pending, error: StoreError | FileTrouble) => {
    const reason = error._tag === "FileTrouble" ? error.reason : error.error
    return Effect.andThen(
      Effect.logWarning(`Failed to copy backup ${id} to the bucket ${bucket}: ${reason}`),
      record("copy_error = $2", [id, storedReason(reason)])
    )
  }

  const copied = ({ bucket, id }: Pending, key: string) =>
    Effect.gen(function* () {
      const recorded = yield* record("bucket = $2, object_key = $3, copy_error = null", [id, bucket, key])
      // The backup was deleted in the meantime.
      if (recorded.length === 0) yield* Effect.ignore(remove(bucket, key))
    })

  const copy = Effect.fnUntraced(function* (pending: Pending) {
    if ((yield* files.size(pending.file)) !== pending.size) return
    yield* Effect.matchEffect(upload(pending), {
      onFailure: (error) => failed(pending, error),
      onSuccess: (key) => copied(pending, key)
    })
  })

  /** Only one replica makes a copy. */
  const copyAlone = (pending: Pending) =>
    Effect.scoped(
      Effect.flatMap(tryAdvisoryLocks(sql, [`${backupCopyLock}, ${pending.id}`]), (connection) =>
        connection === undefined ? Effect.void : copy(pending)
      )
    )

  const round = Effect.gen(function* () {
    const pending = yield* onOwnTables(
      sql.unsafe<Pending>(
        `select id, file_name as file, size_bytes::float8 as size, copy_to as bucket, globals from svc.backups
         where status = 'completed' and copy_to is not null order by id`
      )
    )
    yield* Effect.forEach(pending, copyAlone, { discard: true })
  })

  yield* round.pipe(
    Effect.catchTag("Unavailable", () => Effect.void),
    Effect.catchCause(logFailure("Failed to copy backups to their bucket")),
    Effect.andThen(Effect.timeoutOption(wakeUp.await, checkEvery)),
    Effect.forever,
    Effect.forkScoped
  )

  return {
    /** Notifies that there is a backup to copy. */
    notify: wakeUp.release,
    /** Removes a copy. A bucket that is gone is no error. */
    remove
  }
})

export type BackupCopies = Effect.Success<typeof makeBackupCopies>
