import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { flagEnvironments } from "../../../src/domain/flags/Environment.ts"
import { type FlagContext, type FlagResult } from "../../../src/domain/flags/Evaluation.ts"
import { FlagEngine } from "../../../src/services/ports/FlagEngine.ts"
import { FlagSets } from "../../../src/services/flags/Sets.ts"
import { evaluate, evaluateAll, type FlagEngineUnderTest, plain, put, putSynced } from "../../support/flags/engine.ts"
import { onOff } from "../../support/flags/servers.ts"
import { failure, outcomes, texts, value } from "./outcomes.ts"

const has = (result: FlagResult, expected: object) => assert.deepInclude(plain(result), { ...expected })

const definitions = Object.fromEntries(Object.entries(outcomes).map(([key, [definition]]) => [key, definition]))
const gone = (keys: Iterable<string>) => Object.fromEntries(Array.from(keys, (key) => [key, undefined]))

/** The contract of the port, for every engine. */
export const flagEngineContract = (name: string, engine: FlagEngineUnderTest) =>
  layer(engine, { excludeTestServices: true, timeout: 120_000 })(name, (it) => {
    /** Deletes all flags that an earlier test left in an environment. */
    const clear = Effect.fnUntraced(function* (environment: (typeof flagEnvironments)[number]) {
      const { flags } = (yield* FlagSets).current(environment)
      return yield* putSynced(environment, gone(flags.keys()))
    })

    it.effect("has one outcome for each situation", () =>
      Effect.gen(function* () {
        const version = String(yield* putSynced("production", definitions))
        const metadata = { flagSetId: "production", version }
        for (const [key, [, context, expected]] of Object.entries(outcomes)) {
          const result = yield* evaluate("production", key, context)
          assert.deepStrictEqual(plain(result), { key, ...expected, metadata }, key)
        }
      })
    )

    it.effect("has no flag with another key", () =>
      Effect.gen(function* () {
        const version = String(yield* clear("staging"))
        const metadata = { flagSetId: "staging", version }
        const odd = ["", ".", "..", "a/b", "a b", "é", "%2e", "a%2Fb", "?x", "#", "\u0000", "\ud800", "x".repeat(5_000)]
        for (const key of ["absent", "true", "constructor", "__proto__", ...odd]) {
          const result = plain(yield* evaluate("staging", key))
          assert.deepStrictEqual(result, { key, ...failure("FLAG_NOT_FOUND"), metadata }, key.slice(0, 20))
        }
      })
    )

    it.effect("evaluates all flags, including disabled and failing ones", () =>
      Effect.gen(function* () {
        yield* clear("dev")
        const version = String(yield* putSynced("dev", definitions))
        const metadata = { flagSetId: "dev", version }
        const context = { plan: "gold", n: 1, a: 1, v: "1.2", k: "ceQdGm", mail: "x", targetingKey: "u" }
        const results = new Map((yield* evaluateAll("dev", context)).map((result) => [result.key, plain(result)]))
        assert.sameMembers([...results.keys()], Object.keys(outcomes))
        for (const key of Object.keys(outcomes)) {
          const alone = plain(yield* evaluate("dev", key, context))
          assert.deepStrictEqual(results.get(key), { ...alone, metadata }, key)
        }
        assert.deepStrictEqual(results.get("disabled"), { key: "disabled", reason: "DISABLED", metadata })
        assert.strictEqual(results.get("no-operator")?.["errorCode"], "PARSE_ERROR")
        assert.strictEqual(results.get("no-variant")?.["errorCode"], "GENERAL")
      })
    )

    it.effect("has a rule, state and version for each environment of a flag", () =>
      Effect.gen(function* () {
        const plan = (of: string, to: string) => texts({ if: [{ "==": [{ var: "plan" }, of] }, to, null] })
        const [dev, staging, production] = [
          yield* putSynced("dev", { same: plan("a", "pro") }),
          yield* putSynced("staging", { same: plan("b", "pro") }),
          yield* putSynced("production", { same: plan("a", "null") })
        ].map(String)
        const seen = (context: FlagContext) =>
          Effect.forEach(flagEnvironments, (environment) =>
            Effect.map(evaluate(environment, "same", context), (result) => ("variant" in result ? result.variant : ""))
          )
        assert.deepStrictEqual(yield* seen({ plan: "a" }), ["pro", "free", "null"])
        assert.deepStrictEqual(yield* seen({ plan: "b" }), ["free", "pro", "free"])
        yield* putSynced("staging", { same: plan("a", "1") })
        assert.deepStrictEqual(yield* seen({ plan: "a" }), ["pro", "1", "null"])
        yield* putSynced("dev", { same: undefined })
        const after = yield* Effect.forEach(flagEnvironments, (environment) =>
          evaluate(environment, "same", { plan: "a" })
        )
        assert.deepStrictEqual(
          after.map(({ reason }) => reason),
          ["ERROR", "TARGETING_MATCH", "TARGETING_MATCH"]
        )
        assert.isAbove(Number(after[1]?.metadata.version), Number(staging))
        assert.strictEqual(after[2]?.metadata.version, production)
        assert.notStrictEqual(after[0]?.metadata.version, dev)
      })
    )

    it.effect("evaluates each change once it is synced", () =>
      Effect.gen(function* () {
        for (let round = 0; round < 50; round++) {
          const on = round % 2 === 0
          const version = String(
            yield* putSynced("production", { toggled: onOff({ defaultVariant: on ? "on" : "off" }) })
          )
          const metadata = { flagSetId: "production", version }
          const expected = { key: "toggled", ...value("STATIC", on ? "on" : "off", on), metadata }
          assert.deepStrictEqual(plain(yield* evaluate("production", "toggled")), expected)
        }
      })
    )

    it.effect("is synced with older revisions and other environments, and not with future ones", () =>
      Effect.gen(function* () {
        const engine = yield* FlagEngine
        const revision = yield* put("staging", { one: onOff() })
        yield* put("production", { other: onOff() })
        assert.isTrue(yield* engine.synced(["staging"], revision))
        assert.isTrue(yield* engine.synced(flagEnvironments, revision))
        assert.isTrue(yield* engine.synced([], revision))
        assert.isTrue(yield* engine.synced(["production"], 0))
      })
    )

    it.effect("drops deleted flags, including the last one, and loads new ones afterwards", () =>
      Effect.gen(function* () {
        yield* putSynced("staging", { first: onOff(), second: onOff() })
        yield* putSynced("staging", { first: undefined })
        has(yield* evaluate("staging", "first"), failure("FLAG_NOT_FOUND"))
        has(yield* evaluate("staging", "second"), value("STATIC", "on", true))
        yield* clear("staging")
        has(yield* evaluate("staging", "second"), failure("FLAG_NOT_FOUND"))
        assert.deepStrictEqual(yield* evaluateAll("staging"), [])
        yield* putSynced("staging", { first: onOff({ defaultVariant: "off" }) })
        has(yield* evaluate("staging", "first"), value("STATIC", "off", false))
        has(yield* evaluate("production", "other"), value("STATIC", "on", true))
      })
    )

    it.effect("records the evaluation time of the evaluated flag only", () =>
      Effect.gen(function* () {
        const sets = yield* FlagSets
        yield* clear("dev")
        yield* putSynced("dev", { used: onOff(), failing: onOff({ targeting: { no_such: 1 } }), unused: onOff() })
        const at = (key: string) => sets.current("dev").flags.get(key)?.evaluatedAt ?? -1
        const before = Date.now()
        yield* evaluate("dev", "used")
        yield* evaluate("dev", "failing")
        assert.isAtLeast(at("used"), before)
        assert.isAtLeast(at("failing"), before)
        assert.strictEqual(at("unused"), 0)
        yield* evaluateAll("dev")
        assert.isAtLeast(at("unused"), before)
      })
    )

    it.effect("accepts contexts with any names and of some size", () =>
      Effect.gen(function* () {
        const rule = texts({
          if: [{ "==": [{ var: "__proto__" }, "me"] }, "pro", { ">": [{ var: "n" }, 1] }, "1", null]
        })
        yield* putSynced("dev", { named: rule })
        const named = JSON.parse(`{"__proto__": "me", "constructor": 1, "": null, "a.b": {"c": [[]]}}`) as FlagContext
        has(yield* evaluate("dev", "named", named), value("TARGETING_MATCH", "pro", "p"))
        has(yield* evaluate("dev", "named", { n: 1e300 }), value("TARGETING_MATCH", "1", "one"))
        const long = { text: "é".repeat(400_000), n: 2 }
        has(yield* evaluate("dev", "named", long), value("TARGETING_MATCH", "1", "one"))
      })
    )

    it.effect("reports its status", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* (yield* FlagEngine).status, { connected: true, error: null })
      })
    )
  })
