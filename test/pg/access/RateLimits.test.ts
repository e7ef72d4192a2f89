import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Keys } from "../../../src/services/access/Keys.ts"
import { makeReplicaLimits } from "../../../src/services/access/RateLimits.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const now = () => performance.now()

/** Replicas on one database, and a new key for them. */
const replicas = Effect.gen(function* () {
  const { key } = yield* (yield* Keys).create("anon", "limited", null)
  return { key: key.id, takes: yield* Effect.all([makeReplicaLimits, makeReplicaLimits, makeReplicaLimits]) }
})

/** Lets the calls of a key become older. */
const wait = Effect.fnUntraced(function* (key: number, seconds: number) {
  const { sql } = yield* Outside
  yield* sql(`update svc.rate_calls set second = second - interval '${seconds} seconds' where key_id = ${key}`)
})

layer(layerDatabase({ name: "replica_limits" }), live)("rate limits of several replicas", (it) => {
  it.effect("are exact when they are small, also at once, and free calls after a minute", () =>
    Effect.gen(function* () {
      const { key, takes } = yield* replicas
      const [first, ...others] = takes
      assert.deepStrictEqual(yield* first(key, 10, now()), { allowed: true, limit: 10, remaining: 9, resetSeconds: 60 })
      const all = yield* Effect.all(
        Array.from({ length: 30 }, (_, n) => takes[n % 3]!(key, 10, now())),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        all.filter(({ allowed }) => allowed),
        9
      )
      for (const { allowed, remaining, resetSeconds } of all) {
        if (allowed) continue
        assert.strictEqual(remaining, 0)
        assert.isTrue(resetSeconds >= 50 && resetSeconds <= 61, String(resetSeconds))
      }
      // What is known to be refused is not asked for again, but a higher limit is.
      yield* wait(key, 62)
      for (const take of takes) assert.isFalse((yield* take(key, 10, now())).allowed)
      assert.isTrue((yield* first(key, 11, now())).allowed)
      for (const take of others) assert.isTrue((yield* take(key, 10, now() + 62_000)).allowed)
    })
  )

  it.effect("are exceeded by a fiftieth for each replica at most, and cost few questions", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { key, takes } = yield* replicas
      const limit = 1000
      let admitted = 0
      // Each turn is 1 ms in which every replica has two calls.
      for (let turn = 0; turn < 400; turn++) {
        for (const take of takes) {
          for (const { allowed } of yield* Effect.all([take(key, limit, now()), take(key, limit, now())])) {
            if (allowed) admitted++
          }
        }
        yield* Effect.yieldNow
      }
      assert.isAtLeast(admitted, limit - 60)
      assert.isAtMost(admitted, limit + 60)
      const [row] = yield* sql(
        `select sum(calls)::int as calls, count(*)::int as n from svc.rate_calls where key_id = ${key}`
      )
      assert.isAtLeast(Number(row?.["calls"]), limit - 60)
      assert.isAtMost(Number(row?.["n"]), 3 * 10)
    })
  )

  it.effect("are counted by each alone while the database does not answer", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { key, takes } = yield* replicas
      assert.isTrue((yield* takes[0](key, 3, now())).allowed)
      yield* sql("alter function svc.take_calls rename to take_calls_away")
      const alone = yield* Effect.all(Array.from({ length: 4 }, () => takes[1](key, 3, now())))
      assert.deepStrictEqual(
        alone.map(({ allowed }) => allowed),
        [true, true, true, false]
      )
      yield* sql("alter function svc.take_calls_away rename to take_calls")
      assert.isFalse((yield* takes[2](key, 1, now())).allowed)
    })
  )
})
