import { assert, describe, it } from "vitest"
import { problemLines } from "../../../../src/domain/flags/Problem.ts"
import { ruleProblems } from "../../../../src/domain/flags/rules/Rule.ts"
import { FlagSegmentsInlined } from "../../../../src/domain/flags/SegmentsInlined.ts"

const segments = new FlagSegmentsInlined(
  new Map<string, unknown>([
    ["beta", { ends_with: [{ var: "email" }, "@example.com"] }],
    ["nobody", {}]
  ])
)

/** Problems of the rule of a segment: its form, without outcomes. */
const lines = (rule: unknown) => problemLines(ruleProblems(rule, segments, { segment: "new" }))

describe("accepts", () => {
  it.each<[unknown]>([
    [{}],
    [{ var: "email" }],
    [{ var: "" }],
    [{ var: ["email"] }],
    [{ var: ["email", "none"] }],
    [{ var: [] }],
    [{ var: 0 }],
    [{ var: null }],
    [{ var: { cat: ["e", "mail"] } }],
    [{ "!": { var: "x" } }],
    [{ "!": [[]] }],
    [{ "!!": [{ var: "x" }] }],
    [{ "==": [{ var: "plan" }, "pro"] }],
    [{ "<": [1, { var: "age" }, 10] }],
    [{ ">=": [{ var: "age" }, 18] }],
    [{ in: ["@example.com", { var: "email" }] }],
    [{ in: [{ var: "country" }, ["DE", "FR", 5, { var: "home" }]] }],
    [{ in: [{ var: "country" }, "DE,FR"] }],
    [{ in: [{ var: ["country", ""] }, "DE,FR"] }],
    [{ in: [{ cat: [{ var: "country" }, ","] }, "DE,FR"] }],
    [{ and: [{ var: "a" }] }],
    [{ if: [{ var: "a" }, "x"] }],
    [{ if: [{ var: "a" }, "x", { var: "b" }, "y", null] }],
    [{ cat: "alone" }],
    [{ cat: ["a", 1, null, { var: "x" }] }],
    [{ substr: [{ var: "x" }, -3] }],
    [{ substr: ["abcdef", 1, -1] }],
    [{ "+": "3.14" }],
    [{ "+": [1, "2.5e3", { var: "x" }] }],
    [{ "-": [1] }],
    [{ "%": [{ var: "x" }, 2] }],
    [{ max: [1, { var: "x" }] }],
    [{ merge: [[1], { var: "x" }, 3] }],
    [{ missing: "email" }],
    [{ missing: ["email", "plan"] }],
    [{ missing: { merge: ["email", { if: [{ var: "x" }, "y"] }] } }],
    [{ missing_some: [1, ["email", "phone"]] }],
    [{ map: [{ var: "list" }, { "*": [{ var: "" }, 2] }] }],
    [{ filter: [[1, 2, [3]], { ">": [{ var: "" }, 1] }] }],
    [{ reduce: [{ var: "list" }, { "+": [{ var: "current" }, { var: "accumulator" }] }, 0] }],
    [{ some: [{ var: "roles" }, { "==": [{ var: "" }, "admin"] }] }],
    [{ all: [{ var: "roles" }, { var: "" }] }],
    [{ none: [{ var: "roles" }, { "!!": [{ $ref: "beta" }] }] }],
    [{ starts_with: [{ var: "email" }, "a"] }],
    [{ sem_ver: [{ var: "appVersion" }, "^", "v1.2"] }],
    [{ sem_ver: ["1.2.3-rc.1+5", ">=", 1.2] }],
    [{ sem_ver: [{ var: "appVersion" }, { var: "operator" }, { var: "least" }] }],
    [{ fractional: [["a", 100]] }],
    [{ fractional: [{ var: "email" }, ["a", 10], [null, 20], [true, 70], [1, 0]] }],
    [{ fractional: [{ cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] }, ["a", 50], ["b", 50]] }],
    [
      {
        fractional: [
          [{ if: [{ var: "x" }, "a", "b"] }, 50],
          [{ fractional: [["a", 100]] }, 50]
        ]
      }
    ],
    [{ "!": { $ref: "beta" } }],
    [{ or: [{ $ref: "nobody" }, { $ref: "beta" }] }]
  ])("%j", (rule) => assert.deepStrictEqual(lines(rule), []))
})

describe("rejects, with the place", () => {
  it.each<[unknown, string]>([
    [[], "Expected object"],
    ["a", "Expected object"],
    [{ xor: [1, 2] }, 'xor: Unknown operator "xor"'],
    [{ "?:": [1, 2, 3] }, '?:: Unknown operator "?:"; use if'],
    [{ constructor: [] }, 'constructor: Unknown operator "constructor"'],
    [JSON.parse('{"__proto__":[]}'), "Expected a name other than `__proto__`"],
    [{ "==": [1, 1], "!": 1 }, 'Expected one operator, not 2: "==", "!"'],
    [{ $ref: "beta", var: "x" }, 'Expected one operator, not 2: "$ref", "var"'],
    [{ "!": [{}] }, "!.0: Expected an operator: {} is only valid as a whole rule"],
    [{ if: [{ and: [1, { or: [{ nope: 1 }] }] }] }, 'if.0.and.1.or.0.nope: Unknown operator "nope"'],
    [{ in: [1, [1, [{ nope: 1 }]]] }, 'in.1.1.0.nope: Unknown operator "nope"'],
    [{ and: { var: "x" } }, "and: Expected a list of arguments"],
    [{ or: true }, "or: Expected a list of arguments"],
    [{ if: { var: "x" } }, "if: Expected a list of arguments"],
    [{ if: [] }, "if: Expected at least 1 argument, not 0"],
    [{ "==": [1] }, "==: Expected 2 arguments, not 1"],
    [{ "==": [1, 2, 3] }, "==: Expected 2 arguments, not 3"],
    [{ "==": { var: "x" } }, "==: Expected a list of arguments"],
    [{ "==": [{ var: "x" }, [1]] }, "==.1: Expected a single value, not a list"],
    [{ "==": [{ missing: ["x"] }, 1] }, "==.0: Expected a single value, not a list"],
    [{ "<": [1, 2, 3, 4] }, "<: Expected 2–3 arguments, not 4"],
    [{ ">": [1, 2, 3] }, ">: Expected 2 arguments, not 3"],
    [{ "!": [] }, "!: Expected 1 argument, not 0"],
    [{ "!!": [1, 2] }, "!!: Expected 1 argument, not 2"],
    [{ var: true }, "var: Expected the name of an attribute, not true or false"],
    [{ var: [1] }, "var.0: Expected the name of an attribute, not a number"],
    [{ var: ["a", 1, 2] }, "var: Expected 0–2 arguments, not 3"],
    [{ var: { $ref: "beta" } }, "var: Expected the name of an attribute, not true or false"],
    [{ in: [1] }, "in: Expected 2 arguments, not 1"],
    [{ in: ["a", 5] }, "in.1: Expected a list or a string to search"],
    [{ in: ["a", null] }, "in.1: Expected a list or a string to search"],
    [{ in: [null, "abc"] }, "in.0: Expected a string, not null"],
    [{ in: [5, "abc"] }, "in.0: Expected a string, not a number"],
    [{ in: [{ var: "x" }, [1, null, [1, 2]]] }, "in.1.1: Expected a string or a number to compare with"],
    [{ in: [{ var: "x" }, ["a", true]] }, "in.1.1: Expected a string or a number to compare with"],
    [{ in: [{ var: "x" }, ["a", { "!": 1 }]] }, "in.1.1: Expected a string or a number to compare with"],
    [{ cat: [true] }, "cat.0: Expected a string or a number, not true or false"],
    [{ cat: ["a", ["b"]] }, "cat.1: Expected a string or a number, not a list"],
    [{ cat: ["a", { "!": 1 }] }, "cat.1: Expected a string or a number, not true or false"],
    [{ cat: 5 }, 'cat: Expected a list of arguments: {"cat": [ … ]}'],
    [{ cat: { var: "x" } }, 'cat: Expected a list of arguments: {"cat": [ … ]}'],
    [{ substr: ["a"] }, "substr: Expected 2–3 arguments, not 1"],
    [{ substr: ["a", 1.5] }, "substr.1: Expected a whole number"],
    [{ "+": [1, null] }, "+.1: Expected a number, not null"],
    [{ "+": ["one"] }, '+.0: Expected a number, not "one"'],
    [{ "*": [1, true] }, "*.1: Expected a number, not true or false"],
    [{ "*": 5 }, "*: Expected a list of arguments"],
    [{ "/": [1, 0] }, "/.1: Expected a number other than 0"],
    [{ max: [] }, "max: Expected at least 1 argument, not 0"],
    [{ missing: 5 }, "missing: Expected the name of an attribute, not a number"],
    [{ missing: ["a", true] }, "missing.1: Expected the name of an attribute, not true or false"],
    [{ missing_some: [1, "a"] }, 'missing_some.1: Expected a list of attributes, not "a"'],
    [{ map: ["a", { var: "" }] }, 'map.0: Expected a list, not "a"'],
    [
      { map: [[{ var: "x" }], { var: "" }] },
      "map.0: Expected plain values only: expressions in this list are not evaluated"
    ],
    [{ filter: [{ var: "x" }, true] }, 'filter.1: Expected an expression, such as {"==": [{"var": ""}, "a"]}'],
    [{ all: [{ var: "x" }, { var: "y" }] }, 'all.1: Expected a condition: wrap a single value in {"!!": [ … ]}'],
    [{ some: [{ var: "x" }, { $ref: "beta" }] }, 'some.1: Expected a condition: wrap a single value in {"!!": [ … ]}'],
    [
      { reduce: [{ var: "x" }, { var: "current" }, null] },
      "reduce.2: Expected a number, a string, true or false, not null"
    ],
    [{ starts_with: [{ var: "x" }] }, "starts_with: Expected 2 arguments, not 1"],
    [{ starts_with: [{ var: "x" }, 5] }, "starts_with.1: Expected a string, not a number"],
    [{ ends_with: [null, "x"] }, "ends_with.0: Expected a string, not null"],
    [{ sem_ver: [{ var: "x" }, ">="] }, "sem_ver: Expected 3 arguments, not 2"],
    [{ sem_ver: [{ var: "x" }, "==", "1.0.0"] }, "sem_ver.1: Expected one of = != < <= > >= ^ ~"],
    [{ sem_ver: [{ var: "x" }, "=", "1.2.x"] }, 'sem_ver.2: Expected a version such as 1.2.3, not "1.2.x"'],
    [{ sem_ver: [{ var: "x" }, "=", "1.2.3.4"] }, 'sem_ver.2: Expected a version such as 1.2.3, not "1.2.3.4"'],
    [{ sem_ver: ["01.0", "=", "1"] }, 'sem_ver.0: Expected a version such as 1.2.3, not "01.0"'],
    [{ sem_ver: [null, "=", "1"] }, "sem_ver.0: Expected a version such as 1.2.3, not null"],
    [{ $ref: "none" }, '$ref: There is no segment "none"'],
    [{ "!": [{ $ref: ["beta"] }] }, "!.0.$ref: Expected the key of a segment"],
    [{ $ref: "__proto__" }, '$ref: There is no segment "__proto__"'],
    [{ "==": [1, 2 ** 53] }, "==.1: Expected a number within ±9007199254740991"],
    [JSON.parse('{"==":[1,-1e999]}'), "==.1: Expected a number within ±9007199254740991"],
    [{ var: "a\0" }, "var: Expected text without NUL and unpaired surrogates"],
    [{ "==": ["\ud800", 1] }, "==.0: Expected text without NUL and unpaired surrogates"],
    [{ "a\0": 1 }, "Expected names without NUL and unpaired surrogates"]
  ])("%j", (rule, line) => assert.strictEqual(lines(rule)[0], line))
})

it.each<[string, number, number]>([
  ...["==", "!=", "===", "!==", ">", ">=", "/", "%", "in", "map", "filter", "starts_with", "ends_with"].map(
    (name): [string, number, number] => [name, 2, 2]
  ),
  ...["all", "some", "none", "missing_some"].map((name): [string, number, number] => [name, 2, 2]),
  ...["<", "<=", "substr"].map((name): [string, number, number] => [name, 2, 3]),
  ...["reduce", "sem_ver"].map((name): [string, number, number] => [name, 3, 3]),
  ...["!", "!!"].map((name): [string, number, number] => [name, 1, 1]),
  ...["if", "and", "or", "cat", "+", "*", "min", "max", "merge", "missing"].map((name): [string, number, number] => [
    name,
    1,
    50
  ]),
  ["-", 1, 2],
  ["var", 0, 2]
])("%s has %i to %i arguments", (name, least, most) => {
  const miscounts = (count: number) =>
    lines({ [name]: Array.from({ length: count }, () => ({ var: "x" })) }).some((line) => line.includes("argument"))
  for (let count = 0; count <= 50; count++) assert.strictEqual(miscounts(count), count < least || count > most)
})

describe("rejects a fractional", () => {
  const buckets = (...given: ReadonlyArray<unknown>) => lines({ if: [true, { fractional: given }] })
  const at = "if.1.fractional"

  it("whose weights are not whole numbers that sum to 100", () => {
    assert.deepStrictEqual(buckets(["a", 50], ["b", 49]), [`${at}: Expected weights that sum to 100, not 99`])
    assert.deepStrictEqual(buckets(["a", 50], ["b", 51]), [`${at}: Expected weights that sum to 100, not 101`])
    for (const weight of [-1, 50.5, "50", null, true, 101, [50], { var: "x" }]) {
      assert.deepStrictEqual(buckets(["a", weight], ["b", 50]), [
        `${at}.0.1: Expected a literal whole number from 0 to 100`
      ])
    }
  })

  it("whose buckets are not pairs", () => {
    assert.match(buckets(["a"], ["b", 100])[0] ?? "", /fractional\.0: .*the weight is missing/)
    assert.match(buckets(["a", 100, 1])[0] ?? "", /fractional\.0: Expected \[variant, weight\], not 3 elements/)
    assert.match(buckets({ var: "x" }, { var: "y" })[0] ?? "", /fractional\.1: Expected \[variant, weight\]/)
    assert.match(buckets([["a"], 100])[0] ?? "", /fractional\.0\.0: Expected a variant, not a list/)
    assert.match(buckets([{ nope: 1 }, 100])[0] ?? "", /fractional\.0\.0\.nope: Unknown operator/)
    assert.deepStrictEqual(buckets(), [`${at}: Expected at least one [variant, weight]`])
    assert.deepStrictEqual(lines({ fractional: { var: "x" } }), ["fractional: Expected a list of [variant, weight]"])
  })

  it("that puts all users in one bucket", () => {
    assert.match(buckets("salt", ["a", 100])[0] ?? "", /fractional\.0: .*a constant puts all users in one bucket/)
    assert.match(buckets({ cat: ["a", "b"] }, ["a", 100])[0] ?? "", /fractional\.0: .*puts all users in one bucket/)
    assert.match(
      buckets({ var: "$flagd.flagKey" }, ["a", 100])[0] ?? "",
      /fractional\.0: .*puts all users in one bucket/
    )
    assert.match(
      buckets({ "!": { var: "x" } }, ["a", 100])[0] ?? "",
      /fractional\.0: .*a string that differs between users/
    )
    for (const key of [null, 5, true]) assert.match(buckets(key, ["a", 100])[0] ?? "", /fractional\.0: Expected/)
  })

  it("for the elements of a list", () => {
    const rule = { map: [{ var: "list" }, { fractional: [["a", 100]] }] }
    assert.match(lines(rule)[0] ?? "", /^map\.1\.fractional: Expected no fractional in the rule of an element/)
  })
})

it("reports all problems, up to fifty lines", () => {
  assert.deepStrictEqual(lines({ and: [{ x: 1 }, { "==": [1] }, { cat: [true, []] }] }), [
    'and.0.x: Unknown operator "x"',
    "and.1.==: Expected 2 arguments, not 1",
    "and.2.cat.0: Expected a string or a number, not true or false",
    "and.2.cat.1: Expected a string or a number, not a list"
  ])
  const many = lines({ and: Array.from({ length: 1000 }, () => ({ x: 1 })) })
  assert.lengthOf(many, 51)
  assert.strictEqual(many.at(-1), "and 950 more")
})

it("shortens quoted texts", () => {
  const long = "x".repeat(1_000_000)
  for (const rule of [{ [long]: 1 }, { $ref: long }, { "+": [long] }, { [long]: 1, y: 2 }, { and: [{ [long]: 1 }] }]) {
    const [line = ""] = lines(rule)
    assert.isBelow(line.length, 250)
  }
})

describe("limits", () => {
  const nested = (levels: number): unknown => JSON.parse(`${'{"!":'.repeat(levels - 1)}1${"}".repeat(levels - 1)}`)
  const wide = (values: number) => ({ or: Array.from({ length: values - 2 }, () => 1) })

  it("allow 64 levels and 10,000 values", () => {
    assert.deepStrictEqual(lines(nested(64)), [])
    assert.deepStrictEqual(lines(nested(65)), ["Expected at most 64 levels of nesting"])
    assert.deepStrictEqual(lines(wide(10_000)), [])
    assert.deepStrictEqual(lines(wide(10_001)), ["Expected at most 10000 values"])
  })

  it.each<[string, unknown]>([
    ["10,000 levels of objects", nested(10_000)],
    ["500,000 levels of lists", JSON.parse(`{"or":${"[".repeat(500_000)}${"]".repeat(500_000)}}`)],
    ["a million values", wide(1_000_000)],
    ["80,000 names", Object.fromEntries(Array.from({ length: 80_000 }, (_, i) => [`name${i}`, i]))]
  ])("are found at once: %s", (_name, rule) => {
    const before = performance.now()
    assert.lengthOf(lines(rule), 1)
    assert.isBelow(performance.now() - before, 10_000)
  })
})
