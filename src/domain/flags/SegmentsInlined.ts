import { walkJson } from "./Json.ts"
import { isJsonObject } from "../text/JsonObject.ts"
import { utf8Length } from "../text/Utf8.ts"

const bytesOf = (value: unknown) => utf8Length(JSON.stringify(value))

/** The key in `{"$ref": "<segment key>"}`; undefined for other values. */
export const referenceIn = (value: unknown): string | undefined => {
  if (!isJsonObject(value) || typeof value["$ref"] !== "string") return undefined
  return Object.keys(value).length === 1 ? value["$ref"] : undefined
}

const isEmpty = (rule: unknown) => isJsonObject(rule) && Object.keys(rule).length === 0

/** The size of a rule without the segments that it refers to. */
interface Own {
  readonly nodes: number
  readonly bytes: number
  readonly depth: number
  /** The number of references to each segment, and the deepest level of one. */
  readonly references: ReadonlyMap<string, { readonly count: number; readonly level: number }>
}

const measured = (rule: unknown): Own => {
  const references = new Map<string, { count: number; level: number }>()
  let nodes = 0
  let depth = 0
  let bytes = bytesOf(rule)
  walkJson(rule, (value, level) => {
    const key = referenceIn(value)
    if (key === undefined) {
      nodes += 1
      depth = Math.max(depth, level)
      return "into"
    }
    const before = references.get(key)
    references.set(key, { count: (before?.count ?? 0) + 1, level: Math.max(before?.level ?? 0, level) })
    bytes -= bytesOf(value)
    return "over"
  })
  return { nodes, bytes, depth, references }
}

/** Keys of the segments that a rule refers to directly, each once. */
export const segmentsUsedBy = (rule: unknown): ReadonlyArray<string> => {
  const keys = new Set<string>()
  walkJson(rule, (value) => {
    const key = referenceIn(value)
    if (key === undefined) return "into"
    keys.add(key)
    return "over"
  })
  return Array.from(keys)
}

/** The size of a rule with its segments inlined: values, bytes of JSON text, levels, and levels of nested segments. */
export interface InlinedSize {
  readonly nodes: number
  readonly bytes: number
  readonly depth: number
  readonly segments: number
}

/** A segment without a rule is inlined as `false`: it matches no user. */
const noUser = false

/**
 * The rules of all segments, with their sizes and inlined forms, each of which is computed once on demand. `rules` must
 * not change afterwards.
 */
export class FlagSegmentsInlined {
  readonly rules: ReadonlyMap<string, unknown>
  readonly #own = new Map<string, Own>()
  readonly #sizes = new Map<string, InlinedSize>()
  readonly #inlined = new Map<string, unknown>()

  constructor(rules: ReadonlyMap<string, unknown>) {
    this.rules = rules
  }

  #ownOf(key: string): Own {
    const known = this.#own.get(key)
    if (known !== undefined) return known
    const rule = this.rules.get(key)
    const own = measured(isEmpty(rule) || rule === undefined ? noUser : rule)
    this.#own.set(key, own)
    return own
  }

  /** Calls `leave` with all segments reachable from `keys`, in post-order. Returns the first cycle. */
  #visit(keys: Iterable<string>, leave: (key: string) => void): ReadonlyArray<string> | undefined {
    const done = new Set<string>()
    const open: Array<{ readonly key: string; readonly rest: Iterator<string> }> = []
    const root = { key: "", rest: keys[Symbol.iterator]() }
    for (;;) {
      const last = open.at(-1) ?? root
      const { done: isDone, value: key } = last.rest.next()
      if (isDone === true) {
        if (last === root) return undefined
        done.add(last.key)
        leave(last.key)
        open.pop()
        continue
      }
      if (done.has(key) || !this.rules.has(key)) continue
      const from = open.findIndex((entry) => entry.key === key)
      if (from >= 0) return [...open.slice(from).map((entry) => entry.key), key]
      open.push({ key, rest: this.#ownOf(key).references.keys() })
    }
  }

  /** A cycle of segments that is reachable from the rule, with the first one again at the end; undefined if there is none. */
  cycleFrom(rule: unknown): ReadonlyArray<string> | undefined {
    return this.#visit(segmentsUsedBy(rule), () => {})
  }

  /** All segments that use this one, directly or not. */
  usersOf(key: string): ReadonlySet<string> {
    const direct = new Map<string, Array<string>>()
    for (const user of this.rules.keys()) {
      for (const used of this.#ownOf(user).references.keys()) {
        const known = direct.get(used)
        if (known === undefined) direct.set(used, [user])
        else known.push(user)
      }
    }
    const users = new Set<string>()
    for (const next = [key]; next.length > 0;) {
      for (const user of direct.get(next.pop() as string) ?? []) {
        if (users.has(user)) continue
        users.add(user)
        next.push(user)
      }
    }
    return users
  }

  #sum(own: Own): InlinedSize {
    let { nodes, bytes, depth } = own
    let segments = 0
    for (const [key, { count, level }] of own.references) {
      const size = this.#sizes.get(key)
      // A reference to a missing segment is not inlined.
      nodes += count * (size?.nodes ?? 2)
      bytes += count * (size?.bytes ?? bytesOf({ $ref: key }))
      depth = Math.max(depth, level - 1 + (size?.depth ?? 2))
      segments = Math.max(segments, 1 + (size?.segments ?? 0))
    }
    return { nodes, bytes, depth, segments }
  }

  /** The inlined size, computed without inlining, because nesting can double it at each level. Not for cycles. */
  sizeOf(rule: unknown): InlinedSize {
    this.#visit(segmentsUsedBy(rule), (key) => {
      if (!this.#sizes.has(key)) this.#sizes.set(key, this.#sum(this.#ownOf(key)))
    })
    return this.#sum(measured(rule))
  }

  /**
   * The rule with its segments inlined at any depth; a segment without a rule is `false`. A reference to a missing or
   * cyclic segment stays, and no engine can evaluate it. The result shares parts with `rules` and must not change.
   */
  inline(rule: unknown): unknown {
    const keys = segmentsUsedBy(rule)
    if (keys.length === 0) return rule
    this.#visit(keys, (key) => {
      if (this.#inlined.has(key)) return
      const own = this.rules.get(key)
      this.#inlined.set(key, isEmpty(own) ? noUser : this.#filled(own))
    })
    return this.#filled(rule)
  }

  #filled(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value
    if (Array.isArray(value)) return value.map((element) => this.#filled(element))
    const key = referenceIn(value)
    if (key !== undefined && this.#inlined.has(key)) return this.#inlined.get(key)
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, this.#filled(inner)]))
  }
}

const cache = new WeakMap<ReadonlyMap<string, unknown>, FlagSegmentsInlined>()

/** The inlined segments, cached with the map `segments`, which must not change afterwards. */
export const segmentsInlined = (segments: ReadonlyMap<string, unknown>): FlagSegmentsInlined => {
  const known = cache.get(segments) ?? new FlagSegmentsInlined(segments)
  cache.set(segments, known)
  return known
}

/** See `FlagSegmentsInlined.inline`. */
export const inlineSegments = (rule: unknown, segments: ReadonlyMap<string, unknown>): unknown =>
  segmentsInlined(segments).inline(rule)
