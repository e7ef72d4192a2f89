import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { type FlagDefinition } from "../../../src/domain/flags/Evaluation.ts"
import { CompiledFlag, FlagSet } from "../../../src/domain/flags/sets/Set.ts"

interface Recorded {
  readonly key: string
  /** Default: ENABLED. */
  readonly state?: FlagDefinition["state"]
  readonly rule: unknown
  readonly context: Readonly<Record<string, unknown>>
  readonly expected: Readonly<Record<string, unknown>>
}

/** Recorded OFREP responses of flagd 0.16.1. The first line has the common part of the flags. */
const recording = readFileSync(new URL("../../fixtures/flagd-answers.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
const common = JSON.parse(recording[0] ?? "") as Pick<FlagDefinition, "variants" | "defaultVariant">
const recorded = recording.slice(1).map((line) => JSON.parse(line) as Recorded)

const answerOf = ({ key, state = "ENABLED", rule, context }: Recorded): Readonly<Record<string, unknown>> => {
  const flag = new CompiledFlag({ key, state, targeting: rule, ...common }, "v2")
  const {
    key: answered,
    metadata,
    ...answer
  } = new FlagSet("dev", 1, new Map([[key, flag]])).evaluate(key, context, 1.7e12)
  assert.strictEqual(answered, key)
  assert.deepStrictEqual(metadata, { flagSetId: "dev", version: "1" })
  if (answer.reason !== "ERROR") return answer
  assert.isAbove(answer.errorDetails.length, 10)
  return { reason: answer.reason, errorCode: answer.errorCode }
}

describe("flags evaluated by flagd", () => {
  it("has a recording of every outcome", () => {
    assert.isAbove(recorded.length, 1000)
    const outcomes = new Set(recorded.map(({ expected }) => expected["errorCode"] ?? expected["reason"]))
    const all = ["DEFAULT", "DISABLED", "GENERAL", "PARSE_ERROR", "STATIC", "TARGETING_MATCH"]
    assert.deepStrictEqual(Array.from(outcomes).sort(), all)
  })

  it("are evaluated to the same results here", () => {
    const different = recorded.flatMap((one) => {
      const answer = answerOf(one)
      return JSON.stringify(Object.entries(answer).sort()) === JSON.stringify(Object.entries(one.expected).sort())
        ? []
        : [{ ...one, answer }]
    })
    assert.deepStrictEqual(different, [])
  })
})
