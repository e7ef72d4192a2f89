import { Context, Data, type Effect, type Scope } from "effect"
import { type BaseBackup } from "../../../domain/recovery/Archive.ts"
import { type NotImplemented, type Unavailable, type Unprocessable } from "../../../domain/errors.ts"
import { type DumpFailed, type DumpFormat, type OnProgress } from "../DumpTools.ts"

/** What the archive has. Times are in ms since 1970, by PostgreSQL's clock. */
export interface ArchiveState {
  /** The directory or the bucket. */
  readonly place: string
  /** Whether it is on the disk of the data directory; null: not known. */
  readonly sameDisk: boolean | null
  /** By their beginning. */
  readonly bases: ReadonlyArray<BaseBackup>
  /** The spans of time that a restore can have, the earliest first. */
  readonly spans: ReadonlyArray<{ readonly from: number; readonly to: number }>
  readonly now: number
  /** Whether a process archives the log now. */
  readonly active: boolean
  /** Bytes of log that PostgreSQL keeps because the archive does not have them. */
  readonly retained: number
  /** Bytes from which PostgreSQL drops log that is not archived; undefined: never. */
  readonly limit: number | undefined
  /** Why this process does not archive. */
  readonly problem: string | undefined
  /** Until when the objects of the embedded store are archived; undefined if there is no such store or its objects are not archived. */
  readonly objects: { readonly until: number | undefined; readonly problem: string | undefined } | undefined
  /** When a person proved that the recovery key was kept, as ISO 8601. */
  readonly recoveryKey: { readonly made: boolean; readonly keptAt: string | null }
}

/** The database as it was, in a file for `DumpTools`. */
export type DumpThen = (
  file: string,
  onProgress: OnProgress
) => Effect.Effect<DumpFormat, DumpFailed | Unavailable, Scope.Scope>

/** A restore of the archive does not have what it should; `reason` is for operators. */
export class DrillFailed extends Data.TaggedError("DrillFailed")<{ readonly reason: string }> {}

/** Port: the archive of the write-ahead log. Real layer: layers/recovery/layer.ts. */
export class LogArchive extends Context.Service<
  LogArchive,
  {
    /** 501 `PITR_NOT_CONFIGURED` without SVC_PITR. */
    readonly state: Effect.Effect<ArchiveState, NotImplemented | Unavailable>
    /**
     * Prepares a recovery to a time in ms since 1970. 422 `TARGET_TIME_OUTSIDE` if the archive does not have it; 503 if
     * there is no program or no space for it.
     */
    readonly recovery: (target: number) => Effect.Effect<DumpThen, NotImplemented | Unprocessable | Unavailable>
    /** Fails without SVC_PITR. */
    readonly configured: Effect.Effect<void, NotImplemented>
    /**
     * Restores the cluster as of a time into a temporary one, reads all of it, checks that the drill of this id is there and a
     * sample of the objects, and removes it. Slow, because it leaves most of the time to others.
     */
    readonly drill: (
      target: number,
      id: number
    ) => Effect.Effect<
      { readonly tables: number; readonly rows: number },
      DrillFailed | NotImplemented | Unprocessable | Unavailable
    >
    /** Makes a recovery key in place of the last one, and gives it: it is stored nowhere. */
    readonly makeRecoveryKey: Effect.Effect<string, NotImplemented | Unavailable>
    /** Records that the recovery key was kept. 422 `RECOVERY_KEY_WRONG` if it is another one. */
    readonly confirmRecoveryKey: (key: string) => Effect.Effect<void, NotImplemented | Unprocessable | Unavailable>
  }
>()("svc/services/LogArchive") {}
