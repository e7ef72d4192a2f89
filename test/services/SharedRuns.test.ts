import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { makeSharedRuns } from "../../src/services/SharedRuns.ts"

/** Runs that end when they are allowed to, each with its number. */
const counted = Effect.gen(function* () {
  const share = yield* makeSharedRuns<number, string>()
  const ends: Array<Deferred.Deferred<number, string>> = []
  const run = Effect.suspend(() => {
    const end = Deferred.makeUnsafe<number, string>()
    ends.push(end)
    return Deferred.await(end)
  })
  const ask = (key = "key") => Effect.forkChild(share(key, run), { startImmediately: true })
  return { ends, ask }
})

it.effect("callers that come during a run share the next one", () =>
  Effect.gen(function* () {
    const { ask, ends } = yield* counted
    const first = yield* ask()
    const second = yield* ask()
    const third = yield* ask()
    const other = yield* ask("other")
    yield* Effect.yieldNow
    assert.lengthOf(ends, 2)
    yield* Deferred.succeed(ends[0] as Deferred.Deferred<number, string>, 1)
    assert.strictEqual(yield* Fiber.join(first), 1)
    yield* Deferred.succeed(ends[1] as Deferred.Deferred<number, string>, 2)
    assert.strictEqual(yield* Fiber.join(other), 2)
    yield* Effect.yieldNow
    assert.lengthOf(ends, 3)
    yield* Deferred.succeed(ends[2] as Deferred.Deferred<number, string>, 3)
    assert.deepStrictEqual([yield* Fiber.join(second), yield* Fiber.join(third)], [3, 3])
    const later = yield* ask()
    yield* Effect.yieldNow
    assert.lengthOf(ends, 4)
    yield* Deferred.succeed(ends[3] as Deferred.Deferred<number, string>, 4)
    assert.strictEqual(yield* Fiber.join(later), 4)
  }).pipe(Effect.scoped)
)

it.effect("a failure or an interruption of one caller is not another's", () =>
  Effect.gen(function* () {
    const { ask, ends } = yield* counted
    const first = yield* ask()
    const second = yield* ask()
    yield* Effect.yieldNow
    yield* Fiber.interrupt(first)
    yield* Deferred.fail(ends[0] as Deferred.Deferred<number, string>, "failed")
    yield* Effect.yieldNow
    yield* Effect.yieldNow
    assert.lengthOf(ends, 2)
    yield* Deferred.succeed(ends[1] as Deferred.Deferred<number, string>, 2)
    assert.strictEqual(yield* Fiber.join(second), 2)
  }).pipe(Effect.scoped)
)
