import { type FlagProblem } from "./Problem.ts"
import { type JsonObject } from "../text/JsonObject.ts"

export type JsonPath = ReadonlyArray<string | number>

interface Frame {
  readonly value: JsonObject | ReadonlyArray<unknown>
  /** Undefined for an array. */
  readonly names: ReadonlyArray<string> | undefined
  at: number
}

/** The number of values directly in an array or object; 0 for other values. */
const sizeOf = (value: unknown) =>
  Array.isArray(value) ? value.length : typeof value === "object" && value !== null ? Object.keys(value).length : 0

/**
 * Calls `enter` for every value of parsed JSON, parents first, with its level (the root is 1) and its path. The result
 * of `enter` determines whether to visit the children, to skip them, or to stop. Does not recurse, so any depth works.
 */
export const walkJson = (
  root: unknown,
  enter: (value: unknown, level: number, path: () => JsonPath) => "into" | "over" | "stop"
): void => {
  const frames: Array<Frame> = []
  const path = () => frames.map(({ at, names }) => (names === undefined ? at : (names[at] as string)))
  let value = root
  for (;;) {
    const answer = enter(value, frames.length + 1, path)
    if (answer === "stop") return
    if (answer === "into" && typeof value === "object" && value !== null) {
      frames.push(
        Array.isArray(value)
          ? { value, names: undefined, at: -1 }
          : { value: value as JsonObject, names: Object.keys(value), at: -1 }
      )
    }
    for (;;) {
      const frame = frames.at(-1)
      if (frame === undefined) return
      if (++frame.at < (frame.names?.length ?? sizeOf(frame.value))) {
        value =
          frame.names === undefined
            ? (frame.value as ReadonlyArray<unknown>)[frame.at]
            : (frame.value as JsonObject)[frame.names[frame.at] as string]
        break
      }
      frames.pop()
    }
  }
}

export interface JsonLimits {
  /** Levels of nesting; a single value has 1. */
  readonly depth: number
  /** Number of values of any kind. */
  readonly nodes: number
  /** Whether the value is stored: numbers must be exact in every client, and PostgreSQL must accept the text. */
  readonly stored: boolean
}

const isStorableText = (text: string) => text.isWellFormed() && !text.includes("\0")

const faultOf = (value: unknown, stored: boolean): string | undefined => {
  if (typeof value === "number") {
    if (stored && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return "Expected a number within ±9007199254740991"
    return Number.isFinite(value) ? undefined : "Expected a smaller number"
  }
  if (!stored) return undefined
  if (typeof value === "string" && !isStorableText(value)) return "Expected text without NUL and unpaired surrogates"
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  if (Object.hasOwn(value, "__proto__")) return "Expected a name other than `__proto__`"
  return Object.keys(value).every(isStorableText) ? undefined : "Expected names without NUL and unpaired surrogates"
}

/**
 * Problems of parsed JSON, whatever its meaning. If it exceeds a limit, that is the only problem, so that later checks may
 * recurse.
 */
export const jsonProblems = (root: unknown, limits: JsonLimits): ReadonlyArray<FlagProblem> => {
  const problems: Array<FlagProblem> = []
  let nodes = 1
  let excess: string | undefined
  walkJson(root, (value, level, path) => {
    if (level > limits.depth) excess = `Expected at most ${limits.depth} levels of nesting`
    else if ((nodes += sizeOf(value)) > limits.nodes) excess = `Expected at most ${limits.nodes} values`
    if (excess !== undefined) return "stop"
    const problem = faultOf(value, limits.stored)
    if (problem !== undefined) problems.push({ path: path(), problem })
    return "into"
  })
  return excess === undefined ? problems : [{ path: [], problem: excess }]
}

/** Problems of an evaluation context, which may have 64 levels. */
export const contextProblems = (context: JsonObject): ReadonlyArray<FlagProblem> =>
  jsonProblems(context, { depth: 64, nodes: Number.POSITIVE_INFINITY, stored: false })
