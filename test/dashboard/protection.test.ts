import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { exposedOf } from "../../dashboard/src/copies/protection/exposure.ts"
import {
  endsOf,
  fieldMoment,
  fieldText,
  gapsOf,
  lagOf,
  lengthOf,
  pastedMoment,
  problemOf
} from "../../dashboard/src/copies/protection/moments.ts"
import { type Drill, type Protection } from "../../dashboard/src/copies/protection/queries.ts"
import { lineOf, tickText, timeAt } from "../../dashboard/src/copies/protection/timeline.ts"

const at = (text: string) => Date.parse(text)
const day = 86_400_000

const state: Protection = {
  earliest: "2026-11-20T12:00:00.400Z",
  latest: "2026-11-27T12:00:00.600Z",
  lag_seconds: 0.4,
  base_backups: [],
  spans: [{ from: "2026-11-20T12:00:00.400Z", to: "2026-11-27T12:00:00.600Z" }],
  place: "/mnt/archive",
  archiving: true,
  problem: null,
  retained_bytes: 0,
  limit_bytes: 1_000_000_000,
  objects: { archived_until: null, problem: null },
  recovery_key: { made: true, kept_at: "2026-11-01T00:00:00.000Z" },
  health: "ok",
  keep_seconds: 604_800,
  same_disk: false,
  unlogged_tables: [],
  unversioned_buckets: []
}
const drill = (status: Drill["status"], error: string | null = null): Drill => ({
  id: 1,
  started_at: "2026-11-27T03:00:00.000Z",
  finished_at: "2026-11-27T03:01:00.000Z",
  target_time: "2026-11-27T02:00:00.000Z",
  status,
  error,
  seconds: 60,
  tables: 1,
  rows: 1
})

describe("a time to restore", () => {
  const spans = [
    { from: at("2026-11-20T12:00:00.400Z"), to: at("2026-11-22T00:00:00.600Z") },
    { from: at("2026-11-23T00:00:00.100Z"), to: at("2026-11-27T12:00:00.600Z") }
  ]

  it("is a whole second between both ends, and not in a gap", () => {
    assert.deepStrictEqual(endsOf(spans), { from: at("2026-11-20T12:00:01Z"), to: at("2026-11-27T12:00:00Z") })
    assert.deepStrictEqual(gapsOf(spans), [
      { from: at("2026-11-22T00:00:00.600Z"), to: at("2026-11-23T00:00:00.100Z") }
    ])
    const problem = (text: string) => problemOf(at(text), spans)
    assert.strictEqual(problem("2026-11-20T12:00:01Z"), undefined)
    assert.strictEqual(problem("2026-11-27T12:00:00Z"), undefined)
    assert.match(problem("2026-11-20T12:00:00Z") ?? "", /earliest time .* is 20 Nov 2026, 12:00:01 UTC/)
    assert.match(problem("2026-11-27T12:00:01Z") ?? "", /latest time .* is 27 Nov 2026, 12:00:00 UTC/)
    assert.match(
      problem("2026-11-22T12:00:00Z") ?? "",
      /before 22 Nov 2026, 00:00:00 UTC, or from 23 Nov 2026, 00:00:01 UTC/
    )
    assert.strictEqual(problemOf(undefined, spans), "Enter a date and a time")
    assert.strictEqual(problemOf(1, []), "Nothing can be restored yet")
    assert.strictEqual(endsOf([{ from: 100, to: 900 }]), undefined, "no whole second is in between")
  })

  it("is a field's text in UTC and back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
        assert.strictEqual(fieldMoment(fieldText(seconds * 1000)), seconds * 1000)
      })
    )
    assert.strictEqual(fieldMoment("2026-11-27T12:00"), at("2026-11-27T12:00:00Z"))
    for (const text of ["", "2026-11-27", "2026-13-27T12:00", "2026-11-27T12:00:00Z"]) {
      assert.strictEqual(fieldMoment(text), undefined, text)
    }
  })

  it.each([
    ["2026-11-27T12:00:05Z", "2026-11-27T12:00:05Z"],
    ["  2026-11-27 12:00:05.987 UTC\n", "2026-11-27T12:00:05Z"],
    ["2026-11-27 12:00", "2026-11-27T12:00:00Z"],
    ["2026-11-27 12:00:05+01", "2026-11-27T11:00:05Z"],
    ["2026-11-27T12:00:05,5-0330", "2026-11-27T15:30:05Z"],
    ["2026-11-27T12:00:05+05:45", "2026-11-27T06:15:05Z"]
  ])("is pasted as logs write it: %s", (text, expected) => {
    assert.strictEqual(pastedMoment(text), at(expected))
  })

  it.each(["", "yesterday", "2026-11-27", "12:00:00", "2026-11-27T25:00:00Z"])("is not pasted from %j", (text) => {
    assert.strictEqual(pastedMoment(text), undefined)
  })

  it("has lengths in words", () => {
    assert.deepStrictEqual([0.04, 9.99, 95, 130, 7200, 6.9 * 86_400].map(lagOf), [
      "0.0 s",
      "10.0 s",
      "95 s",
      "2 minutes",
      "2 hours",
      "6 days"
    ])
    assert.deepStrictEqual([1, 59, 60, 86_400].map(lengthOf), ["1 second", "59 seconds", "1 minute", "1 day"])
  })
})

describe("the line of times", () => {
  const now = at("2026-11-27T12:00:00Z")
  const line = (spans: ReadonlyArray<{ from: number; to: number }>, keep = 7 * day) =>
    lineOf({
      now,
      keep,
      spans,
      bases: spans.map(({ from }) => ({ completed_at: new Date(from).toISOString() })),
      drills: [{ target_time: "2026-11-27T02:00:00Z" }, { target_time: "2026-01-01T00:00:00Z" }]
    })

  it("has everything within its ends, gaps between spans, and few ticks", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 * 86_400 }), { minLength: 2, maxLength: 8 }), (seconds) => {
        const times = seconds.toSorted((a, b) => b - a).map((one) => now - one * 1000)
        const spans = Array.from({ length: Math.floor(times.length / 2) }, (_, n) => ({
          from: times[2 * n] ?? 0,
          to: times[2 * n + 1] ?? 0
        }))
        const drawn = line(spans)
        for (const one of [...drawn.spans, ...drawn.gaps]) {
          assert.isAtLeast(one.at, 0)
          assert.isAtMost(one.at + one.width, 100 + 1e-9)
        }
        for (const one of [...drawn.bases, ...drawn.drills, ...drawn.ticks]) {
          assert.isTrue(one.at >= 0 && one.at <= 100)
        }
        assert.isAtMost(drawn.ticks.length, 10)
        for (const part of [0, 0.3, 0.9, 1]) {
          const time = timeAt(drawn, part)
          const whole = drawn.spans.some(({ of }) => time >= of.from && time <= of.to)
          const tooShort = drawn.spans.every(({ of }) => of.to - of.from < 2000)
          assert.isTrue(whole || tooShort || drawn.spans.length === 0)
        }
      })
    )
  })

  it("begins with the first time, at most a day before what is kept, and is ten minutes at least", () => {
    assert.strictEqual(line([{ from: now - 3 * day, to: now }]).from, now - 3 * day)
    assert.strictEqual(line([{ from: now - 30 * day, to: now }]).from, now - 8 * day)
    assert.strictEqual(line([{ from: now - 5000, to: now }]).from, now - 600_000)
    assert.strictEqual(line([{ from: now - 3 * day, to: now }]).drills.length, 1)
    assert.deepStrictEqual([at("2026-11-27T00:00:00Z"), at("2026-11-27T06:00:00Z")].map(tickText), ["27 Nov", "06:00"])
  })
})

describe("what is not protected", () => {
  const exposed = (
    change: Partial<Protection> | null,
    { drills, scheduled = true }: { drills?: ReadonlyArray<Drill> | null; scheduled?: boolean } = {}
  ) =>
    exposedOf({ state: change === null ? null : { ...state, ...change }, scheduled, drills }).map(
      ({ id, severity }) => `${id} ${severity}`
    )

  it("is nothing if all is well, or is not known", () => {
    assert.deepStrictEqual(exposed({}), [])
    assert.deepStrictEqual(exposed({ health: null, same_disk: null, unversioned_buckets: null }, { drills: null }), [])
    assert.deepStrictEqual(exposed({}, { drills: [drill("running"), drill("passed")] }), [])
  })

  it.each<readonly [string, Partial<Protection> | null, ReadonlyArray<string>]>([
    ["recovery is off", null, ["off bad"]],
    ["log was lost", { health: "lost" }, ["archiving bad"]],
    ["nothing archives", { health: "unread", archiving: false }, ["archiving bad"]],
    ["a place fails", { health: null, archiving: false, problem: "no disk" }, ["archiving bad"]],
    ["log may be lost", { health: "at_risk" }, ["archiving bad"]],
    ["it is late", { health: "late", lag_seconds: 90 }, ["archiving warn"]],
    ["another process is about to take over", { health: "ok", archiving: false }, []],
    ["there is no base backup", { earliest: null, latest: null, lag_seconds: null, spans: [] }, ["first warn"]],
    ["one disk has both", { same_disk: true }, ["disk bad"]],
    ["there is no key", { recovery_key: { made: false, kept_at: null } }, ["key bad"]],
    ["the key is not confirmed", { recovery_key: { made: true, kept_at: null } }, ["key bad"]],
    ["buckets have no versions", { unversioned_buckets: ["a"] }, ["buckets warn"]],
    ["tables are unlogged", { unlogged_tables: ["public.a"] }, ["unlogged warn"]],
    [
      "time is missing",
      {
        spans: [
          { from: "2026-11-20T12:00:00.000Z", to: "2026-11-21T12:00:00.000Z" },
          { from: "2026-11-22T12:00:00.000Z", to: "2026-11-27T12:00:00.000Z" }
        ]
      },
      ["gaps warn"]
    ]
  ])("is said when %s", (_, change, expected) => {
    assert.deepStrictEqual(exposed(change), expected)
  })

  it("is also what was not tried, or failed, and the worst comes first", () => {
    assert.deepStrictEqual(exposed({}, { drills: [] }), ["drill warn"])
    assert.deepStrictEqual(exposed({}, { drills: [drill("running"), drill("failed", "no log")] }), ["drill bad"])
    assert.deepStrictEqual(
      exposed({ unlogged_tables: ["public.a"], same_disk: true }, { drills: [], scheduled: false }),
      ["disk bad", "unlogged warn", "drill warn", "unscheduled advice"]
    )
    assert.deepStrictEqual(exposed(null, { scheduled: false }), ["off bad", "unscheduled advice"])
  })

  it("has remedies that can be run as they are", () => {
    const codes = exposedOf({
      state: { ...state, unlogged_tables: ['public."My table"'], unversioned_buckets: ["a", "b"] },
      scheduled: false,
      drills: undefined
    }).map(({ code }) => code)
    assert.deepStrictEqual(codes, [
      "aws s3api put-bucket-versioning --bucket a --versioning-configuration Status=Enabled\naws s3api put-bucket-versioning --bucket b --versioning-configuration Status=Enabled",
      'alter table public."My table" set logged;',
      "SVC_BACKUP_CRON=0 3 * * *"
    ])
  })
})
