import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { BadGateway, GatewayTimeout, InvalidRequest } from "../../../src/domain/errors.ts"
import { Environments } from "../../../src/services/environments/Environments.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { ask, create, drafts, empty, replica, schemas, store } from "../../support/environments/environments.ts"
import { refusal } from "../../support/requests.ts"

const suite = layer(layerDatabase({ name: "environment_buckets" }), live)

suite("a creation that fails", (it) => {
  it.effect("leaves nothing when the bucket can't be created", () =>
    Effect.gen(function* () {
      yield* empty
      const down = new BadGateway({ error: "Down", code: "STORE_UNAVAILABLE" })
      store.now.findBucket = () => Effect.fail(down)
      assert.strictEqual(yield* refusal(create("a")), "502 STORE_UNAVAILABLE")
      assert.deepStrictEqual(yield* drafts, [])
      store.mend()
      store.now.createBucket = () => Effect.fail(new InvalidRequest({ error: "No", code: "STORE_REFUSED" }))
      assert.strictEqual(yield* refusal(create("b")), "400 STORE_REFUSED")
      assert.deepStrictEqual(yield* drafts, [])
      // The bucket is created, but the response is lost.
      store.now.createBucket = (name) =>
        Effect.suspend(() => {
          store.add(name)
          return Effect.fail(down)
        })
      assert.strictEqual(yield* refusal(create("c")), "502 STORE_UNAVAILABLE")
      assert.deepStrictEqual([...store.buckets.keys()], [])
      assert.deepStrictEqual(yield* drafts, [])
      // The bucket may be created after the timeout, so the draft is kept.
      store.now.createBucket = () => Effect.fail(new GatewayTimeout({ error: "Slow", code: "STORE_TIMEOUT" }))
      assert.strictEqual(yield* refusal(create("d")), "504 STORE_TIMEOUT")
      assert.deepStrictEqual(yield* drafts, ["project-d"])
      store.add("project-d")
      store.mend()
      yield* create("d")
      assert.deepStrictEqual(yield* drafts, [])
      assert.deepStrictEqual(yield* schemas, ["project_d"])
      assert.lengthOf(yield* ask("table svc.environments"), 1)
    })
  )

  it.effect("removes the bucket when the schema can't be created", () =>
    Effect.gen(function* () {
      yield* empty
      yield* ask(
        `create function no_schema() returns event_trigger language plpgsql as $$ begin
           if tg_tag = 'CREATE SCHEMA' then raise exception using errcode = '42501'; end if; end $$`
      )
      yield* ask("create event trigger no_schema on ddl_command_start execute function no_schema()")
      assert.strictEqual(yield* refusal(create("a")), "403 SCHEMA_NOT_ALLOWED")
      yield* ask("drop event trigger no_schema")
      assert.deepStrictEqual([[...store.buckets.keys()], yield* schemas, yield* drafts], [[], [], []])
      // Another client creates the schema in between; the second time the bucket is not empty.
      const { sql } = yield* Outside
      store.now.createBucket = (name) =>
        Effect.tap(store.plain.createBucket(name), sql(`create schema project_${name.slice("project-".length)}`))
      assert.strictEqual(yield* refusal(create("late")), "409 SCHEMA_EXISTS")
      assert.deepStrictEqual([...store.buckets.keys()], [])
      store.full.add("project-later")
      assert.strictEqual(yield* refusal(create("later")), "409 SCHEMA_EXISTS")
      assert.deepStrictEqual([...store.buckets.keys()], ["project-later"])
      assert.deepStrictEqual(yield* drafts, [])
    })
  )
})

suite("the draft of a killed process", (it) => {
  const note = (name: string, age: string) =>
    ask(`insert into svc.environment_drafts values ('${name}', default, now() - interval '${age}')`)
  /** Starts the service, and returns the remaining drafts. */
  const start = (left: number) =>
    Effect.gen(function* () {
      yield* Effect.service(Environments)
      for (let tries = 0; tries < 200 && (yield* drafts).length > left; tries++) yield* Effect.sleep("10 millis")
      return yield* drafts
    }).pipe(Effect.provide(replica()), Effect.scoped)

  it.effect("is removed with its bucket at the next start, if the bucket is empty and as old as the draft", () =>
    Effect.gen(function* () {
      yield* empty
      const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
      yield* note("project-dead", "1 hour")
      store.add("project-dead", hourAgo)
      yield* note("project-never", "1 hour")
      yield* note("project-full", "1 hour")
      store.add("project-full", hourAgo)
      store.full.add("project-full")
      yield* note("project-later", "1 hour")
      store.add("project-later")
      store.add("project-other", hourAgo)
      yield* note("project-young", "1 second")
      assert.deepStrictEqual(yield* start(1), ["project-young"])
      assert.deepStrictEqual([...store.buckets.keys()], ["project-full", "project-later", "project-other"])
    })
  )

  it.effect("waits for the store, and is removed at the next call", () =>
    Effect.gen(function* () {
      yield* empty
      yield* note("project-a", "5 minutes")
      store.add("project-a", new Date(Date.now() - 300_000).toISOString())
      store.now.buckets = Effect.fail(new BadGateway({ error: "Down", code: "STORE_UNAVAILABLE" }))
      assert.strictEqual(yield* refusal(create("a")), "502 STORE_UNAVAILABLE")
      assert.deepStrictEqual(yield* drafts, ["project-a"])
      store.mend()
      yield* create("a")
      assert.deepStrictEqual([[...store.buckets.keys()], yield* drafts], [["project-a"], []])
    })
  )

  it.effect("is claimed by another process, so that a slow one creates no environment", () =>
    Effect.gen(function* () {
      yield* empty
      const { sql } = yield* Outside
      store.now.createBucket = (name) =>
        Effect.tap(store.plain.createBucket(name), sql("update svc.environment_drafts set token = gen_random_uuid()"))
      assert.strictEqual(yield* refusal(create("a")), "503 ENVIRONMENTS_BUSY")
      assert.deepStrictEqual([[...store.buckets.keys()], yield* schemas, yield* drafts], [[], [], []])
    })
  )
})
