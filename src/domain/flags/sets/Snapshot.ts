import { type FlagHashing } from "../logic/Scope.ts"
import { type FlagEnvironment, flagEnvironments } from "../Environment.ts"
import { compileFlag, type FlagRow, type LoadedFlag, perEnvironment, segmentsIn } from "./CompiledFlags.ts"
import { type CompiledFlag, FlagSet } from "./Set.ts"
import { type JsonObject } from "../../text/JsonObject.ts"

/** The stored flags and segments, or those newer than a known revision. */
export interface FlagRows {
  readonly revision: number
  /** The revision of the newest deletion. */
  readonly deleted: number
  readonly revisions: Readonly<Record<FlagEnvironment, number>>
  readonly flags: ReadonlyArray<FlagRow>
  readonly segments: ReadonlyArray<{ readonly key: string; readonly rules: string }>
  /** Keys of all stored ones; undefined if none has been deleted. */
  readonly flagKeys: ReadonlyArray<string> | undefined
  readonly segmentKeys: ReadonlyArray<string> | undefined
}

export type FlagChangeKind = "write" | "update" | "delete"

/** The flag set of one environment after a change, and its new, changed and deleted flags, of which there may be none. */
export interface FlagSetChange {
  readonly environment: FlagEnvironment
  readonly set: FlagSet
  readonly flags: ReadonlyMap<string, FlagChangeKind>
}

interface LoadedSegment {
  readonly text: string
  readonly rules: JsonObject
  readonly uses: ReadonlyArray<string>
}

/** All flags and segments at one revision. Immutable; `advance` creates the next one. */
export class FlagSnapshot {
  readonly revision: number
  readonly sets: Readonly<Record<FlagEnvironment, FlagSet>>
  /** Flags in the order of their keys. */
  readonly #flags: ReadonlyMap<string, LoadedFlag>
  readonly #segments: ReadonlyMap<string, LoadedSegment>

  static readonly empty = new FlagSnapshot(
    -1,
    perEnvironment((environment) => new FlagSet(environment, 0, new Map())),
    new Map(),
    new Map()
  )

  private constructor(
    revision: number,
    sets: Readonly<Record<FlagEnvironment, FlagSet>>,
    flags: ReadonlyMap<string, LoadedFlag>,
    segments: ReadonlyMap<string, LoadedSegment>
  ) {
    this.revision = revision
    this.sets = sets
    this.#flags = flags
    this.#segments = segments
  }

  /**
   * The next snapshot, with the changes of the flag sets. Runs in short steps, so that the caller can yield to the event
   * loop in between.
   */
  *advance(
    rows: FlagRows,
    hashing: FlagHashing
  ): Generator<undefined, { readonly next: FlagSnapshot; readonly changes: ReadonlyArray<FlagSetChange> }> {
    const { changed, segments } = this.#advanceSegments(rows)
    const rules = new Map(Array.from(segments, ([key, { rules }]) => [key, rules]))
    const flags = new Map(this.#flags)
    const kinds = perEnvironment(() => new Map<string, FlagChangeKind>())

    const put = (row: FlagRow, loaded: LoadedFlag | undefined) => {
      const made = compileFlag(row, loaded, changed, rules, hashing)
      if (made === loaded) return
      flags.set(row.key, made)
      for (const environment of flagEnvironments) {
        if (made.compiled[environment] === loaded?.compiled[environment]) continue
        kinds[environment].set(row.key, loaded === undefined ? "write" : "update")
      }
    }

    const updated = new Set<string>()
    for (const row of rows.flags) {
      updated.add(row.key)
      put(row, this.#flags.get(row.key))
      yield
    }
    if (rows.flagKeys !== undefined) {
      const stored = new Set(rows.flagKeys)
      for (const key of this.#flags.keys()) {
        if (stored.has(key)) continue
        flags.delete(key)
        for (const environment of flagEnvironments) kinds[environment].set(key, "delete")
      }
      yield
    }
    if (changed.size > 0) {
      for (const [key, loaded] of this.#flags) {
        if (updated.has(key) || !flags.has(key)) continue
        put(loaded, loaded)
        yield
      }
    }

    const sameKeys = rows.flagKeys === undefined && flags.size === this.#flags.size
    const sorted = sameKeys ? flags : inOrder(flags)
    const changes: Array<FlagSetChange> = []
    for (const environment of flagEnvironments) {
      const [before, version] = [this.sets[environment], rows.revisions[environment]]
      if (kinds[environment].size === 0 && before.version === version) continue
      const compiled = sameKeys
        ? patched(before.flags, sorted, kinds[environment].keys(), environment)
        : new Map(Array.from(sorted, ([key, loaded]) => [key, loaded.compiled[environment]]))
      const set = new FlagSet(environment, version, compiled)
      changes.push({ environment, set, flags: kinds[environment] })
      yield
    }
    const set = new Map(changes.map((change) => [change.environment, change.set]))
    const sets = perEnvironment((environment) => set.get(environment) ?? this.sets[environment])
    return { next: new FlagSnapshot(rows.revision, sets, sorted, segments), changes }
  }

  /** `changed`: segments that are changed or deleted, and all that refer to one of them. */
  #advanceSegments(rows: FlagRows) {
    const segments = new Map(this.#segments)
    const changed = new Set<string>()
    for (const { key, rules: text } of rows.segments) {
      if (segments.get(key)?.text === text) continue
      const rules = JSON.parse(text) as JsonObject
      segments.set(key, { text, rules, uses: segmentsIn(text, rules) })
      changed.add(key)
    }
    if (rows.segmentKeys !== undefined) {
      const stored = new Set(rows.segmentKeys)
      for (const key of this.#segments.keys()) {
        if (stored.has(key)) continue
        segments.delete(key)
        changed.add(key)
      }
    }
    // The iteration of a Set includes elements that are added during it.
    for (const key of changed) {
      for (const [other, { uses }] of segments) if (uses.includes(key)) changed.add(other)
    }
    return { segments, changed }
  }
}

/** The flags of a set, with those of `keys` replaced. */
const patched = (
  before: ReadonlyMap<string, CompiledFlag>,
  flags: ReadonlyMap<string, LoadedFlag>,
  keys: Iterable<string>,
  environment: FlagEnvironment
) => {
  const after = new Map(before)
  for (const key of keys) {
    const loaded = flags.get(key)
    if (loaded !== undefined) after.set(key, loaded.compiled[environment])
  }
  return after
}

const inOrder = (flags: ReadonlyMap<string, LoadedFlag>) =>
  new Map(Array.from(flags).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
