import { assert, describe, it } from "vitest"
import { type Job, FairQueue } from "../../../src/domain/webhooks/FairQueue.ts"

const jobs = (webhook: number, count: number, size = 100): ReadonlyArray<Job> =>
  Array.from({ length: count }, () => ({ webhook, size }))

const add = (lanes: FairQueue<Job>, ...given: ReadonlyArray<ReadonlyArray<Job>>) =>
  lanes.add(given.flat(), lanes.room())

/** Starts all that may start. */
const start = (lanes: FairQueue<Job>) => {
  const started: Array<Job> = []
  for (let job = lanes.next(); job !== undefined; job = lanes.next()) started.push(job)
  return started
}
const of = (started: ReadonlyArray<Job>, webhook: number) => started.filter((job) => job.webhook === webhook).length

describe("FairQueue", () => {
  it("gives one quick webhook all lanes", () => {
    const lanes = new FairQueue(50)
    add(lanes, jobs(1, 200))
    assert.lengthOf(start(lanes), 50)
    assert.strictEqual(lanes.underWay, 50)
  })

  it("gives a slow one that is alone all but a fifth", () => {
    const lanes = new FairQueue(50)
    add(lanes, jobs(1, 200))
    const first = start(lanes)
    for (const job of first) lanes.done(job, 15_000)
    assert.lengthOf(start(lanes), 40)
  })

  it("gives each a fifth while others have something, in turns", () => {
    const lanes = new FairQueue(50)
    add(lanes, jobs(1, 100), jobs(2, 100), jobs(3, 1))
    const started = start(lanes)
    assert.deepStrictEqual([of(started, 1), of(started, 2), of(started, 3)], [10, 10, 1])
    assert.deepStrictEqual(
      started.slice(0, 4).map(({ webhook }) => webhook),
      [1, 2, 3, 1]
    )
  })

  it("lets everybody have one, also when all lanes are taken by others", () => {
    const lanes = new FairQueue(5)
    add(lanes, jobs(1, 20))
    assert.lengthOf(start(lanes), 5)
    add(lanes, jobs(2, 3), jobs(3, 3))
    const started = start(lanes)
    assert.deepStrictEqual([of(started, 1), of(started, 2), of(started, 3)], [0, 1, 1])
    assert.deepStrictEqual([lanes.room().held.get(1), lanes.room().others], [0, 1])
  })

  it("works with one lane", () => {
    const lanes = new FairQueue(1)
    add(lanes, jobs(1, 3))
    const [first] = start(lanes)
    assert.strictEqual(lanes.underWay, 1)
    lanes.done(first as Job, 5)
    assert.lengthOf(start(lanes), 1)
  })

  it("is hungry while what it asked for came in full, and there is room again", () => {
    const lanes = new FairQueue(10)
    const { others } = lanes.room()
    assert.strictEqual(others, 4)
    add(lanes, jobs(1, others))
    start(lanes)
    assert.isTrue(lanes.hungry)
    add(lanes, jobs(1, lanes.room().held.get(1) ?? 0))
    assert.isFalse(lanes.hungry, "all places are taken")
    for (const job of start(lanes)) lanes.done(job, 1)
    start(lanes)
    assert.isTrue(lanes.hungry)
    add(lanes, [])
    assert.isFalse(lanes.hungry, "nothing came")
  })

  it("never asks for ever: whatever is added and done, hunger ends when nothing comes", () => {
    const lanes = new FairQueue(7)
    for (let round = 0; round < 200; round++) {
      const room = lanes.room()
      const given: Array<Job> = []
      for (let webhook = 1; webhook <= 9; webhook++) {
        const may = room.held.get(webhook) ?? room.others
        given.push(...jobs(webhook, Math.min(may, (round * 7 + webhook * 3) % 6)))
      }
      lanes.add(given.slice(0, room.total), room)
      const started = start(lanes)
      assert.isAtMost(lanes.underWay, 7 + 9)
      for (const [i, job] of started.entries())
        if ((i + round) % 3 > 0) lanes.done(job, (round % 5) * 500)
        else lanes.done(job, 1)
      add(lanes, [])
      assert.isFalse(lanes.hungry)
    }
  })

  it("holds no more than so many bytes", () => {
    const lanes = new FairQueue(50)
    add(lanes, jobs(1, 10, 1_000_000))
    assert.isFalse(lanes.hungry)
    assert.strictEqual(lanes.room().size, 16 * 1024 * 1024 - 10_000_000)
    for (const job of start(lanes)) lanes.done(job, 1)
    assert.strictEqual(lanes.room().size, 16 * 1024 * 1024)
  })

  it("gives back what waits, of one or of all", () => {
    const lanes = new FairQueue(5)
    add(lanes, jobs(1, 4), jobs(2, 4))
    start(lanes)
    assert.lengthOf(lanes.drop(1), 3)
    assert.lengthOf(lanes.drop(1), 0)
    assert.lengthOf(lanes.drop(), 3)
    assert.isUndefined(lanes.next())
    assert.strictEqual(lanes.underWay, 2)
  })
})
