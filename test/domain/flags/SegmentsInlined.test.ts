import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { walkJson } from "../../../src/domain/flags/Json.ts"
import { ruleProblems } from "../../../src/domain/flags/rules/Rule.ts"
import { FlagSegmentsInlined, inlineSegments, segmentsUsedBy } from "../../../src/domain/flags/SegmentsInlined.ts"

const ref = (key: string) => ({ $ref: key })
const beta = { ends_with: [{ var: "email" }, "@example.com"] }

it("inlines segments, whole or within, at any depth", () => {
  const segments = new Map<string, unknown>([
    ["beta", beta],
    ["not", { "!": [ref("beta")] }],
    ["nobody", {}]
  ])
  assert.deepStrictEqual(inlineSegments(ref("beta"), segments), beta)
  assert.deepStrictEqual(inlineSegments({ if: [ref("not"), "a", [ref("nobody"), ["b"]]] }, segments), {
    if: [{ "!": [beta] }, "a", [false, ["b"]]]
  })
  assert.deepStrictEqual(inlineSegments({ "==": [1, { var: "x" }] }, segments), { "==": [1, { var: "x" }] })
})

it("has no segment by an inherited name", () => {
  for (const key of ["__proto__", "constructor", "toString"]) {
    assert.deepStrictEqual(inlineSegments({ "!": [ref(key)] }, new Map()), { "!": [ref(key)] })
  }
})

it("leaves other values, and references to missing or cyclic segments", () => {
  const segments = new Map<string, unknown>([
    ["a", { "!": [ref("b")] }],
    ["b", { "!": [ref("a")] }]
  ])
  const odd = { "==": [{ $ref: "a", var: "x" }, { $ref: 5 }] }
  assert.deepStrictEqual(inlineSegments(odd, segments), odd)
  assert.deepStrictEqual(inlineSegments(ref("none"), segments), ref("none"))
  assert.deepStrictEqual(segmentsUsedBy(inlineSegments(ref("a"), segments)), ["a"])
})

it("lists the direct references of a rule, and the users of a segment", () => {
  assert.deepStrictEqual(segmentsUsedBy({ if: [ref("a"), { "!": ref("b") }, [ref("a")]] }), ["a", "b"])
  assert.deepStrictEqual(segmentsUsedBy({}), [])
  const segments = new FlagSegmentsInlined(
    new Map<string, unknown>([
      ["a", { var: "x" }],
      ["b", ref("a")],
      ["c", { or: [ref("b"), ref("a")] }],
      ["d", { var: "y" }]
    ])
  )
  assert.deepStrictEqual(Array.from(segments.usersOf("a")).sort(), ["b", "c"])
  assert.deepStrictEqual(Array.from(segments.usersOf("d")), [])
})

it("reports a cycle from its entry", () => {
  const rules = new Map<string, unknown>([
    ["a", ref("b")],
    ["b", { or: [ref("d"), ref("c")] }],
    ["c", { "!": ref("b") }],
    ["d", {}]
  ])
  const segments = new FlagSegmentsInlined(rules)
  assert.deepStrictEqual(segments.cycleFrom({ "!": ref("a") }), ["b", "c", "b"])
  assert.strictEqual(segments.cycleFrom(ref("d")), undefined)
})

describe("counts", () => {
  /** s0 … s5, each referring to earlier ones only. */
  const rule = (below: number): fc.Arbitrary<unknown> =>
    fc.letrec<{ readonly any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        fc.constantFrom<unknown>("é", 1.5, true, null, 'a"b'),
        fc.integer({ min: 0, max: Math.max(0, below - 1) }).map((i) => (below === 0 ? {} : ref(`s${i}`))),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.array(tie("any"), { minLength: 1, maxLength: 3 }).map((given) => ({ or: given })),
        tie("any").map((given) => ({ "!": given }))
      )
    })).any

  const counted = (value: unknown) => {
    let nodes = 0
    let depth = 0
    walkJson(value, (_value, level) => {
      nodes += 1
      depth = Math.max(depth, level)
      return "into"
    })
    return { nodes, depth, bytes: Buffer.byteLength(JSON.stringify(value)) }
  }

  it("the result of inlining", () => {
    fc.assert(
      fc.property(fc.tuple(rule(0), rule(1), rule(2), rule(3), rule(4), rule(5)), rule(6), (own, top) => {
        const rules = new Map(own.map((each, i) => [`s${i}`, each]))
        const segments = new FlagSegmentsInlined(rules)
        const { segments: levels, ...size } = segments.sizeOf(top)
        const inlined = segments.inline(top)
        assert.deepStrictEqual(size, counted(inlined))
        assert.isAtMost(levels, 6)
        assert.deepStrictEqual(segmentsUsedBy(inlined), [])
      }),
      { numRuns: 1000 }
    )
  })

  it("without inlining", () => {
    const rules = new Map<string, unknown>([["s0", { or: [1, 2, 3] }]])
    for (let i = 1; i <= 30; i++) rules.set(`s${i}`, { or: [ref(`s${i - 1}`), ref(`s${i - 1}`)] })
    const segments = new FlagSegmentsInlined(rules)
    const before = performance.now()
    assert.strictEqual(segments.sizeOf(ref("s30")).nodes, 2 ** 30 * 5 + (2 ** 30 - 1) * 2)
    const [problem] = ruleProblems({ "!": ref("s30") }, segments, { segment: "new" })
    assert.match(problem?.problem ?? "", /^Expected at most 50000 values with segments inlined, not/)
    assert.isBelow(performance.now() - before, 10_000)
  })
})

it("visits each segment once, however many paths lead to it", () => {
  const rules = new Map<string, unknown>(["s0", "s1"].map((key) => [key, beta]))
  for (let i = 2; i <= 38; i++) rules.set(`s${i}`, { or: [ref(`s${i - 1}`), ref(`s${i - 2}`)] })
  const segments = new FlagSegmentsInlined(rules)
  const before = performance.now()
  assert.strictEqual(segments.cycleFrom(ref("s38")), undefined)
  assert.strictEqual(segments.sizeOf(ref("s38")).segments, 38)
  assert.deepStrictEqual(segmentsUsedBy(segments.inline({ "!": ref("s5") })), [])
  assert.isBelow(performance.now() - before, 10_000)
})

describe("limits", () => {
  const problem = (rules: ReadonlyMap<string, unknown>, rule: unknown) =>
    ruleProblems(rule, new FlagSegmentsInlined(rules), { segment: "new" })[0]?.problem

  it("nested segments", () => {
    const rules = new Map<string, unknown>([["s1", beta]])
    for (let i = 2; i <= 5000; i++) rules.set(`s${i}`, ref(`s${i - 1}`))
    assert.strictEqual(problem(rules, ref("s32")), undefined)
    assert.strictEqual(problem(rules, ref("s33")), "Expected at most 32 levels of nested segments, not 33")
    assert.strictEqual(problem(rules, ref("s5000")), "Expected at most 32 levels of nested segments, not 5000")
  })

  it("levels", () => {
    const wrapped = (inner: string, levels: number): unknown =>
      JSON.parse(`${'{"!":'.repeat(levels)}${inner}${"}".repeat(levels)}`)
    const rules = new Map<string, unknown>([["s1", wrapped("1", 63)]])
    for (let i = 2; i <= 5; i++) rules.set(`s${i}`, wrapped(`{"$ref":"s${i - 1}"}`, 62))
    assert.strictEqual(problem(rules, ref("s4")), undefined)
    assert.strictEqual(
      problem(rules, ref("s5")),
      "Expected at most 256 levels of nesting with segments inlined, not 312"
    )
  })

  it("bytes", () => {
    const rules = new Map<string, unknown>([["s1", { "==": [{ var: "x" }, "é".repeat(50 * 1024)] }]])
    assert.strictEqual(problem(rules, { or: [ref("s1"), ref("s1")] }), undefined)
    assert.match(
      problem(rules, { or: [ref("s1"), ref("s1"), ref("s1")] }) ?? "",
      /^Expected at most 256 KiB .*not 301$/
    )
  })
})
