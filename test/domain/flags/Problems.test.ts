import { assert, describe, it } from "vitest"
import { type FlagType } from "../../../src/domain/flags/Flag.ts"
import { type FlagEnvironment } from "../../../src/domain/flags/Environment.ts"
import { problemLines } from "../../../src/domain/flags/Problem.ts"
import { flagProblems, segmentProblems } from "../../../src/domain/flags/Problems.ts"
import { type JsonObject } from "../../../src/domain/text/JsonObject.ts"

const segments = new Map<string, JsonObject>([
  ["beta", { ends_with: [{ var: "email" }, "@example.com"] }],
  ["europe", { in: [{ var: "country" }, ["DE", "FR"]] }],
  ["both", { and: [{ $ref: "beta" }, { $ref: "europe" }] }],
  ["tier", { if: [{ $ref: "beta" }, "gold", "silver"] }],
  ["list", { missing: ["email"] }],
  ["nobody", {}]
])

const at = (targeting: JsonObject, defaultVariant = "off") => ({ state: "ENABLED" as const, targeting, defaultVariant })
const everywhere = (targeting: JsonObject, defaultVariant?: string) => {
  const each = at(targeting, defaultVariant)
  return { dev: each, staging: each, production: each }
}
const onOff = { on: true, off: false }

interface Given {
  readonly type?: FlagType
  readonly variants?: JsonObject
  readonly environments?: Readonly<Record<FlagEnvironment, ReturnType<typeof at>>>
}
const flag = ({ type = "boolean", variants = onOff, environments = everywhere({}) }: Given) => ({
  type,
  variants,
  environments
})
const lines = (given: Given, selected?: FlagEnvironment) => problemLines(flagProblems(flag(given), segments, selected))
const ruleLines = (targeting: JsonObject, variants: JsonObject = onOff) =>
  lines({ variants, environments: everywhere(targeting, Object.keys(variants)[0]) })

describe("outcomes that are variants", () => {
  it.each<[JsonObject]>([
    [{ if: [{ $ref: "both" }, "on", "off"] }],
    [{ if: [true, "on", null] }],
    [{ or: [{ var: "variant" }, "on"] }],
    [{ or: [{ and: [{ var: "x" }, "on"] }, "off"] }],
    [{ or: [null, false, 0, "", "on"] }],
    [{ and: [true, 5, "nope", "on"] }],
    [{ if: [{ or: ["nope", 5] }, "on"] }],
    [{ var: "variant" }],
    [{ var: ["variant", "off"] }],
    [{ cat: ["o", { var: "tail" }] }],
    [{ substr: ["only", 0, 2] }],
    [{ "+": [1, { var: "x" }] }],
    [{ reduce: [{ var: "list" }, { var: "current" }, "on"] }],
    [
      {
        fractional: [
          ["on", 10],
          [{ if: [{ var: "x" }, "off", null] }, 90]
        ]
      }
    ]
  ])("%j", (rule) => assert.deepStrictEqual(ruleLines(rule), []))

  it("are true, false and numbers where variants have these names", () => {
    assert.deepStrictEqual(ruleLines({ $ref: "both" }, { true: true, false: false }), [])
    assert.deepStrictEqual(ruleLines({ starts_with: [{ var: "x" }, "a"] }, { true: true, false: false }), [])
    // A rule is stored as JSON, which has no -0.
    const numbers = { true: true, "-2": true, "3.5": true, "0": true }
    const rule = { if: [{ var: "x" }, true, { var: "y" }, -2, { var: "z" }, 3.5, -0] }
    assert.deepStrictEqual(ruleLines(rule, numbers), [])
    assert.deepStrictEqual(ruleLines(rule, { true: true }), [
      'targeting.if.3: There is no variant "-2"',
      'targeting.if.5: There is no variant "3.5"',
      'targeting.if.6: There is no variant "0"'
    ])
  })
})

describe("outcomes that are not variants", () => {
  it.each<[JsonObject, string]>([
    [{ if: [{ var: "x" }, "onn", "off"] }, 'targeting.if.1: There is no variant "onn"'],
    [{ if: [{ var: "x" }, "on", { if: [1, "on", 2, "off", ""] }] }, 'targeting.if.2.if.4: There is no variant ""'],
    [{ if: [{ var: "x" }, true] }, 'targeting.if.1: There is no variant "true"'],
    [{ if: [{ var: "x" }, 1, "off"] }, 'targeting.if.1: There is no variant "1"'],
    [{ or: [{ var: "x" }, "purple"] }, 'targeting.or.1: There is no variant "purple"'],
    [{ or: ["purple", "on"] }, 'targeting.or.0: There is no variant "purple"'],
    [{ and: [0, "on"] }, 'targeting.and.0: There is no variant "0"'],
    [{ and: [{ or: [0, 7, "on"] }, "on"] }, ""],
    [{ or: [{ and: [0, 7] }, "on"] }, 'targeting.or.0.and.1: There is no variant "7"'],
    [{ var: ["x", "purple"] }, 'targeting.var.1: There is no variant "purple"'],
    [
      {
        fractional: [
          ["on", 99],
          ["of", 1]
        ]
      },
      'targeting.fractional.1.0: There is no variant "of"'
    ],
    [
      { fractional: [{ var: "email" }, [{ if: [1, "x"] }, 100]] },
      'targeting.fractional.1.0.if.1: There is no variant "x"'
    ],
    [{ if: [1, []] }, "targeting.if.1: Expected a variant: this returns a list"],
    [{ missing: ["x"] }, "targeting: Expected a variant: this returns a list"],
    [{ or: [{ merge: [1] }, "on"] }, "targeting.or.0: Expected a variant: this returns a list"],
    [{ var: "" }, "targeting: Expected a variant: this returns the whole context"],
    [{ var: ".." }, "targeting: Expected a variant: this returns the whole context"],
    [
      { "==": [1, 1] },
      'targeting: This can return true and false, and there are no variants "true" and "false": ' +
        'choose with {"if": [<this>, "<variant>", "<variant>"]}'
    ],
    [
      { and: [{ "==": [1, 1] }, "on"] },
      'targeting.and.0: This can return false, and there is no variant "false": ' +
        'choose with {"if": [<this>, "<variant>", "<variant>"]}'
    ],
    [
      { or: [{ $ref: "both" }, "on"] },
      'targeting.or.0.$ref: The segment "both" can return true, and there is no variant "true": ' +
        'choose with {"if": [<this>, "<variant>", "<variant>"]}'
    ],
    [
      { and: [{ $ref: "nobody" }, "on"] },
      'targeting.and.0.$ref: The segment "nobody" can return false, and there is no variant "false": ' +
        'choose with {"if": [<this>, "<variant>", "<variant>"]}'
    ],
    [{ $ref: "list" }, 'targeting.$ref: Expected a variant: the segment "list" returns a list']
  ])("%j", (rule, line) => assert.strictEqual(ruleLines(rule)[0] ?? "", line))

  it("of a segment are reported once each", () => {
    assert.deepStrictEqual(ruleLines({ $ref: "tier" }, { gold: true, silver: false }), [])
    assert.match(ruleLines({ $ref: "tier" }, { gold: true })[0] ?? "", /The segment "tier" can return silver/)
  })
})

describe("variants", () => {
  const variantLines = (type: FlagType, variants: JsonObject) => lines({ type, variants })

  it("have the flag's type", () => {
    assert.deepStrictEqual(variantLines("boolean", { off: true, b: 1, c: null }), [
      "variants.b: Expected boolean, the flag's type",
      "variants.c: Expected boolean, the flag's type"
    ])
    assert.deepStrictEqual(variantLines("string", { off: "", b: true }), [
      "variants.b: Expected string, the flag's type"
    ])
    assert.deepStrictEqual(variantLines("object", { off: {}, b: [], c: null, d: "" }).length, 3)
    assert.deepStrictEqual(variantLines("object", { off: { a: [1, { b: null }] } }), [])
    assert.deepStrictEqual(variantLines("number", { off: -1.5, b: 2 ** 53 - 1 }), [])
  })

  it("have values that every client can represent", () => {
    const beyond = "Expected a number within ±9007199254740991"
    assert.deepStrictEqual(variantLines("number", { off: 2 ** 53 }), [`variants.off: ${beyond}`])
    assert.deepStrictEqual(variantLines("object", { off: JSON.parse('{"a":[1e999]}') }), [
      `variants.off.a.0: ${beyond}`
    ])
    const text = "Expected text without NUL and unpaired surrogates"
    assert.deepStrictEqual(variantLines("string", { off: "\0", b: "\udfff", c: "😀" }), [
      `variants.off: ${text}`,
      `variants.b: ${text}`
    ])
    assert.deepStrictEqual(variantLines("object", { off: JSON.parse('{"a":{"__proto__":1}}') }), [
      "variants.off.a: Expected a name other than `__proto__`"
    ])
    const deep = (levels: number) => ({ off: JSON.parse(`${'{"a":'.repeat(levels - 1)}1${"}".repeat(levels - 1)}`) })
    assert.deepStrictEqual(variantLines("object", deep(32)), [])
    for (const levels of [33, 500_000]) {
      assert.deepStrictEqual(variantLines("object", deep(levels)), [
        "variants.off: Expected at most 32 levels of nesting"
      ])
    }
  })

  it("have names that a rule can return", () => {
    const form = "Expected a name of 1–64 letters, digits, `.`, `_` and `-`"
    for (const name of ["", "a b", "é", 'a"', "a&b", "x".repeat(65), "a\n"]) {
      assert.deepStrictEqual(problemLines(flagProblems(flag({ variants: { [name]: true } }), segments)), [
        `variants.${name}: ${form}`.replace("x".repeat(65), `${"x".repeat(60)}…`)
      ])
    }
    assert.deepStrictEqual(variantLines("boolean", JSON.parse('{"__proto__":true}')), [
      "variants.__proto__: Expected another name"
    ])
    assert.deepStrictEqual(variantLines("boolean", { off: true, "A.b_c-1": true, constructor: true, null: true }), [])
  })

  it("are 1–100", () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`v${i}`, true]))
    assert.deepStrictEqual(variantLines("boolean", {}), ["variants: Expected 1–100 variants, not 0"])
    assert.deepStrictEqual(lines({ variants: many(100), environments: everywhere({}, "v99") }), [])
    assert.deepStrictEqual(variantLines("boolean", many(101)), ["variants: Expected 1–100 variants, not 101"])
  })
})

describe("environments", () => {
  const bad = { if: [{ var: "x" }, "onn"] }

  it("are named in problems, except the selected one and a shared configuration", () => {
    const environments = { dev: at({}), staging: at(bad), production: at({}, "gone") }
    assert.deepStrictEqual(lines({ environments }), [
      'environments.staging.targeting.if.1: There is no variant "onn"',
      'environments.production.defaultVariant: There is no variant "gone"'
    ])
    assert.deepStrictEqual(lines({ environments }, "staging"), [
      'targeting.if.1: There is no variant "onn"',
      'environments.production.defaultVariant: There is no variant "gone"'
    ])
    assert.deepStrictEqual(lines({ environments: everywhere(bad, "toString") }), [
      'defaultVariant: There is no variant "toString"',
      'targeting.if.1: There is no variant "onn"'
    ])
  })

  it("and variants have a size together", () => {
    const variants = { off: "x".repeat(200 * 1024) }
    assert.deepStrictEqual(lines({ type: "string", variants }), [])
    const long = { or: [{ "==": [{ var: "x" }, "é".repeat(20 * 1024)] }, "off"] }
    const environments = { dev: at({}), staging: at({ if: [long, "off"] }), production: at({}) }
    assert.deepStrictEqual(lines({ type: "string", variants, environments }), [])
    const longer = { or: [long, long] }
    assert.match(
      lines({ type: "string", variants, environments: { ...environments, dev: at({ if: [longer, "off"] }) } })[0] ?? "",
      /^Expected variants and a rule of at most 256 KiB/
    )
  })

  it("each have a rule of the documented size", () => {
    const addresses = Array.from({ length: 5_000 }, (_, n) => `person-${n}@example.com`)
    const listed = { if: [{ in: [{ var: "email" }, addresses] }, "on"] }
    assert.deepStrictEqual(lines({ environments: everywhere(listed) }), [])
  })
})

describe("a segment", () => {
  const change = (key: string, rules: JsonObject, stored: ReadonlyMap<string, JsonObject> = segments) =>
    problemLines(segmentProblems(key, rules, stored))

  it("has a valid rule", () => {
    assert.deepStrictEqual(change("new", { $ref: "both" }), [])
    assert.deepStrictEqual(change("new", {}), [])
    assert.deepStrictEqual(change("new", { if: [{ $ref: "none" }, { x: 1 }] }), [
      'rules.if.0.$ref: There is no segment "none"',
      'rules.if.1.x: Unknown operator "x"'
    ])
  })

  it("is not part of a cycle", () => {
    const ring = "rules: Segments must not reference each other in a cycle: "
    assert.deepStrictEqual(change("new", { $ref: "new" }), [`${ring}new → new`])
    assert.deepStrictEqual(change("beta", { "!": { $ref: "both" } }), [`${ring}beta → both → beta`])
    assert.deepStrictEqual(change("europe", { or: [{ $ref: "beta" }, { "!": { $ref: "both" } }] }), [
      `${ring}europe → both → europe`
    ])
  })

  it("keeps segments that use it within the limits", () => {
    const large = { or: Array.from({ length: 9_000 }, () => 0) }
    const six = { or: Array.from({ length: 6 }, () => ({ $ref: "beta" })) }
    const stored = new Map<string, JsonObject>([...segments, ["six", six], ["outer", { "!": { $ref: "six" } }]])
    assert.deepStrictEqual(change("beta", large, stored), [
      "segments.six.rules: Expected at most 50000 values with segments inlined, not 54014",
      "segments.outer.rules: Expected at most 50000 values with segments inlined, not 54015"
    ])
    assert.deepStrictEqual(change("beta", { or: [1] }, stored), [])
  })

  it("is included in the checks of flags", () => {
    const uses = { ...everywhere({}), staging: at({ $ref: "outer" }) }
    const variants = { gold: true, silver: true, off: false }
    const outer: ReadonlyArray<readonly [string, JsonObject]> = [["outer", { $ref: "tier" }]]
    const before = new Map<string, JsonObject>([...segments, ...outer])
    assert.deepStrictEqual(problemLines(flagProblems(flag({ variants, environments: uses }), before)), [])
    const after = new Map(before).set("tier", { if: [{ var: "x" }, "gold", "bronze"] })
    assert.deepStrictEqual(problemLines(flagProblems(flag({ variants, environments: uses }), after)), [
      'environments.staging.targeting.$ref: The segment "outer" can return bronze, and there is no variant "bronze": ' +
        'choose with {"if": [<this>, "<variant>", "<variant>"]}'
    ])
  })
})
