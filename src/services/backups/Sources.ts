import { Context, Effect, Layer, type Scope, type Stream } from "effect"
import { type BackupId, partialFile } from "../../domain/backups/Backup.ts"
import { Conflict, NotFound, type Unavailable } from "../../domain/errors.ts"
import { BackupFiles, type ByteRange, type FileTrouble } from "../ports/BackupFiles.ts"
import { type BackupPlace, BackupRecords } from "./Records.ts"
import { DumpFailed } from "../ports/DumpTools.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"

/** The file of a backup, wherever it is. */
export interface BackupSource {
  readonly place: BackupPlace
  readonly name: string
  readonly size: number
  readonly bytes: (range?: ByteRange) => Stream.Stream<Uint8Array, FileTrouble | StoreError>
  /** Path of the file, fetched from its bucket if need be; then it is gone with the scope. */
  readonly local: (restore: number) => Effect.Effect<string, DumpFailed, Scope.Scope>
}

const notCompleted = (id: number, status: string) =>
  new Conflict({
    error: `Backup ${id} is ${status === "failed" ? "a failed one" : "not complete yet"}`,
    code: "BACKUP_NOT_COMPLETED"
  })

const missing = (id: number) =>
  new NotFound({
    error: `The file of backup ${id} is not here`,
    code: "BACKUP_FILE_MISSING",
    details: "It is in SVC_BACKUP_DIR of the replica that made it, if it is still there, and in no bucket",
    hint: "Let replicas share SVC_BACKUP_DIR, or have copies made in a bucket (SVC_BACKUP_BUCKET)"
  })

/** Bytes of backups that are complete: from the directory, else from the bucket. */
export class BackupSources extends Context.Service<
  BackupSources,
  {
    /** 409 `BACKUP_NOT_COMPLETED`, 404 `BACKUP_FILE_MISSING`. */
    readonly find: (id: BackupId) => Effect.Effect<BackupSource, NotFound | Conflict | Unavailable | StoreError>
    /** The script that belongs to it. */
    readonly globals: (id: BackupId) => Effect.Effect<string, NotFound | Conflict | Unavailable>
  }
>()("svc/services/BackupSources") {
  static readonly layer = Layer.effect(
    BackupSources,
    Effect.gen(function* () {
      const records = yield* BackupRecords
      const files = yield* BackupFiles
      const store = yield* ObjectStore

      const completed = Effect.fnUntraced(function* (id: BackupId) {
        const place = yield* records.place(id)
        return place.status === "completed" ? place : yield* notCompleted(id, place.status)
      })

      const inBucket = (place: BackupPlace, name: string, bucket: string, key: string): BackupSource => ({
        place,
        name,
        size: place.size,
        bytes: (range) => store.read(bucket, key, range),
        local: (restore) =>
          Effect.gen(function* () {
            const fetched = partialFile(name, restore)
            yield* files.ready
            yield* Effect.addFinalizer(() => Effect.ignore(files.remove(fetched)))
            yield* files.receive(fetched, store.read(bucket, key), place.size)
            return files.path(fetched)
          }).pipe(
            Effect.mapError(
              (failure) =>
                new DumpFailed({
                  reason: `Its copy in the bucket ${bucket} can't be read: ${failure._tag === "FileTrouble" ? failure.reason : failure.error}`
                })
            )
          )
      })

      const find = Effect.fn("BackupSources.find")(function* (id: BackupId) {
        const place = yield* completed(id)
        const { bucket, file, key, size } = place
        if (file === null) return yield* missing(id)
        if ((yield* files.size(file)) === size) {
          return {
            place,
            name: file,
            size,
            bytes: (range) => files.bytes(file, range),
            local: () => Effect.succeed(files.path(file))
          } satisfies BackupSource
        }
        if (bucket === null || key === null) return yield* missing(id)
        const there = yield* store.record(bucket, key).pipe(Effect.catchTag("NotFound", () => Effect.fail(missing(id))))
        return there.size === size ? inBucket(place, file, bucket, key) : yield* missing(id)
      })

      return BackupSources.of({
        find,
        globals: (id) => Effect.map(completed(id), ({ globals }) => globals ?? "")
      })
    })
  )
}
