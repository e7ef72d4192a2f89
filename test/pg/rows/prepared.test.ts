import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ddlEpochSql } from "../../../src/domain/catalogue/DdlSql.ts"
import { makeRowPath } from "../../../src/layers/postgres/rows/RowPath.ts"
import { serviceActor, type Statement } from "../../../src/services/ports/Db.ts"
import { AnswerMemory } from "../../../src/services/access/AnswerBudget.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const path = Effect.gen(function* () {
  const { login, sql } = yield* Outside
  const [{ epoch } = {}] = yield* sql(`select ${ddlEpochSql} as epoch`)
  const { close, run } = yield* Effect.acquireRelease(
    Effect.sync(() =>
      makeRowPath({
        authenticator: login,
        owner: login,
        serviceRole: login.user,
        searchPath: "public",
        poolSize: 1,
        timeout: 5000,
        maxPublicAnswer: 1024 * 1024,
        memory: new AnswerMemory(1024 * 1024)
      })
    ),
    ({ close }) => close
  )
  yield* Effect.addFinalizer(() => close)
  const ask = (text: string) => {
    const statement: Statement = { text, params: [], epoch: Number(epoch), access: "read" }
    return Effect.map(run(serviceActor, statement), ([value]) => value)
  }
  /** The statements that the connection keeps prepared, without the service's own. */
  const kept = Effect.map(
    ask("select coalesce(json_agg(statement), '[]') from pg_prepared_statements where statement like '/* shape %'"),
    (texts) => (JSON.parse(String(texts)) as ReadonlyArray<string>).length
  )
  return { ask, kept }
})

layer(layerDatabase({ name: "prepared" }), live)("statements", (it) => {
  it.effect("are kept prepared once they recur", () =>
    Effect.gen(function* () {
      const { ask, kept } = yield* path
      for (let n = 0; n < 300; n++) yield* ask(`/* shape ${n} */ select ${n}`)
      assert.strictEqual(yield* kept, 0)
      for (let n = 0; n < 3; n++) assert.strictEqual(yield* ask("/* shape 7 */ select 7"), "7")
      assert.strictEqual(yield* kept, 1)
    })
  )

  it.effect("are kept prepared up to a number, a length, and a total length", () =>
    Effect.gen(function* () {
      const { ask, kept } = yield* path
      const twice = (text: string) => Effect.andThen(ask(text), ask(text))
      for (let n = 0; n < 150; n++) yield* twice(`/* shape ${n} */ select ${n}`)
      assert.isBelow(yield* kept, 100)
      const long = (size: number) => `/* shape ${"x".repeat(size)} */ select 1`
      for (let n = 0; n < 100; n++) yield* twice(long(6000 + n))
      assert.isBelow(yield* kept, 25)
      assert.isAbove(yield* kept, 10)
      yield* twice(long(9000))
      const there = yield* ask("select count(*) from pg_prepared_statements where length(statement) > 8192")
      assert.strictEqual(there, "0")
    })
  )
})
