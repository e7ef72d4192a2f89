import { assert, it } from "@effect/vitest"
import { PerSecond, TraceSampler } from "../../src/domain/TraceSampler.ts"

it("traces its share, and of the others ten a second that callers ask for", () => {
  const draws = [0.04, 0.05, 0.9]
  let turn = 0
  const share = new TraceSampler(0.05, () => draws[turn++ % 3] ?? 0)
  assert.deepStrictEqual(
    [1, 2, 3].map(() => share.decide(false, 0)),
    [true, false, false]
  )
  const none = new TraceSampler(0)
  const asked = (now: number) => Array.from({ length: 100 }, () => none.decide(true, now)).filter(Boolean).length
  assert.deepStrictEqual([asked(5_000), asked(5_999), asked(6_000)], [10, 0, 10])
  const all = new TraceSampler(1)
  assert.isTrue(Array.from({ length: 100 }, () => all.decide(false, 0)).every(Boolean))
})

it("grants so many in each second", () => {
  const two = new PerSecond(2)
  assert.deepStrictEqual(
    [0, 10, 999, 1000, 1001, 1002, 5000].map((now) => two.take(now)),
    [true, true, false, true, true, false, true]
  )
})
