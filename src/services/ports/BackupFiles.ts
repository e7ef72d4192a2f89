import { Context, Data, type Effect, type Stream } from "effect"
import { type Unavailable } from "../../domain/errors.ts"

/** Bytes of a file from `first` to `last`, both counted from 0 and both in it. */
export interface ByteRange {
  readonly first: number
  readonly last: number
}

/** The disk did not do it; `reason` is for people. */
export class FileTrouble extends Data.TaggedError("FileTrouble")<{ readonly reason: string }> {}

/** Port: the directory of backups. Real layer: layers/BackupDirectory.ts, on SVC_BACKUP_DIR. */
export class BackupFiles extends Context.Service<
  BackupFiles,
  {
    /**
     * Makes the directory if need be, for us alone. 503 `BACKUP_DIR_UNUSABLE`; `BACKUP_NO_SPACE` when less than a floor is
     * free in it.
     */
    readonly ready: Effect.Effect<void, Unavailable>
    /** Absolute. */
    readonly path: (name: string) => string
    /** Bytes of a file that is there. */
    readonly size: (name: string) => Effect.Effect<number | undefined>
    /** All names; none when there is no directory. */
    readonly list: Effect.Effect<ReadonlyArray<string>>
    /** Whole, synced, readable by us alone. */
    readonly write: (name: string, text: string) => Effect.Effect<void, FileTrouble>
    /** Whole and synced, or not there; the bytes must be as many as said. */
    readonly receive: <E>(
      name: string,
      bytes: Stream.Stream<Uint8Array, E>,
      size: number
    ) => Effect.Effect<void, FileTrouble | E>
    /** A file that is not there is as good as removed; false then. */
    readonly remove: (name: string) => Effect.Effect<boolean, FileTrouble>
    /** All of it without a range. */
    readonly bytes: (name: string, range?: ByteRange) => Stream.Stream<Uint8Array, FileTrouble>
  }
>()("svc/services/BackupFiles") {}
