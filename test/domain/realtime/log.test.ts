import { assert, describe, it } from "vitest"
import { RealtimeLog } from "../../../src/domain/realtime/Event.ts"

/** Adds an event with this time; returns its id. */
const write = (log: RealtimeLog, micros: number) => {
  const id = log.nextId(micros)
  log.add({ id, schema: "public", table: "t", text: String(id) })
  return id
}
const ids = (log: RealtimeLog) => log.all.map(({ id }) => id)

describe("ids", () => {
  it("are the time of the write, and increase even if times do not", () => {
    const log = new RealtimeLog()
    assert.deepStrictEqual(
      [100, 200, 150, 150, 202, 203, 10].map((micros) => write(log, micros)),
      [100, 200, 201, 202, 203, 204, 205]
    )
  })

  it("agree with a log that started later, from the first event in order", () => {
    const [first, second] = [new RealtimeLog(), new RealtimeLog()]
    second.missed(250)
    const moments = [300, 400, 390, 395, 500, 499]
    assert.deepStrictEqual(
      moments.map((micros) => write(first, micros)),
      moments.map((micros) => write(second, micros))
    )
  })
})

describe("the log", () => {
  it("keeps the last 200, newest first", () => {
    const log = new RealtimeLog()
    for (let n = 1; n <= 200; n++) write(log, n)
    assert.strictEqual(log.size, 200)
    assert.strictEqual(log.since(0).gap, undefined)
    for (let n = 201; n <= 450; n++) write(log, n)
    assert.strictEqual(log.size, 200)
    assert.deepStrictEqual(
      ids(log),
      Array.from({ length: 200 }, (_, n) => 450 - n)
    )
  })

  it("returns no events and no gap when empty", () => {
    assert.deepStrictEqual(new RealtimeLog().since(0), { events: [], gap: undefined })
  })
})

describe("since", () => {
  const log = new RealtimeLog()
  for (let n = 1; n <= 250; n++) write(log, n * 10)
  const seen = (since: number) => {
    const { events, gap } = log.since(since)
    return { first: events[0]?.id, count: events.length, gap }
  }

  it("returns later events, oldest first, and no gap if they are complete", () => {
    assert.deepStrictEqual(seen(2500), { first: undefined, count: 0, gap: undefined })
    assert.deepStrictEqual(seen(2490), { first: 2500, count: 1, gap: undefined })
    const texts = log.since(2450).events.map(({ id }) => id)
    assert.deepStrictEqual(texts, [2460, 2470, 2480, 2490, 2500])
  })

  it("returns a gap for an id that another replica assigned", () => {
    assert.deepStrictEqual(seen(2489), { first: 2490, count: 2, gap: 2489 })
    assert.deepStrictEqual(seen(9999), { first: undefined, count: 0, gap: 9999 })
  })

  it("returns a gap exactly if an event after that id was dropped", () => {
    // 500 is the last dropped event, 510 the oldest one left.
    assert.deepStrictEqual(seen(500), { first: 510, count: 200, gap: undefined })
    assert.deepStrictEqual(seen(499), { first: 510, count: 200, gap: 500 })
    assert.deepStrictEqual(seen(0), { first: 510, count: 200, gap: 500 })
  })
})

describe("missed or cleared events", () => {
  it("are a gap for earlier ids only", () => {
    const log = new RealtimeLog()
    const before = write(log, 100)
    log.missed(200)
    assert.deepInclude(log.since(before), { gap: 200 })
    assert.deepInclude(log.since(200), { events: [], gap: undefined })
    const after = write(log, 150)
    assert.strictEqual(after, 201)
    assert.deepStrictEqual(
      log.since(before).events.map(({ id }) => id),
      [after]
    )
    assert.strictEqual(log.since(after).gap, undefined)
  })

  it("are a gap even if the clock went back", () => {
    const log = new RealtimeLog()
    const before = write(log, 100)
    log.missed(5)
    assert.isAbove(log.since(before).gap ?? 0, before)
  })

  it("do not reset ids", () => {
    const log = new RealtimeLog()
    const last = write(log, 1000)
    log.clear()
    assert.deepStrictEqual([log.size, log.all], [0, []])
    assert.deepStrictEqual(log.since(last), { events: [], gap: undefined })
    assert.strictEqual(log.since(last - 1).gap, last)
    assert.isAbove(write(log, 5), last)
  })
})
