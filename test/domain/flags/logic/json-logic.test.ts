import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { apply, type RulesLogic } from "json-logic-js"
import { compileRule } from "../../../../src/domain/flags/logic/Logic.ts"
import { FlagScope } from "../../../../src/domain/flags/logic/Scope.ts"

// Both interpreters must agree on rules whose arguments have the types that the operators expect. Outside of these
// classes flagd decides, and flagd differs from json-logic-js: docs/flags.md names the differences.

const operation = (operator: string, args: fc.Arbitrary<unknown>) => args.map((given) => ({ [operator]: given }))
const list = (of: fc.Arbitrary<unknown>, minLength: number, maxLength = 3) => fc.array(of, { minLength, maxLength })

const literalNumber = fc.oneof(
  fc.integer({ min: -1000, max: 1000 }),
  fc.double({ min: -1e6, max: 1e6, noNaN: true, noDefaultInfinity: true })
)
const divisor = fc.constantFrom(-3, 0.5, 2, 7)
// ASCII, because json-logic-js compares and slices UTF-16, and not blank, because flagd trims the result of `cat`.
const literalText = fc.stringMatching(/^[a-z0-9.]{3,6}$/)
const path = fc.constantFrom("age", "score", "plan", "name", "active", "numbers", "nested.deep", "list.0", "nope")

const { condition, number, numbers, text, texts } = fc.letrec<
  Record<"condition" | "number" | "numbers" | "text" | "texts", unknown>
>((tie) => {
  const number = tie("number")
  const text = tie("text")
  const condition = tie("condition")
  const numbers = tie("numbers")
  const texts = tie("texts")
  const chosen = (value: fc.Arbitrary<unknown>) =>
    operation(
      "if",
      fc
        .tuple(condition, value, fc.array(fc.tuple(condition, value), { maxLength: 2 }), value)
        .map(([first, then, more, last]) => [first, then].concat(more.flat(), [last]))
    )
  const itemIsAbove = operation(">", fc.tuple(fc.constant({ var: "" }), literalNumber))
  const depth = { maxDepth: 4, withCrossShrink: true } as const
  return {
    number: fc.oneof(
      depth,
      literalNumber,
      fc.constantFrom({ var: "age" }, { var: ["score"] }, { var: ["nope", 5] }, { var: "nested.deep" }),
      chosen(number),
      operation("+", list(number, 2)),
      operation("-", list(number, 1, 2)),
      operation("*", list(number, 2, 2)),
      operation("/", fc.tuple(number, divisor)),
      operation("%", fc.tuple(number, divisor)),
      operation("min", list(number, 1)),
      operation("max", list(number, 1)),
      fc.tuple(fc.constantFrom("+", "min", "max"), numbers, literalNumber).map(([operator, items, initial]) => ({
        reduce: [items, { [operator]: [{ var: "current" }, { var: "accumulator" }] }, initial]
      }))
    ),
    text: fc.oneof(
      depth,
      literalText,
      fc.constantFrom({ var: "plan" }, { var: ["name"] }, { var: ["nope", "none"] }),
      chosen(text),
      operation("cat", list(fc.oneof(text, fc.integer({ min: -99, max: 99 })), 2)),
      operation("substr", fc.tuple(literalText, fc.integer({ min: -3, max: 3 }))),
      operation("substr", fc.tuple(text, fc.constant(0), fc.integer({ min: 0, max: 9 })))
    ),
    numbers: fc.oneof(
      depth,
      list(literalNumber, 0),
      fc.constantFrom({ var: "numbers" }, { var: "list" }),
      operation("merge", list(fc.oneof(number, numbers), 1)),
      operation("map", fc.tuple(numbers, operation("*", fc.tuple(fc.constant({ var: "" }), divisor)))),
      operation("filter", fc.tuple(numbers, itemIsAbove))
    ),
    texts: fc.oneof(
      depth,
      list(literalText, 0),
      fc.constant({ var: "texts" }),
      operation("missing", list(path, 1)),
      operation("missing_some", fc.tuple(fc.integer({ min: 0, max: 3 }), list(path, 1)))
    ),
    condition: fc.oneof(
      depth,
      fc.boolean(),
      fc.constantFrom({ var: "active" }, { var: "age" }, { var: "plan" }, { var: "nope" }),
      numbers,
      texts,
      chosen(condition),
      fc
        .tuple(fc.constantFrom("==", "!=", "===", "!==", "<", "<=", ">", ">="), fc.constantFrom(number, text))
        .chain(([operator, value]) => operation(operator, list(value, 2, 2))),
      operation("<", list(number, 3)),
      operation("<=", list(number, 3)),
      operation("and", list(condition, 2)),
      operation("or", list(condition, 2)),
      operation("!", list(condition, 1, 1)),
      operation("!!", list(condition, 1, 1)),
      operation("in", fc.tuple(number, numbers)),
      operation("in", fc.tuple(text, texts)),
      operation("in", fc.tuple(literalText, text)),
      fc.constantFrom("all", "some", "none").chain((operator) => operation(operator, fc.tuple(numbers, itemIsAbove)))
    )
  }
})

const context = fc.record({
  age: fc.integer({ min: 0, max: 120 }),
  score: literalNumber,
  plan: literalText,
  name: literalText,
  active: fc.boolean(),
  numbers: list(literalNumber, 0, 5),
  list: list(literalNumber, 1, 5),
  texts: list(literalText, 0, 5),
  nested: fc.record({ deep: literalNumber })
})

/** Zeros without their sign: json-logic-js adds and multiplies via strings, which lose it. */
const unsigned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(unsigned)
  return value === 0 ? 0 : value
}

describe("JsonLogic", () => {
  const kinds = {
    conditions: condition,
    numbers: number,
    texts: text,
    "lists of numbers": numbers,
    "lists of texts": texts
  }
  for (const [kind, rule] of Object.entries(kinds)) {
    it(`equals json-logic-js: ${kind}`, () => {
      fc.assert(
        fc.property(rule, context, (rule, context) => {
          const ours = compileRule(rule)(new FlagScope(context, "v2"))
          assert.deepStrictEqual(unsigned(ours), unsigned(apply(rule as RulesLogic, context)))
        }),
        { numRuns: 5000 }
      )
    }, 30_000)
  }
})
