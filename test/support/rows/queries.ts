import { assert } from "@effect/vitest"
import { Result } from "effect"
import { parseRows } from "../../../src/domain/rows/parse/Parser.ts"
import { type Field } from "../../../src/domain/rows/parse/Query.ts"

export type Pairs = ReadonlyArray<readonly [string, string]>
/** The query of `key=value` pairs; `refused` returns their error. */
export const parsed = (...pairs: Pairs) => Result.getOrThrow(parseRows(pairs))
export const refused = (...pairs: Pairs) => {
  const result = parseRows(pairs)
  return Result.isFailure(result) ? result.failure : assert.fail(`accepted: ${JSON.stringify(pairs)}`)
}
/** Parts of parsed queries, with defaults that `more` overrides. */
export const column = (name: string, ...json: Field["json"]): Field => ({ name, json })
export const shown = (name: string, more = {}) => ({
  _tag: "Field",
  field: column(name),
  alias: undefined,
  cast: undefined,
  aggregate: undefined,
  aggregateCast: undefined,
  ...more
})
export const embed = (relation: string, more = {}) => ({
  _tag: "Embed",
  relation,
  alias: undefined,
  hint: undefined,
  join: undefined,
  spread: false,
  select: [],
  ...more
})
export const compare = (name: string, operator: string, value: string, more = {}) => ({
  _tag: "Compare",
  negated: false,
  field: column(name),
  operator,
  quantifier: undefined,
  value,
  ...more
})
export const all = { _tag: "All" }
