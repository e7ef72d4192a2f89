import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { makeRawKey } from "../../../src/domain/access/ApiKey.ts"
import { Keys } from "../../../src/services/access/Keys.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"
import { refusal } from "../../support/requests.ts"

layer(layerDatabase({ name: "unknown_keys" }), live)("an unknown key", (it) => {
  it.effect("is looked up once, until a key is created, and few are looked up at a time", () =>
    Effect.gen(function* () {
      const { create, verify } = yield* Keys
      const { sql } = yield* Outside
      const locked = yield* session
      const unknown = makeRawKey("anon")
      const known = yield* create("anon", "known", null)
      // Until the listener is connected, nothing is kept.
      yield* Effect.sleep("1 second")
      assert.strictEqual(yield* refusal(verify(unknown)), "401 INVALID_API_KEY")

      yield* locked("begin")
      yield* locked("lock table svc.api_keys in access exclusive mode")
      // Answered without a query, which would wait for the lock.
      assert.strictEqual(yield* refusal(verify(unknown)), "401 INVALID_API_KEY")
      const flood = yield* Effect.forEach(
        Array.from({ length: 30 }, () => makeRawKey("anon")),
        (raw) => Effect.forkChild(Effect.flip(verify(raw)))
      )
      yield* Effect.sleep("500 millis")
      const [waiting] = yield* sql(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%key_hash%'`
      )
      assert.strictEqual(waiting?.["n"], 4)
      yield* locked("rollback")
      for (const fiber of flood) assert.strictEqual((yield* Fiber.join(fiber)).code, "INVALID_API_KEY")
      assert.strictEqual((yield* verify(known.secret)).type, "anon")
    })
  )
})
