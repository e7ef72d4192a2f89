import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import { columnsOf, merged, mostKept, summaryOf } from "../../dashboard/src/realtime/events.ts"
import { type Entry, entryOf } from "../../dashboard/src/wire/changes/message.ts"

const change = (id: number): Entry =>
  entryOf(
    `{"id":${id},"schema":"public","table":"t","operation":"INSERT","row":{"id":${id}},"old_row":null,"timestamp":"2026-11-21T13:45:48.364Z"}`
  )

describe("events of the feed", () => {
  it("are shown newest first and once, however often they are repeated", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(30), fc.nat(30)), { maxLength: 12 }), (parts) => {
        // Each connection repeats from some event on, and goes on from there.
        let kept: ReadonlyArray<Entry> = []
        let newest = 0
        for (const [back, more] of parts) {
          const from = Math.max(1, newest - back)
          const last = newest + more
          kept = merged(
            kept,
            Array.from({ length: last - from + 1 }, (_, at) => change(from + at))
          )
          newest = last
        }
        assert.deepStrictEqual(
          kept.map(({ id }) => id),
          Array.from({ length: newest }, (_, at) => newest - at)
        )
      })
    )
  })

  it("are kept up to a number, the newest", () => {
    const all = merged(
      [],
      Array.from({ length: mostKept + 10 }, (_, at) => change(at + 1))
    )
    assert.strictEqual(all.length, mostKept)
    assert.strictEqual(all[0]?.id, mostKept + 10)
  })

  it("keep every digit of a number, and name what an update has changed", () => {
    const entry = entryOf(
      '{"id":5,"schema":"s","table":"t","operation":"UPDATE","row":{"a":9007199254740993,"b":null,"c":{"d":1}},"old_row":{"a":9007199254740992,"b":null,"c":{"d":1}},"timestamp":"2026-11-21T13:45:48.364Z"}'
    )
    assert.strictEqual(entry.tag, "change")
    if (entry.tag !== "change") return
    assert.strictEqual(entry.table, "s.t")
    assert.deepStrictEqual(
      columnsOf(entry).map(({ changed, name }) => [name, changed]),
      [
        ["a", true],
        ["b", false],
        ["c", false]
      ]
    )
    assert.strictEqual(summaryOf(entry), "a: 9007199254740992 → 9007199254740993")
  })

  it("before a gap do not hide those behind it", () => {
    const gap = entryOf('{"gap":true,"since":1,"oldest":50}')
    const all = merged([change(1)], [gap, change(60)])
    assert.deepStrictEqual(
      all.map(({ id, tag }) => [tag, id]),
      [
        ["change", 60],
        ["gap", 50],
        ["change", 1]
      ]
    )
  })
})
