import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { inSteps } from "../../src/services/LoopTurn.ts"

/** Time that passes only by being looked at: 10 ms for each look, more than a fiber may run without a pause. */
const passing = Effect.map(Clock.Clock, (clock) => {
  let now = 0
  return { ...clock, currentTimeMillisUnsafe: () => (now += 10) }
})

/** Work of `steps` steps, each recorded with the round of the event loop in which it was done. */
const makeWork = (
  name: string,
  steps: number,
  log: Array<readonly [name: string, round: number]>,
  round: () => number
) => {
  let left = steps
  return {
    name,
    step: (size: number) => {
      assert.isAtMost(size, 64 * 1024)
      log.push([name, round()])
      return --left === 0
    }
  }
}

const withRounds = <A, E>(use: (round: () => number) => Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    let rounds = 0
    let next = setImmediate(function count() {
      rounds++
      next = setImmediate(count)
    })
    return Effect.ensuring(
      use(() => rounds),
      Effect.sync(() => clearImmediate(next))
    )
  })

describe("work in steps", () => {
  it.effect("lets the event loop serve others, one step of one work in each round", () =>
    withRounds((round) =>
      Effect.gen(function* () {
        const log: Array<readonly [string, number]> = []
        const works = ["a", "b", "c"].map((name) => makeWork(name, 20, log, round))
        const clock = yield* passing
        const done = yield* Effect.forEach(works, (work) => inSteps(work), { concurrency: "unbounded" }).pipe(
          Effect.provideService(Clock.Clock, clock)
        )
        assert.deepStrictEqual(done, works)
        assert.strictEqual(log.length, 60)
        // The first steps are done at once.
        const rounds = log.slice(3).map(([, at]) => at)
        assert.strictEqual(new Set(rounds).size, rounds.length)
        assert.strictEqual(new Set(log.slice(30, 33).map(([name]) => name)).size, 3)
      })
    )
  )

  it.effect("of one step needs no pause", () =>
    withRounds((round) =>
      Effect.gen(function* () {
        const log: Array<readonly [string, number]> = []
        const before = round()
        yield* inSteps(makeWork("a", 1, log, round))
        assert.deepStrictEqual(log, [["a", before]])
        assert.strictEqual(round(), before)
      })
    )
  )
})
