import { type FlagHashing } from "../logic/Scope.ts"
import { type FlagEnvironment, flagEnvironments } from "../Environment.ts"
import { compileFlag, type FlagRow, type HeldFlag, perEnvironment, segmentsIn } from "./CompiledFlags.ts"
import { type CompiledFlag, FlagSet } from "./Set.ts"
import { type JsonObject } from "../../text/JsonObject.ts"

/** What is stored, or the part of it that is newer than what is known. */
export interface FlagRows {
  readonly revision: number
  /** The revision of the newest deletion. */
  readonly deleted: number
  readonly revisions: Readonly<Record<FlagEnvironment, number>>
  readonly flags: ReadonlyArray<FlagRow>
  readonly segments: ReadonlyArray<{ readonly key: string; readonly rules: string }>
  /** Keys of all that there are; undefined: those known, and these. */
  readonly flagKeys: ReadonlyArray<string> | undefined
  readonly segmentKeys: ReadonlyArray<string> | undefined
}

export type FlagChangeKind = "write" | "update" | "delete"

/** One environment's flag set after a change, and what of it is new, other or gone. Maybe nothing but its version. */
export interface FlagSetChange {
  readonly environment: FlagEnvironment
  readonly set: FlagSet
  readonly flags: ReadonlyMap<string, FlagChangeKind>
}

interface HeldSegment {
  readonly text: string
  readonly rules: JsonObject
  readonly uses: ReadonlyArray<string>
}

/** Everything that is evaluated, at one revision. Never changes; `advance` makes the next one of it. */
export class FlagSnapshot {
  readonly revision: number
  readonly sets: Readonly<Record<FlagEnvironment, FlagSet>>
  /** In order of the keys. */
  readonly #flags: ReadonlyMap<string, HeldFlag>
  readonly #segments: ReadonlyMap<string, HeldSegment>

  static readonly empty = new FlagSnapshot(
    -1,
    perEnvironment((environment) => new FlagSet(environment, 0, new Map())),
    new Map(),
    new Map()
  )

  private constructor(
    revision: number,
    sets: Readonly<Record<FlagEnvironment, FlagSet>>,
    flags: ReadonlyMap<string, HeldFlag>,
    segments: ReadonlyMap<string, HeldSegment>
  ) {
    this.revision = revision
    this.sets = sets
    this.#flags = flags
    this.#segments = segments
  }

  /**
   * The snapshot after these rows, and what changed in the flag sets. In steps, each short, so that who runs it can do
   * something else in between; nothing is changed until it is done.
   */
  *advance(
    rows: FlagRows,
    hashing: FlagHashing
  ): Generator<undefined, { readonly next: FlagSnapshot; readonly changes: ReadonlyArray<FlagSetChange> }> {
    const { changed, segments } = this.#advanceSegments(rows)
    const rules = new Map(Array.from(segments, ([key, { rules }]) => [key, rules]))
    const flags = new Map(this.#flags)
    const kinds = perEnvironment(() => new Map<string, FlagChangeKind>())

    const put = (row: FlagRow, held: HeldFlag | undefined) => {
      const made = compileFlag(row, held, changed, rules, hashing)
      if (made === held) return
      flags.set(row.key, made)
      for (const environment of flagEnvironments) {
        if (made.compiled[environment] === held?.compiled[environment]) continue
        kinds[environment].set(row.key, held === undefined ? "write" : "update")
      }
    }

    const given = new Set<string>()
    for (const row of rows.flags) {
      given.add(row.key)
      put(row, this.#flags.get(row.key))
      yield
    }
    if (rows.flagKeys !== undefined) {
      const there = new Set(rows.flagKeys)
      for (const key of this.#flags.keys()) {
        if (there.has(key)) continue
        flags.delete(key)
        for (const environment of flagEnvironments) kinds[environment].set(key, "delete")
      }
      yield
    }
    if (changed.size > 0) {
      for (const [key, held] of this.#flags) {
        if (given.has(key) || !flags.has(key)) continue
        put(held, held)
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
        : new Map(Array.from(sorted, ([key, held]) => [key, held.compiled[environment]]))
      const set = new FlagSet(environment, version, compiled)
      changes.push({ environment, set, flags: kinds[environment] })
      yield
    }
    const set = new Map(changes.map((change) => [change.environment, change.set]))
    const sets = perEnvironment((environment) => set.get(environment) ?? this.sets[environment])
    return { next: new FlagSnapshot(rows.revision, sets, sorted, segments), changes }
  }

  /** `changed` are those that are other or gone, and all that refer to one of them. */
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
      const there = new Set(rows.segmentKeys)
      for (const key of this.#segments.keys()) {
        if (there.has(key)) continue
        segments.delete(key)
        changed.add(key)
      }
    }
    // A set is walked in the order it grows in: what is added here is looked at too.
    for (const key of changed) {
      for (const [other, { uses }] of segments) if (uses.includes(key)) changed.add(other)
    }
    return { segments, changed }
  }
}

/** A set's flags with those of the keys as they are now. */
const patched = (
  before: ReadonlyMap<string, CompiledFlag>,
  flags: ReadonlyMap<string, HeldFlag>,
  keys: Iterable<string>,
  environment: FlagEnvironment
) => {
  const after = new Map(before)
  for (const key of keys) {
    const held = flags.get(key)
    if (held !== undefined) after.set(key, held.compiled[environment])
  }
  return after
}

const inOrder = (flags: ReadonlyMap<string, HeldFlag>) =>
  new Map(Array.from(flags).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
