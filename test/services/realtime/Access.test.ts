import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { makeRealtimeAccess } from "../../../src/services/realtime/Access.ts"

it.effect("does not take a database that does not respond for one that denies", () =>
  Effect.gen(function* () {
    let answer: Effect.Effect<ReadonlyArray<object>> = Effect.never
    const sql = { unsafe: () => Effect.suspend(() => answer) } as unknown as SqlClient.SqlClient
    const access = yield* Effect.provideService(makeRealtimeAccess, SqlClient.SqlClient, sql)
    const asking = yield* Effect.forkChild(access.readers("public", "t"))
    yield* TestClock.adjust("2 seconds")
    assert.deepInclude(yield* Fiber.join(asking), { known: false, anon: false, authenticated: false })
    yield* TestClock.adjust("1 second")
    answer = Effect.succeed([{ anon: true, authenticated: true, secured: null }])
    assert.deepInclude(yield* access.readers("public", "t"), { known: true, anon: true })
    yield* access.forget
    answer = Effect.succeed([])
    assert.deepInclude(yield* access.readers("public", "t"), { known: true, anon: false })
  })
)
