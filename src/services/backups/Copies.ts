import { Context, Effect, Latch, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { backupCopyLock } from "../../domain/sql/AdvisoryLocks.ts"
import { globalsFile } from "../../domain/backups/Backup.ts"
import { BackupFiles, type FileTrouble } from "../ports/BackupFiles.ts"
import { shownReason } from "./Records.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"
import { tryAdvisoryLocks } from "../AdvisoryLock.ts"
import { onOwnTables } from "../OwnTables.ts"

/** Whoever has been told of nothing looks all the same: another process may have been killed over a copy. */
const lookEvery = "10 seconds"
const again = Schedule.exponential("1 second", 5)

const prefix = "backups/"

interface Waiting {
  readonly id: number
  readonly file: string
  readonly size: number
  readonly bucket: string
  readonly globals: string | null
}

const typeOf = (file: string) => (file.endsWith(".zst") ? "application/zstd" : "application/octet-stream")

/** Copies of complete backups in the bucket of SVC_BACKUP_BUCKET, made in the background, one at a time. */
export class BackupCopies extends Context.Service<
  BackupCopies,
  {
    /** There is a backup to copy. */
    readonly look: Effect.Effect<unknown>
    /** What is there of a copy. A bucket that is gone took it along. */
    readonly remove: (bucket: string, key: string) => Effect.Effect<void, StoreError>
  }
>()("svc/services/BackupCopies") {
  static readonly layer = Layer.effect(
    BackupCopies,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const files = yield* BackupFiles
      const store = yield* ObjectStore
      const looks = yield* Latch.make(false)

      const remove = (bucket: string, key: string) =>
        Effect.forEach([key, globalsFile(key)], (one) => store.remove(bucket, one), { discard: true }).pipe(
          Effect.catchTag("NotFound", () => Effect.void)
        )

      const upload = ({ bucket, file, globals, size }: Waiting) =>
        Effect.gen(function* () {
          const key = prefix + file
          yield* store.putStream(bucket, key, typeOf(file), files.bytes(file), size)
          const script = new TextEncoder().encode(globals ?? "")
          yield* store.put(bucket, globalsFile(key), "text/plain; charset=utf-8", script)
          return key
        }).pipe(Effect.retry({ times: 2, schedule: again }))

      const done = (text: string, params: ReadonlyArray<string | number>) =>
        onOwnTables(
          sql.unsafe(`update svc.backups set copy_to = null, ${text} where id = $1 returning id`, [...params])
        )

      const failed = ({ bucket, id }: Waiting, error: StoreError | FileTrouble) => {
        const reason = error._tag === "FileTrouble" ? error.reason : error.error
        return Effect.andThen(
          Effect.logWarning(`Backup ${id} could not be copied to the bucket ${bucket}: ${reason}`),
          done("copy_error = $2", [id, shownReason(reason)])
        )
      }

      const copied = ({ bucket, id }: Waiting, key: string) =>
        Effect.gen(function* () {
          const kept = yield* done("bucket = $2, object_key = $3, copy_error = null", [id, bucket, key])
          // Deleted in the meantime.
          if (kept.length === 0) yield* Effect.ignore(remove(bucket, key))
        })

      const copy = Effect.fnUntraced(function* (waiting: Waiting) {
        if ((yield* files.size(waiting.file)) !== waiting.size) return
        yield* Effect.matchEffect(upload(waiting), {
          onFailure: (error) => failed(waiting, error),
          onSuccess: (key) => copied(waiting, key)
        })
      })

      /** Only one replica copies it. */
      const alone = (waiting: Waiting) =>
        Effect.scoped(
          Effect.flatMap(tryAdvisoryLocks(sql, [`${backupCopyLock}, ${waiting.id}`]), (connection) =>
            connection === undefined ? Effect.void : copy(waiting)
          )
        )

      const round = Effect.gen(function* () {
        const waiting = yield* onOwnTables(
          sql.unsafe<Waiting>(
            `select id, file_name as file, size_bytes::float8 as size, copy_to as bucket, globals from svc.backups
             where status = 'completed' and copy_to is not null order by id`
          )
        )
        yield* Effect.forEach(waiting, alone, { discard: true })
      })

      yield* round.pipe(
        Effect.catchTag("Unavailable", () => Effect.void),
        Effect.catchCause((cause) => Effect.logError("Backups could not be copied to their bucket", cause)),
        Effect.andThen(Effect.timeoutOption(looks.await, lookEvery)),
        Effect.forever,
        Effect.forkScoped
      )

      return BackupCopies.of({ look: looks.release, remove })
    })
  )
}
