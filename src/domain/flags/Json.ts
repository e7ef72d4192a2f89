import { type FlagProblem } from "./Problem.ts"
import { type JsonObject } from "../text/JsonObject.ts"

export type JsonPath = ReadonlyArray<string | number>

interface Frame {
  readonly value: JsonObject | ReadonlyArray<unknown>
  /** Undefined for an array. */
  readonly names: ReadonlyArray<string> | undefined
  at: number
}

/** How many values are right in it. */
const sizeOf = (value: unknown) =>
  Array.isArray(value) ? value.length : typeof value === "object" && value !== null ? Object.keys(value).length : 0

/**
 * Shows every value of parsed JSON to `enter`, parents first, with its level (the whole is 1) and its path. What
 * `enter` answers: whether to go into it, over it, or to stop altogether. Keeps no call stack, so any depth will do.
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
  /** Levels of arrays, objects and what is in them; a value that is neither is level 1. */
  readonly depth: number
  /** Values of any kind. */
  readonly nodes: number
  /** Whether it is stored: numbers that every client can hold, text that PostgreSQL can. */
  readonly stored: boolean
}

const isWhole = (text: string) => text.isWellFormed() && !text.includes("\0")

const faultOf = (value: unknown, stored: boolean): string | undefined => {
  if (typeof value === "number") {
    if (stored && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return "Expected a number within ±9007199254740991"
    return Number.isFinite(value) ? undefined : "Expected a smaller number"
  }
  if (!stored) return undefined
  if (typeof value === "string" && !isWhole(value)) return "Expected text without NUL and half surrogate pairs"
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  if (Object.hasOwn(value, "__proto__")) return "Expected no name `__proto__`"
  return Object.keys(value).every(isWhole) ? undefined : "Expected names without NUL and half surrogate pairs"
}

/**
 * What is wrong with parsed JSON whatever it means. Too deep or too many values: that alone, found without looking at
 * the rest, so that what comes after may call itself for each level.
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

/** Of an evaluation context, which is at most 64 levels deep. */
export const contextProblems = (context: JsonObject): ReadonlyArray<FlagProblem> =>
  jsonProblems(context, { depth: 64, nodes: Number.POSITIVE_INFINITY, stored: false })
