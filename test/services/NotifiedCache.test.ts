import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue, Stream } from "effect"
import { makeInvalidatedCache, makeNotifiedCache, watchChannel } from "../../src/services/NotifiedCache.ts"
import { Listener, type ListenerMessage } from "../../src/services/ports/Listener.ts"

const notification = (payload: string): ListenerMessage => ({ _tag: "Notification", channel: "svc_test", payload })

/** A listener whose messages the test sends. */
const fakeListener = Effect.gen(function* () {
  const queue = yield* Queue.unbounded<ListenerMessage>()
  const listener = Listener.of({
    listen: () =>
      Effect.succeed({ messages: Stream.fromQueue(queue), join: () => Effect.void, leave: () => Effect.void }),
    status: Effect.die("not used")
  })
  const send = (message: ListenerMessage) => Effect.andThen(Queue.offer(queue, message), Effect.yieldNow)
  return { listener, send }
})

/** A cache over `stored`, whose next load can be held back between its read and its end. */
const fixture = Effect.fnUntraced(function* (key?: (payload: string) => string) {
  const { listener, send } = yield* fakeListener
  const stored = new Map([
    ["a", 1],
    ["b", 1]
  ])
  const dropped: Array<number | undefined> = []
  let held: Deferred.Deferred<void> | undefined
  const cache = yield* makeNotifiedCache({
    channel: "svc_test",
    load: (of: string) =>
      Effect.gen(function* () {
        const value = stored.get(of) ?? 0
        if (held !== undefined) yield* Deferred.await(held)
        return value
      }),
    ...(key === undefined ? {} : { key }),
    onInvalidated: (value) => Effect.sync(() => void dropped.push(value))
  }).pipe(Effect.provideService(Listener, listener))
  const hold = Effect.map(Deferred.make<void>(), (deferred) => {
    held = deferred
    return Effect.andThen(
      Effect.sync(() => (held = undefined)),
      Deferred.succeed(deferred, undefined)
    )
  })
  return { cache, send, stored, dropped, hold }
})

describe("a cache invalidated by notifications", () => {
  it.effect("is empty until it is connected, and is cleared when a connection is lost or restored", () =>
    Effect.gen(function* () {
      const { cache, send } = yield* fixture()
      assert.strictEqual(yield* cache.load("a"), 1)
      assert.isUndefined(cache.peek("a"))
      yield* send({ _tag: "Connected" })
      yield* cache.load("a")
      assert.strictEqual(cache.peek("a"), 1)
      yield* send({ _tag: "Lost" })
      assert.isUndefined(cache.peek("a"))
      yield* cache.load("a")
      assert.isUndefined(cache.peek("a"))
      yield* send({ _tag: "Connected" })
      assert.isUndefined(cache.peek("a"))
    })
  )

  it.effect("returns but does not keep a value that was read before a notification", () =>
    Effect.gen(function* () {
      const { cache, hold, send, stored } = yield* fixture()
      yield* send({ _tag: "Connected" })
      const release = yield* hold
      const loading = yield* Effect.forkChild(cache.load("a"))
      yield* Effect.yieldNow
      stored.set("a", 2)
      yield* send(notification("a"))
      yield* release
      assert.strictEqual(yield* Fiber.join(loading), 1)
      assert.isUndefined(cache.peek("a"))
      assert.strictEqual(yield* cache.load("a"), 2)
      assert.strictEqual(cache.peek("a"), 2)
    })
  )

  it.effect("drops everything, or only the key that the notification is about", () =>
    Effect.gen(function* () {
      for (const key of [undefined, (payload: string) => payload]) {
        const { cache, dropped, send, stored } = yield* fixture(key)
        yield* send({ _tag: "Connected" })
        stored.set("b", 3)
        for (const of of ["a", "b"]) yield* cache.load(of)
        yield* send(notification("b"))
        assert.deepStrictEqual([cache.peek("a"), cache.peek("b")], [key && 1, undefined])
        assert.deepStrictEqual(dropped, [undefined, key && 3])
      }
    })
  )

  it.effect("does not keep failures", () =>
    Effect.gen(function* () {
      let loads = 0
      const cache = makeInvalidatedCache((key: string) => (++loads === 1 ? Effect.fail(key) : Effect.succeed(loads)))
      assert.strictEqual(yield* Effect.flip(cache.load("a")), "a")
      assert.strictEqual(yield* cache.load("a"), 2)
      assert.strictEqual(cache.peek("a"), 2)
    })
  )
})

describe("the generation of a channel", () => {
  it.effect("is defined while connected, and never repeats, even with another watch", () =>
    Effect.gen(function* () {
      const seen = new Set<number>()
      for (let watch = 0; watch < 2; watch++) {
        const { listener, send } = yield* fakeListener
        const generation = yield* watchChannel(listener, "svc_test")
        assert.isUndefined(generation())
        for (const message of [
          { _tag: "Connected" },
          notification(""),
          { _tag: "Lost" },
          { _tag: "Connected" }
        ] as const) {
          yield* send(message)
          const now = generation()
          assert.strictEqual(now === undefined, message._tag === "Lost")
          if (now === undefined) continue
          assert.isFalse(seen.has(now))
          seen.add(now)
        }
      }
    }).pipe(Effect.scoped)
  )
})
