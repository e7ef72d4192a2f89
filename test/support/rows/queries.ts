import { assert } from "@effect/vitest"
import { Result } from "effect"
import { parseRows } from "../../../src/domain/rows/parse/Parser.ts"
import { type Field } from "../../../src/domain/rows/parse/Query.ts"

export type Pairs = ReadonlyArray<readonly [string, string]>
/** The query of `key=value` pairs, or the error that refuses them. */
export const parsed = (...pairs: Pairs) => Result.getOrThrow(parseRows(pairs))
export const refused = (...pairs: Pairs) => {
  const result = parseRows(pairs)
  return Result.isFailure(result) ? result.failure : assert.fail(`read: ${JSON.stringify(pairs)}`)
}
/** Parts of queries as the parser gives them, with what a test says of them. */
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
