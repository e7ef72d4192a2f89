import { createHash } from "node:crypto"
import { Effect, type Scope, Stream } from "effect"
import { type BackupId, partialFile } from "../../domain/backups/Backup.ts"
import { Conflict, NotFound, Unprocessable } from "../../domain/errors.ts"
import { BackupFiles, type ByteRange, type FileTrouble } from "../ports/BackupFiles.ts"
import { DumpFailed, type DumpFormat } from "../ports/DumpTools.ts"
import { ObjectStore, type StoreError } from "../ports/ObjectStore.ts"
import { type BackupPlace, type BackupRecords } from "./Records.ts"

/**
 * SHA-256 of bytes while they pass. `through` gives the same stream, `value` the digest (lower-case hex) once that has
 * ended. Not keyed: who could change the record of a backup can change everything else too, and `sha256sum` must do to
 * check a file by hand, also without the encryption key.
 */
const makeDigest = () => {
  const hash = createHash("sha256")
  return {
    through: <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<Uint8Array, E> =>
      Stream.tap(bytes, (piece) => Effect.sync(() => hash.update(piece))),
    value: () => hash.digest("hex")
  }
}

/** SHA-256 of a stream in lower-case hex. */
export const digestOf = <E>(bytes: Stream.Stream<Uint8Array, E>): Effect.Effect<string, E> =>
  Effect.suspend(() => {
    const digest = makeDigest()
    return Effect.map(Stream.runDrain(digest.through(bytes)), digest.value)
  })

/** The file of a backup, on disk or in a bucket. */
export interface BackupSource {
  readonly place: BackupPlace
  readonly name: string
  readonly format: DumpFormat
  readonly size: number
  readonly bytes: (range?: ByteRange) => Stream.Stream<Uint8Array, FileTrouble | StoreError>
  /**
   * Path of the file, once its digest is verified. It is fetched from the bucket if necessary, and then removed when the
   * scope closes. Fails with `BACKUP_ALTERED` or `BACKUP_UNVERIFIED` for a file that must not be restored.
   */
  readonly local: (restore: number) => Effect.Effect<string, DumpFailed, Scope.Scope>
}

const notCompleted = (id: number, status: string) =>
  new Conflict({
    error: `Backup ${id} ${status === "failed" ? "failed" : "is still in progress"}`,
    code: "BACKUP_NOT_COMPLETED"
  })

const missing = (id: number) =>
  new NotFound({
    error: `The file of backup ${id} is missing from this replica`,
    code: "BACKUP_FILE_MISSING",
    details: "It may be in SVC_BACKUP_DIR of the replica that made it; there is no copy in a bucket",
    hint: "Share SVC_BACKUP_DIR between replicas, or copy backups to a bucket (SVC_BACKUP_BUCKET)"
  })

const altered = (id: number) =>
  new Unprocessable({
    error: `The file of backup ${id} has another size than the backup that was made`,
    code: "BACKUP_ALTERED",
    hint: "Put the original file back into SVC_BACKUP_DIR or the bucket"
  })

const changed = (where: string) =>
  new DumpFailed({
    code: "BACKUP_ALTERED",
    reason: `The file ${where} has changed since the backup was made: its SHA-256 is another`
  })

const unverified = (where: string) =>
  new DumpFailed({
    code: "BACKUP_UNVERIFIED",
    reason: `The file ${where} can't be verified: the backup was made without a digest. Put it into SVC_BACKUP_DIR if you trust it`
  })

/** Files of complete backups: in the directory, or else in the bucket. */
export const makeBackupSources = (records: BackupRecords) =>
  Effect.gen(function* () {
    const files = yield* BackupFiles
    const store = yield* ObjectStore

    const completed = Effect.fnUntraced(function* (id: BackupId) {
      const place = yield* records.place(id)
      return place.status === "completed" ? place : yield* notCompleted(id, place.status)
    })

    const inBucket = (place: BackupPlace, name: string, format: DumpFormat, bucket: string, key: string) => ({
      place,
      name,
      format,
      size: place.size,
      bytes: (range?: ByteRange) => store.read(bucket, key, range),
      local: (restore: number) =>
        Effect.gen(function* () {
          const fetched = partialFile(name, restore)
          yield* files.ready
          yield* Effect.addFinalizer(() => Effect.ignore(files.remove(fetched)))
          const where = `in the bucket ${bucket}`
          if (place.sha256 === null) return yield* unverified(where)
          const digest = makeDigest()
          yield* files.receive(fetched, digest.through(store.read(bucket, key)), place.size)
          return digest.value() === place.sha256 ? files.path(fetched) : yield* changed(where)
        }).pipe(
          Effect.mapError((failure) => {
            if (failure._tag === "DumpFailed") return failure
            const reason = failure._tag === "FileTrouble" ? failure.reason : failure.error
            return new DumpFailed({ reason: `Failed to read its copy in the bucket ${bucket}: ${reason}` })
          })
        )
    })

    /** The directory belongs to the service: a file without a digest, of an older version, is restored from there. */
    const verifiedHere = ({ sha256 }: BackupPlace, name: string) =>
      Effect.gen(function* () {
        if (sha256 !== null && (yield* digestOf(files.bytes(name))) !== sha256)
          return yield* changed("in SVC_BACKUP_DIR")
        return files.path(name)
      }).pipe(Effect.catchTag("FileTrouble", ({ reason }) => Effect.fail(new DumpFailed({ reason }))))

    /** 409 `BACKUP_NOT_COMPLETED`, 404 `BACKUP_FILE_MISSING`, 422 `BACKUP_ALTERED` for a file of another size. */
    const find = Effect.fn("BackupSources.find")(function* (id: BackupId) {
      const place = yield* completed(id)
      const { bucket, file, format, key, size } = place
      if (file === null || format === null) return yield* missing(id)
      const here = yield* files.size(file)
      if (here === size) {
        return {
          place,
          name: file,
          format,
          size,
          bytes: (range) => files.bytes(file, range),
          local: () => verifiedHere(place, file)
        } satisfies BackupSource
      }
      if (bucket === null || key === null) return yield* here === undefined ? missing(id) : altered(id)
      const object = yield* store.record(bucket, key).pipe(Effect.catchTag("NotFound", () => Effect.fail(missing(id))))
      return object.size === size ? inBucket(place, file, format, bucket, key) : yield* altered(id)
    })

    return {
      find,
      /** The place of a complete backup. 409 `BACKUP_NOT_COMPLETED`. */
      completed,
      /** The globals script of the backup. */
      globals: (id: BackupId) => Effect.map(completed(id), ({ globals }) => globals ?? "")
    }
  })

export type BackupSources = Effect.Success<ReturnType<typeof makeBackupSources>>
