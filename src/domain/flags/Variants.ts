import { type FlagType } from "./Flag.ts"
import { jsonProblems } from "./Json.ts"
import { type FlagProblem } from "./Problem.ts"
import { isJsonObject, type JsonObject } from "../text/JsonObject.ts"

const most = 100

/** protobuf readers stop at 100 messages within each other; a level of JSON takes three. */
const limits = { depth: 32, nodes: 10_000, stored: true }

const isOf: Readonly<Record<FlagType, (value: unknown) => boolean>> = {
  boolean: (value) => typeof value === "boolean",
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  object: isJsonObject
}

const nameFault = (name: string): string | undefined => {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name)) {
    return "Expected a name of 1–64 letters, digits, `.`, `_` and `-`"
  }
  return name === "__proto__" ? "Expected another name" : undefined
}

/** What is wrong with the variants of a flag of this type: name and value, 1–100 of them. */
export const variantProblems = (type: FlagType, variants: JsonObject): ReadonlyArray<FlagProblem> => {
  const given = Object.entries(variants)
  if (given.length === 0 || given.length > most) {
    return [{ path: [], problem: `Expected 1–${most} variants, not ${given.length}` }]
  }
  return given.flatMap(([name, value]) => {
    const fault = nameFault(name) ?? (isOf[type](value) ? undefined : `Expected ${type}, the flag's type`)
    if (fault !== undefined) return [{ path: [name], problem: fault }]
    return jsonProblems(value, limits).map(({ path, problem }) => ({ path: [name, ...path], problem }))
  })
}
