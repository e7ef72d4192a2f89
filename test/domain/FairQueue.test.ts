import { assert, it } from "vitest"
import { FairQueue } from "../../src/domain/FairQueue.ts"

const all = () => true

it("serves clients in turn, and each client's waiters in order", () => {
  const queue = new FairQueue<string>()
  for (const waiter of ["a1", "a2", "a3", "b1", "c1", "b2"]) queue.push(waiter.slice(0, 1), waiter)
  const served = Array.from({ length: 7 }, () => queue.shift(all))
  assert.deepStrictEqual(served, ["a1", "b1", "c1", "a2", "b2", "a3", undefined])
})

it("passes over clients that may not be served, without losing their turn", () => {
  const queue = new FairQueue<string>()
  for (const waiter of ["a1", "b1", "b2"]) queue.push(waiter.slice(0, 1), waiter)
  assert.strictEqual(
    queue.shift((client) => client === "b"),
    "b1"
  )
  assert.deepStrictEqual([queue.shift(all), queue.shift(all), queue.shift(all)], ["a1", "b2", undefined])
})

it("forgets removed waiters", () => {
  const queue = new FairQueue<string>()
  for (const waiter of ["a1", "a2"]) queue.push("a", waiter)
  queue.remove("a", "a1")
  queue.remove("a", "a1")
  queue.remove("b", "a2")
  assert.strictEqual(queue.count("a"), 1)
  assert.deepStrictEqual([queue.shift(all), queue.shift(all)], ["a2", undefined])
})
