import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { bulkReply, ofrepContext, singleReply } from "../../../src/domain/flags/Ofrep.ts"
import { type FlagResult } from "../../../src/domain/flags/Evaluation.ts"

const metadata = { flagSetId: "production", version: "1" } as const
const value = (key: string, given: unknown): FlagResult => ({
  key,
  reason: "STATIC",
  variant: "v",
  value: given,
  metadata
})

describe("the context of a request", () => {
  it("is read from the body, or fails with the reason why it is invalid", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (context) => {
        const text = JSON.stringify({ context })
        assert.strictEqual(JSON.stringify(Result.getOrThrow(ofrepContext(text))), JSON.stringify(context))
      })
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.jsonValue().map((any) => JSON.stringify(any))
        ),
        (body) => {
          const context = ofrepContext(body)
          if (Result.isSuccess(context)) assert.isObject(context.success)
          else assert.isNotEmpty(context.failure)
        }
      )
    )
  })

  it("treats `__proto__` like any other name", () => {
    const context = Result.getOrThrow(ofrepContext(`{"context":{"__proto__":{"admin":true}}}`))
    assert.isTrue(Object.hasOwn(context, "__proto__"))
    assert.isUndefined(context["admin"])
    // An inherited `context` is ignored.
    assert.deepEqual(Result.getOrThrow(ofrepContext(`{"__proto__":{"context":{"admin":true}}}`)), {})
  })
})

describe("the ETag of all flags", () => {
  const tag = (...results: ReadonlyArray<FlagResult>) => bulkReply(results, metadata, undefined).etag

  it("identifies the response", () => {
    assert.strictEqual(tag(value("a", 1)), tag(value("a", 1)))
    assert.notStrictEqual(tag(value("a", 1)), tag(value("a", 2)))
    assert.notStrictEqual(tag(value("a", 1)), tag(value("b", 1)))
    assert.notStrictEqual(tag(), tag(value("b", 1)))
    assert.match(tag() ?? "", /^"[\w-]{27}"$/)
  })

  it("returns 304 only for the tag of the response", () => {
    const results = [value("a", 1)]
    const { etag = "" } = bulkReply(results, metadata, undefined)
    const status = (names: string) => bulkReply(results, metadata, names).status
    for (const names of [etag, ` ${etag} `, `W/${etag}`, `"x",W/${etag}`, "*"])
      assert.strictEqual(status(names), 304, names)
    for (const names of ["", "x", etag.slice(1, -1), `"${etag}"`, `${etag}x`])
      assert.strictEqual(status(names), 200, names)
  })
})

describe("one flag", () => {
  it("has its value even if it is false, zero, empty or null", () => {
    for (const one of [false, 0, "", null, [], {}]) {
      const body = JSON.parse(singleReply(value("a", one)).body) as object
      assert.deepEqual(body, { key: "a", reason: "STATIC", variant: "v", value: one, metadata })
    }
  })
})
