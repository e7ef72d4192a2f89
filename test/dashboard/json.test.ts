import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { restoreSteps, type Version } from "../../dashboard/src/flags/versions.ts"
import type { Flag } from "../../dashboard/src/flags/queries.ts"
import { allowsBrowser, ruleFor } from "../../dashboard/src/storage/queries.ts"
import { diffLines } from "../../dashboard/src/ui/json/diff.ts"
import { parseObject, prettyJson } from "../../dashboard/src/ui/json/json.ts"

describe("JSON in an editor", () => {
  it("is the same value after it was written and read", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        assert.strictEqual(JSON.stringify(JSON.parse(prettyJson(value))), JSON.stringify(value))
      })
    )
  })

  it("must be an object", () => {
    for (const text of ["", "[]", "1", "null", "{"]) assert.property(parseObject(text), "problem", text)
    assert.deepStrictEqual(parseObject('{"a": 1}'), { value: { a: 1 } })
  })
})

describe("a diff", () => {
  it("contains both texts, in their order", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 30 }).map((lines) => lines.join("\n"))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        const without = (sign: string) => lines.filter((line) => line.sign !== sign).map((line) => line.text)
        assert.strictEqual(without("+").join("\n"), before)
        assert.strictEqual(without("-").join("\n"), after)
        if (before === after) assert.isTrue(lines.every(({ sign }) => sign === " "))
      })
    )
  })

  it("of very long texts takes no time", () => {
    // To compare each line with each other one would take minutes.
    const lines = Array.from({ length: 200_000 }, (_, at) => String(at))
    const begun = performance.now()
    diffLines(lines.join("\n"), lines.toReversed().join("\n"))
    assert.isBelow(performance.now() - begun, 10_000)
  })
})

describe("reverting a flag", () => {
  const each = { state: "ENABLED", targeting: {}, defaultVariant: "off" } as const
  const evaluated = { ...each, last_evaluated_at: null }
  const now: Flag = {
    key: "f",
    type: "boolean",
    description: null,
    variants: { on: true, off: false },
    ...evaluated,
    environment: "production",
    environments: { dev: evaluated, staging: evaluated, production: evaluated },
    revision: 3,
    created_at: "",
    updated_at: ""
  }
  const old: Version = {
    description: "old",
    variants: { yes: true, off: false },
    environments: { dev: { ...each, defaultVariant: "yes" }, staging: { ...each, state: "DISABLED" }, production: each }
  }

  it("changes only the environments that differ, and drops a variant last", () => {
    const steps = restoreSteps(now, old)
    assert.deepStrictEqual(
      steps.map(({ environment, payload }) => [environment, Object.keys(payload.variants)]),
      [
        ["dev", ["on", "off", "yes"]],
        ["staging", ["yes", "off"]]
      ]
    )
    assert.isTrue(steps.every(({ payload }) => payload.description === "old"))
  })

  it("needs one request for what all environments share, and none for what is the same", () => {
    assert.lengthOf(restoreSteps(now, { ...now, description: "old" }), 1)
    assert.lengthOf(restoreSteps(now, now), 0)
  })
})

describe("CORS rules", () => {
  const origin = "https://svc.example.com"
  it("allow this page by its own rule, and by a pattern", () => {
    assert.isTrue(allowsBrowser([ruleFor(origin)], origin))
    assert.isTrue(allowsBrowser([{ ...ruleFor(origin), AllowedOrigins: ["https://*.example.com"] }], origin))
  })

  it("do not allow it if the first rule that matches allows less", () => {
    assert.isFalse(allowsBrowser([], origin))
    assert.isFalse(allowsBrowser([ruleFor("https://other.example.com")], origin))
    assert.isFalse(allowsBrowser([{ AllowedOrigins: ["*"], AllowedMethods: ["GET"] }], origin))
    assert.isFalse(allowsBrowser([{ AllowedOrigins: ["*"], AllowedMethods: ["GET", "PUT"] }, ruleFor(origin)], origin))
  })
})
