import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Turns } from "../../../src/services/access/Turns.ts"

/** Requests that run until `end`. */
const started = Effect.gen(function* () {
  const turns = yield* Turns
  const running: Array<string> = []
  const begin = (client: string, name: string) =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<void>()
      const fiber = yield* turns
        .take(
          client,
          Effect.andThen(
            Effect.sync(() => running.push(name)),
            Deferred.await(end)
          )
        )
        .pipe(Effect.forkChild({ startImmediately: true }))
      return { fiber, end: Effect.andThen(Deferred.succeed(end, undefined), Fiber.await(fiber)) }
    })
  return { running, begin }
})

/** Lets what has been scheduled with setImmediate run. */
const settled = Effect.promise(() => new Promise((resolve) => setImmediate(() => setImmediate(resolve))))

it.layer(Turns.layer)("Turns", (it) => {
  it.effect("run two requests of a client at a time, and those of others beside them", () =>
    Effect.gen(function* () {
      const { begin, running } = yield* started
      const first = yield* begin("a", "a1")
      const second = yield* begin("a", "a2")
      const third = yield* begin("a", "a3")
      const other = yield* begin("b", "b1")
      assert.deepStrictEqual(running, ["a1", "a2", "b1"])
      yield* first.end
      yield* settled
      assert.deepStrictEqual(running, ["a1", "a2", "b1", "a3"])
      for (const { end } of [second, third, other]) assert.isTrue(Exit.isSuccess(yield* end))
      yield* settled
    })
  )

  it.effect("are had once by a request, so that two whose parts are costly too do not wait for each other", () =>
    Effect.gen(function* () {
      const turns = yield* Turns
      const nested = (name: string) => turns.take("n", turns.take("n", Effect.delay(Effect.succeed(name), 1)))
      const both = yield* Effect.forkChild(Effect.all([nested("one"), nested("two")], { concurrency: 2 }))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(both), ["one", "two"])
      yield* settled
    })
  )

  it.effect("pass to the next request when one is interrupted, running or waiting", () =>
    Effect.gen(function* () {
      const { begin, running } = yield* started
      const first = yield* begin("a", "a1")
      const second = yield* begin("a", "a2")
      const waiting = yield* begin("a", "a3")
      const last = yield* begin("a", "a4")
      yield* Fiber.interrupt(waiting.fiber)
      yield* Fiber.interrupt(first.fiber)
      yield* settled
      assert.deepStrictEqual(running, ["a1", "a2", "a4"])
      yield* second.end
      yield* last.end
      yield* settled
    })
  )

  it.effect("are refused to a client that already has hundreds of waiting requests", () =>
    Effect.gen(function* () {
      const { begin } = yield* started
      const waiting = yield* Effect.forEach(Array.from({ length: 2 + 256 }), (_, n) => begin("a", String(n)))
      const { fiber } = yield* begin("a", "refused")
      const refused = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(refused.code, "TOO_MANY_LARGE_REQUESTS")
      yield* Effect.forEach(waiting, ({ fiber }) => Fiber.interrupt(fiber))
      yield* settled
      const after = yield* begin("a", "after")
      assert.isTrue(Exit.isSuccess(yield* after.end))
    })
  )
})
