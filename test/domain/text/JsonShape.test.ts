import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { jsonExcess } from "../../../src/domain/text/JsonShape.ts"
import { holds } from "../../support/properties.ts"

const shapeOf = (value: unknown): { depth: number; keys: number; values: number } => {
  if (typeof value !== "object" || value === null) return { depth: 0, keys: 0, values: 0 }
  const inner = Object.values(value).map(shapeOf)
  const keys = Array.isArray(value) ? 0 : Object.keys(value).length
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    keys: keys + inner.reduce((sum, { keys }) => sum + keys, 0),
    // An empty array or object counts as one.
    values: Math.max(1, inner.length) + inner.reduce((sum, { values }) => sum + values, 0)
  }
}

it.effect("the shape of any JSON text is that of its value, whatever its texts contain", () =>
  holds(fc.json({ maxDepth: 12 }), (text) =>
    Effect.sync(() => {
      const bytes = Buffer.from(text)
      const exact = shapeOf(JSON.parse(text))
      const { depth, keys, values } = exact
      assert.isUndefined(jsonExcess(bytes, exact))
      if (depth > 0) assert.include(jsonExcess(bytes, { ...exact, depth: depth - 1 })?.error, "levels of nesting")
      if (keys > 0) assert.isDefined(jsonExcess(bytes, { ...exact, keys: keys - 1 }))
      if (values > 0) assert.isDefined(jsonExcess(bytes, { ...exact, values: values - 1 }))
    })
  )
)

it("invalid text is not its question, and ends it", () => {
  for (const text of ['"', '"\\', '{"a":"\\', "]]]]", "{", "", "\u0000"])
    assert.isUndefined(jsonExcess(Buffer.from(text), { depth: 3, keys: 3, values: 3 }))
  assert.isDefined(jsonExcess(Buffer.from("[".repeat(500_000)), { depth: 80, keys: 3, values: 100_000 }))
})
