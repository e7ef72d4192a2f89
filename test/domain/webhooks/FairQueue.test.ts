import { assert, describe, it } from "vitest"
import { type Job, EndpointQueue } from "../../../src/domain/webhooks/FairQueue.ts"

const jobs = (webhook: number, count: number, size = 100): ReadonlyArray<Job> =>
  Array.from({ length: count }, () => ({ webhook, size }))

const add = (queue: EndpointQueue<Job>, ...given: ReadonlyArray<ReadonlyArray<Job>>) =>
  queue.add(given.flat(), queue.room())

/** Starts every delivery that may start. */
const start = (queue: EndpointQueue<Job>) => {
  const started: Array<Job> = []
  for (let job = queue.next(); job !== undefined; job = queue.next()) started.push(job)
  return started
}
const of = (started: ReadonlyArray<Job>, webhook: number) => started.filter((job) => job.webhook === webhook).length

describe("FairQueue", () => {
  it("gives a quick webhook the whole concurrency", () => {
    const queue = new EndpointQueue(50)
    add(queue, jobs(1, 200))
    assert.lengthOf(start(queue), 50)
    assert.strictEqual(queue.inFlight, 50)
  })

  it("gives a single slow webhook all but a fifth of the concurrency", () => {
    const queue = new EndpointQueue(50)
    add(queue, jobs(1, 200))
    const first = start(queue)
    for (const job of first) queue.done(job, 15_000)
    assert.lengthOf(start(queue), 40)
  })

  it("gives each webhook a fifth while others have messages, round robin", () => {
    const queue = new EndpointQueue(50)
    add(queue, jobs(1, 100), jobs(2, 100), jobs(3, 1))
    const started = start(queue)
    assert.deepStrictEqual([of(started, 1), of(started, 2), of(started, 3)], [10, 10, 1])
    assert.deepStrictEqual(
      started.slice(0, 4).map(({ webhook }) => webhook),
      [1, 2, 3, 1]
    )
  })

  it("allows each webhook one delivery, even beyond the total", () => {
    const queue = new EndpointQueue(5)
    add(queue, jobs(1, 20))
    assert.lengthOf(start(queue), 5)
    add(queue, jobs(2, 3), jobs(3, 3))
    const started = start(queue)
    assert.deepStrictEqual([of(started, 1), of(started, 2), of(started, 3)], [0, 1, 1])
    assert.deepStrictEqual([queue.room().held.get(1), queue.room().others], [0, 1])
  })

  it("works with a concurrency of one", () => {
    const queue = new EndpointQueue(1)
    add(queue, jobs(1, 3))
    const [first] = start(queue)
    assert.strictEqual(queue.inFlight, 1)
    queue.done(first as Job, 5)
    assert.lengthOf(start(queue), 1)
  })

  it("wants more while claims are filled and there is room again", () => {
    const queue = new EndpointQueue(10)
    const { others } = queue.room()
    assert.strictEqual(others, 4)
    add(queue, jobs(1, others))
    start(queue)
    assert.isTrue(queue.wantsMore)
    add(queue, jobs(1, queue.room().held.get(1) ?? 0))
    assert.isFalse(queue.wantsMore, "no room is left")
    for (const job of start(queue)) queue.done(job, 1)
    start(queue)
    assert.isTrue(queue.wantsMore)
    add(queue, [])
    assert.isFalse(queue.wantsMore, "the claim was empty")
  })

  it("stops wanting more after an empty claim, after any additions and completions", () => {
    const queue = new EndpointQueue(7)
    for (let round = 0; round < 200; round++) {
      const room = queue.room()
      const given: Array<Job> = []
      for (let webhook = 1; webhook <= 9; webhook++) {
        const may = room.held.get(webhook) ?? room.others
        given.push(...jobs(webhook, Math.min(may, (round * 7 + webhook * 3) % 6)))
      }
      queue.add(given.slice(0, room.total), room)
      const started = start(queue)
      assert.isAtMost(queue.inFlight, 7 + 9)
      for (const [i, job] of started.entries())
        if ((i + round) % 3 > 0) queue.done(job, (round % 5) * 500)
        else queue.done(job, 1)
      add(queue, [])
      assert.isFalse(queue.wantsMore)
    }
  })

  it("limits the bytes it holds", () => {
    const queue = new EndpointQueue(50)
    add(queue, jobs(1, 10, 1_000_000))
    assert.isFalse(queue.wantsMore)
    assert.strictEqual(queue.room().size, 16 * 1024 * 1024 - 10_000_000)
    for (const job of start(queue)) queue.done(job, 1)
    assert.strictEqual(queue.room().size, 16 * 1024 * 1024)
  })

  it("drops the waiting messages of one webhook or of all", () => {
    const queue = new EndpointQueue(5)
    add(queue, jobs(1, 4), jobs(2, 4))
    start(queue)
    assert.lengthOf(queue.drop(1), 3)
    assert.lengthOf(queue.drop(1), 0)
    assert.lengthOf(queue.drop(), 3)
    assert.isUndefined(queue.next())
    assert.strictEqual(queue.inFlight, 2)
  })
})
