import { Result } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { accepted, asJson } from "../../../src/http/rows/Accept.ts"

const chosen = (header: string, plans = false) => {
  const result = accepted(header, plans)
  return Result.isSuccess(result) ? result.success.contentType : result.failure.error
}

describe("Accept", () => {
  it("is JSON by default, always the same object", () => {
    for (const header of [undefined, "", "*/*", "application/json", "text/html, */*;q=0.1", ","]) {
      assert.strictEqual(Result.getOrThrow(accepted(header, false)), asJson, header)
    }
  })

  const object = "application/vnd.pgrst.object+json"
  it.each<[header: string, contentType: string]>([
    ["text/csv", "text/csv; charset=utf-8"],
    ["TEXT/CSV; header=present", "text/csv; charset=utf-8"],
    [object, `${object}; charset=utf-8`],
    ["application/vnd.pgrst.object", `${object}; charset=utf-8`],
    ["ApplicatIon/vnd.PgRsT.object+json", `${object}; charset=utf-8`],
    [`${object};nulls=stripped`, `${object};nulls=stripped; charset=utf-8`],
    [`${object} ; Nulls = stripped`, `${object};nulls=stripped; charset=utf-8`],
    ["application/vnd.pgrst.array+json", "application/json; charset=utf-8"],
    ["application/vnd.pgrst.array;nulls=stripped", "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8"],
    // By weight, then the more specific type, then the order in the header.
    ["application/json;q=0.5, text/csv;q=0.9", "text/csv; charset=utf-8"],
    ["text/csv, application/json", "text/csv; charset=utf-8"],
    ["*/*, text/csv", "text/csv; charset=utf-8"],
    [
      "application/json, application/vnd.pgrst.array+json;nulls=stripped",
      "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8"
    ],
    ["image/png, text/csv;q=0.2", "text/csv; charset=utf-8"],
    ["text/csv;q=0, application/json;q=0.1", "application/json; charset=utf-8"]
  ])("%s", (header, contentType) => {
    assert.strictEqual(chosen(header), contentType)
  })

  it("reports the unavailable media types", () => {
    const none = "None of these media types are available: "
    assert.strictEqual(chosen("image/png"), `${none}image/png`)
    assert.strictEqual(
      chosen("image/*;q=0.2, text/html; level=1, unknown/unknown"),
      `${none}text/html;level=1, unknown/unknown, image/*`
    )
    assert.strictEqual(
      chosen("application/vnd.pgrst.plan; options=wal|analyze"),
      `${none}application/vnd.pgrst.plan+text; for="application/json"; options=analyze|wal`
    )
    const result = accepted("image/png", false)
    assert.deepInclude(Result.isFailure(result) ? result.failure : {}, { status: 406, code: "PGRST107" })
  })

  it.each<[header: string, form: object, contentType: string]>([
    [
      "application/vnd.pgrst.plan",
      { media: "plan-text", of: "json", options: [], stripNulls: false },
      'application/vnd.pgrst.plan+text; for="application/json"; charset=utf-8'
    ],
    [
      'application/vnd.pgrst.plan+json; for="text/csv"; options=buffers|analyze|nothing',
      { media: "plan-json", of: "csv", options: ["analyze", "buffers"], stripNulls: false },
      'application/vnd.pgrst.plan+json; for="text/csv"; options=analyze|buffers; charset=utf-8'
    ],
    [
      `application/vnd.pgrst.plan+text;for="${object};nulls=stripped"`,
      { media: "plan-text", of: "object", options: [], stripNulls: true },
      `application/vnd.pgrst.plan+text; for="${object};nulls=stripped"; charset=utf-8`
    ]
  ])("%s", (header, form, contentType) => {
    const result = Result.getOrThrow(accepted(header, true))
    assert.deepStrictEqual(result, { form, contentType } as typeof result)
  })

  it("rejects plans of plans and of unknown media types", () => {
    for (const of of ["image/png", "application/vnd.pgrst.plan"]) {
      assert.match(chosen(`application/vnd.pgrst.plan;for="${of}"`, true), /^None of these/)
    }
  })

  it("accepts or rejects any text without throwing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.boolean(), (text, plans) => {
        const result = accepted(text, plans)
        if (Result.isFailure(result)) assert.strictEqual(result.failure.code, "PGRST107")
      })
    )
  })
})
