import { Data, type Effect } from "effect"

/** The place of an archive failed, or it does not hold what it should; `reason` is for operators. */
export class ArchiveTrouble extends Data.TaggedError("ArchiveTrouble")<{ readonly reason: string }> {}

/**
 * Objects of an archive, of at most some MiB each. Names are relative paths of letters, digits and `-._/`. Two layers:
 * a directory, and a bucket.
 */
export interface ArchiveStore {
  /** Where it is, for operators. */
  readonly place: string
  /** How often a writer looks for others, in ms: each look at a bucket is a request that may cost money. */
  readonly lookEvery: number
  /** Replaces the object. Durable when it returns; a failure leaves the former object or the new one. */
  readonly put: (name: string, bytes: Uint8Array) => Effect.Effect<void, ArchiveTrouble>
  /** Undefined if there is no such object. */
  readonly get: (name: string) => Effect.Effect<Buffer | undefined, ArchiveTrouble>
  /** All names that begin with the prefix, sorted. */
  readonly list: (prefix: string) => Effect.Effect<ReadonlyArray<string>, ArchiveTrouble>
  /** Succeeds for objects that are not there. */
  readonly remove: (names: ReadonlyArray<string>) => Effect.Effect<void, ArchiveTrouble>
}
