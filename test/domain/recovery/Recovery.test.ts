import { Result, Schema } from "effect"
import { assert, describe, it } from "vitest"
import { PointInTime, pointInTimeLabel } from "../../../src/domain/recovery/Recovery.ts"

const takes = (schema: Schema.Decoder<unknown>, value: unknown) =>
  Result.isSuccess(Schema.decodeUnknownResult(schema)(value))

describe("a point in time", () => {
  it.each([
    "2026-11-21T12:00:00Z",
    "2026-11-21t12:00:00.123456z",
    "2026-11-21T12:00+02:00",
    "2024-02-29T00:00:00-11:30"
  ])("may be %j", (target_time) => {
    assert.isTrue(takes(PointInTime, { target_time, label: "x" }))
  })
  it.each([
    "2026-11-21",
    "2026-11-21T12:00:00",
    "2026-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-06-31T00:00:00Z",
    "2026-06-00T00:00:00Z",
    "2026-11-21T25:00:00Z",
    "yesterday",
    "",
    1_700_000_000,
    null
  ])("is not %j", (target_time) => {
    assert.isFalse(takes(PointInTime, { target_time, label: "x" }))
  })
})

describe("the label of a branch", () => {
  it("is the time to the millisecond", () => {
    assert.strictEqual(pointInTimeLabel(Date.UTC(2026, 10, 21, 12)), "As of 2026-11-21 12:00:00Z")
    assert.strictEqual(pointInTimeLabel(Date.UTC(2026, 10, 21, 12) + 7), "As of 2026-11-21 12:00:00.007Z")
  })
})
