import { Context, Data, type Effect, type Stream } from "effect"
import { type Unavailable } from "../../domain/errors.ts"

/** Bytes of a file from `first` to `last`, both counted from 0 and inclusive. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

/** A file operation failed; `reason` is for users. */
export class FileTrouble extends Data.TaggedError("FileTrouble")<{ readonly reason: string }> {}

/** Port: the backup directory. Real layer: layers/dumps/BackupDirectory.ts, on SVC_BACKUP_DIR. */
export class BackupFiles extends Context.Service<
  BackupFiles,
  {
    /**
     * Creates the directory if necessary, readable by the service alone. 503 `BACKUP_DIR_UNUSABLE`; `BACKUP_NO_SPACE` when
     * too little space is free.
     */
    readonly ready: Effect.Effect<void, Unavailable>
    /** Absolute. */
    readonly path: (name: string) => string
    /** The size in bytes; undefined if the file does not exist. */
    readonly size: (name: string) => Effect.Effect<number | undefined>
    /** All names; empty without a directory. */
    readonly list: Effect.Effect<ReadonlyArray<string>>
    /** Writes a file atomically, synced and readable by the service alone. */
    readonly write: (name: string, content: string | Uint8Array) => Effect.Effect<void, FileTrouble>
    /** Leaves no file unless exactly `size` bytes arrive. */
    readonly receive: <E>(
      name: string,
      bytes: Stream.Stream<Uint8Array, E>,
      size: number
    ) => Effect.Effect<void, FileTrouble | E>
    /** False when the file did not exist. */
    readonly remove: (name: string) => Effect.Effect<boolean, FileTrouble>
    /** The whole file without a range. */
    readonly bytes: (name: string, range?: ByteRange) => Stream.Stream<Uint8Array, FileTrouble>
  }
>()("svc/services/BackupFiles") {}
