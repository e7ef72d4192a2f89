import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { FlagSets } from "../../../../src/services/flags/Sets.ts"
import { type Failure } from "../../../fakes/flags/flagd.ts"
import { good, json, failWith, metadata, one, outcome, status, withFlagd } from "../../../support/flags/flagd.ts"
import { evaluate, evaluateAll, plain } from "../../../support/flags/engine.ts"
import { refusal } from "../../../support/requests.ts"

vi.setConfig({ testTimeout: 30_000 })

describe("unexpected responses", () => {
  const flag = (over: object) => ({ ...good, ...over })
  const nonsense: Readonly<Record<string, Failure>> = {
    HTML: { status: 200, type: "text/html", body: "<html><body>secret-of-flagd</body></html>" },
    "JSON labelled as HTML": { status: 200, type: "text/html", body: JSON.stringify(good) },
    "an empty body": { status: 200, type: "application/json", body: "" },
    "no content": { status: 204, type: "application/json", body: "" },
    "truncated JSON": json(JSON.stringify(good).slice(0, -3)),
    "a truncated response": { status: 200, type: "application/json", body: `{"key":"on"`, length: 5_000 },
    "20 MB": json({ ...good, value: "x".repeat(20_000_000) }),
    "a million levels": json(
      `{"key":"on","reason":"STATIC","variant":"on","value":${"[".repeat(1e6)}${"]".repeat(1e6)},"metadata":${JSON.stringify(metadata)}}`
    ),
    "invalid UTF-8": { status: 200, type: "application/json", body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) },
    null: json("null"),
    "an array": json([good]),
    "another flag": json(flag({ key: "off" })),
    "another environment": json(flag({ metadata: { ...metadata, flagSetId: "dev" } })),
    "flags of another source": json(flag({ metadata: { flagSetId: "production" } })),
    "no metadata": json(flag({ metadata: undefined })),
    "a version in words": json(flag({ metadata: { ...metadata, version: "newest" } })),
    "an unknown reason": json(flag({ reason: "BECAUSE" })),
    "a reason that is a number": json(flag({ reason: 1 })),
    "a reason that is a property of Object": json(flag({ reason: "constructor" })),
    "a variant that is a list": json(flag({ variant: ["on"] })),
    "a variant without value": json(flag({ value: undefined })),
    "a value without variant": json(flag({ variant: undefined })),
    "an unknown error code": json({ key: "on", errorCode: "TEAPOT", errorDetails: "x", metadata }, 400),
    "an error with status 200": json({ key: "on", errorCode: "GENERAL", errorDetails: "x", metadata }),
    "a success with status 400": json(good, 400),
    "a redirect": { status: 302, type: "text/plain", body: "" },
    "another 404": { status: 404, type: "text/plain", body: "404 page not found\n" },
    401: json({ error: "secret-of-flagd" }, 401),
    500: json({ errorDetails: "secret-of-flagd" }, 500),
    503: { status: 503, type: "text/html", body: "secret-of-flagd" }
  }

  withFlagd("are 502 FLAGS_UNAVAILABLE, without their content", (lines) =>
    Effect.gen(function* () {
      for (const [name, response] of Object.entries(nonsense)) {
        yield* failWith(response)
        assert.strictEqual(yield* outcome, "502 FLAGS_UNAVAILABLE", name)
        assert.strictEqual(yield* refusal(evaluateAll("production")), "502 FLAGS_UNAVAILABLE", name)
        const error = yield* Effect.flip(evaluate("production", "on"))
        assert.notInclude(JSON.stringify(error), "secret-of-flagd", name)
      }
      const now = yield* status
      assert.isFalse(now.connected && now.error === null)
      yield* failWith(undefined)
      assert.strictEqual(yield* one, "STATIC on")
      assert.notInclude(lines().join("\n"), "secret-of-flagd")
    })
  )

  withFlagd("may be one flag of many", () =>
    Effect.gen(function* () {
      for (const flags of [
        [good, null],
        [good, flag({ reason: 1 })],
        [{ key: 1 }],
        {},
        "x",
        null,
        [{ key: "on", errorCode: "FLAG_NOT_FOUND" }]
      ]) {
        yield* failWith(json({ flags, metadata }))
        assert.strictEqual(yield* refusal(evaluateAll("production")), "502 FLAGS_UNAVAILABLE", JSON.stringify(flags))
      }
      yield* failWith(json({ flags: [good], metadata: {} }))
      assert.deepStrictEqual((yield* evaluateAll("production")).map(plain), [good])
    })
  )

  withFlagd("include only the reasons that OpenFeature does not define", () =>
    Effect.gen(function* () {
      for (const [reason, ours] of Object.entries({
        SPLIT: "TARGETING_MATCH",
        CACHED: "STATIC",
        FALLBACK: "DEFAULT"
      })) {
        yield* failWith(json(flag({ reason })))
        assert.deepStrictEqual(plain(yield* evaluate("production", "on")), { ...good, reason: ours })
      }
      yield* failWith(json(flag({ reason: "DEFAULT", variant: undefined, value: undefined })))
      assert.deepStrictEqual(plain(yield* evaluate("production", "on")), { key: "on", reason: "DEFAULT", metadata })
    })
  )
})

describe("contexts that exceed the limit of flagd", () => {
  withFlagd("fail the flag and not the engine", (lines) =>
    Effect.gen(function* () {
      const large = { text: "x".repeat(1_000_000) }
      const { metadata } = (yield* FlagSets).current("production")
      const expected = { key: "on", reason: "ERROR", errorCode: "GENERAL", details: true, metadata }
      assert.deepStrictEqual(plain(yield* evaluate("production", "on", large)), expected)
      assert.deepStrictEqual((yield* evaluateAll("production", large)).map(plain), [expected])
      assert.deepInclude(plain(yield* evaluate("production", "none", large)), { errorCode: "FLAG_NOT_FOUND" })
      // flagd may be configured with a lower limit.
      yield* failWith(json({ errorDetails: "request body too large" }, 413))
      assert.deepStrictEqual(plain(yield* evaluate("production", "on")), expected)
      assert.deepStrictEqual(lines(), [])
    })
  )
})
