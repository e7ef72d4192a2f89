import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { EnvironmentId } from "../../../src/domain/environments/Environment.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { ask, column, create, empty, drafts, on, schemas, store } from "../../support/environments/environments.ts"
import { refusal } from "../../support/requests.ts"

const refusedSql = (text: string) =>
  Effect.map(Effect.exit(ask(text)), (exit) => (exit._tag === "Failure" ? exit.cause.toString() : ""))

const suite = layer(layerDatabase({ name: "environments" }), live)

suite("creation", (it) => {
  it.effect("creates schema, bucket and record; the first is the default", () =>
    Effect.gen(function* () {
      yield* empty
      const dev = yield* create("dev", 2, { a: { b: [1] }, gone: null })
      assert.deepInclude(dev, {
        is_default: true,
        schema_name: "project_dev",
        bucket_name: "project-dev",
        config: { a: { b: [1] } },
        deleted_at: null
      })
      assert.isFalse((yield* create("x-1", 2)).is_default)
      assert.deepStrictEqual(yield* schemas, ["project_dev", "project_x-1"])
      assert.deepStrictEqual([...store.buckets.keys()], ["project-dev", "project-x-1"])
      assert.deepStrictEqual(yield* drafts, [])
      assert.strictEqual(yield* refusal(create("third", 2)), "403 ENVIRONMENT_LIMIT")
      assert.strictEqual(yield* refusal(create("dev", 2)), "409 ENVIRONMENT_EXISTS")
    })
  )

  it.effect("does not touch an existing schema or bucket", () =>
    Effect.gen(function* () {
      yield* empty
      yield* ask("create schema project_mine")
      store.add("project-theirs")
      assert.strictEqual(yield* refusal(create("mine")), "409 SCHEMA_EXISTS")
      assert.strictEqual(yield* refusal(create("theirs")), "409 BUCKET_EXISTS")
      // Another client creates the bucket between the check and the creation.
      store.now.findBucket = (name) =>
        Effect.suspend(() => {
          const looked = store.plain.findBucket(name)
          return Effect.ensuring(
            looked,
            Effect.sync(() => store.add(name))
          )
        })
      assert.strictEqual(yield* refusal(create("raced")), "409 BUCKET_EXISTS")
      assert.deepStrictEqual([...store.buckets.keys()], ["project-theirs", "project-raced"])
      assert.deepStrictEqual(yield* schemas, ["project_mine"])
      assert.deepStrictEqual(yield* drafts, [])
      assert.deepStrictEqual(yield* ask("table svc.environments"), [])
    })
  )

  it.effect("continues when the caller disconnects", () =>
    Effect.gen(function* () {
      yield* empty
      let resolveBegun = () => {}
      const begun = new Promise<void>((done) => (resolveBegun = done))
      store.now.createBucket = (name) =>
        Effect.suspend(() => {
          resolveBegun()
          return Effect.delay(store.plain.createBucket(name), "300 millis")
        })
      yield* on((environments) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(environments.create("default", { name: "A", slug: "a" }))
          yield* Effect.promise(() => begun)
          yield* Fiber.interrupt(fiber)
          assert.lengthOf(yield* environments.list("default", false), 1)
        })
      )
      assert.deepStrictEqual([[...store.buckets.keys()], yield* schemas], [["project-a"], ["project_a"]])
    })
  )

  it.effect("is serialized over all replicas: one default, and no more than the limit", () =>
    Effect.gen(function* () {
      yield* empty
      store.now.createBucket = (name) => Effect.delay(store.plain.createBucket(name), "20 millis")
      const six = ["a", "b", "c", "a", "b", "c"]
      const codes = yield* Effect.forEach(six, (slug) => refusal(create(slug, 2)), { concurrency: "unbounded" })
      const counts = Object.groupBy(codes, (code) => code)
      assert.strictEqual(counts["200"]?.length, 2, codes.join())
      assert.isTrue(codes.every((code) => ["200", "403 ENVIRONMENT_LIMIT", "409 ENVIRONMENT_EXISTS"].includes(code)))
      assert.deepStrictEqual(yield* column("select is_default from svc.environments order by id"), [true, false])
      assert.strictEqual(store.buckets.size, 2)
      assert.lengthOf(yield* schemas, 2)
    })
  )
})

suite("the database", (it) => {
  const insert = (slug: string, rest = "false, null", id = "default") =>
    `insert into svc.environments (project_id, name, slug, schema_name, bucket_name, is_default, deleted_at)
     values ('${id}', '${slug}', '${slug}', 's_${id}_${slug}', 'b-${id}-${slug}', ${rest})`

  it.effect("enforces exactly one default for a project with environments", () =>
    Effect.gen(function* () {
      yield* empty
      assert.match(yield* refusedSql(insert("a")), /none of them is the default/)
      yield* ask(insert("a", "true, null"))
      yield* ask(insert("a", "true, null", "other"))
      yield* ask(insert("b"))
      for (const [text, message] of [
        [insert("c", "true, null"), /environments_one_default/],
        ["update svc.environments set is_default = true", /environments_one_default/],
        ["update svc.environments set is_default = false", /none of them is the default/],
        ["update svc.environments set deleted_at = now() where is_default", /environments_default_is_there/],
        ["delete from svc.environments where is_default", /none of them is the default/],
        ["update svc.environments set project_id = 'third' where slug = 'b'", /none of them is the default/],
        [insert("b"), /environments_slug/]
      ] as const) {
        assert.match(yield* refusedSql(text), message, text)
      }
      yield* ask(`begin; update svc.environments set is_default = false where slug = 'a' and project_id = 'default';
                  update svc.environments set is_default = true where slug = 'b'; commit`)
      yield* ask("delete from svc.environments")
    })
  )

  it.effect("moves the default under concurrent requests and deletions", () =>
    Effect.gen(function* () {
      yield* empty
      const ids = yield* Effect.forEach(["a", "b", "c", "d"], (slug) => Effect.map(create(slug), ({ id }) => id))
      yield* Effect.forEach(
        [...ids, ...ids],
        (id, i) =>
          i % 3 === 2
            ? refusal(on((environments) => environments.remove(id)))
            : refusal(on((environments) => environments.update(id, { is_default: true }))),
        { concurrency: "unbounded" }
      )
      const living = yield* ask("select is_default from svc.environments where deleted_at is null")
      assert.lengthOf(
        living.filter((row) => row["is_default"]),
        1
      )
    })
  )
})

suite("changes", (it) => {
  it.effect("merge the config, and reject one that is too large", () =>
    Effect.gen(function* () {
      yield* empty
      const { created_at, id } = yield* create("a", 1, { kept: 1, changed: { a: 1, b: 2 }, gone: true })
      const config = { changed: { c: 3 }, gone: null, new: [null, { deep: null }] }
      const changed = yield* on((environments) => environments.update(id, { config, name: "B" }))
      assert.deepInclude(changed, { name: "B", slug: "a", is_default: true, created_at })
      assert.deepStrictEqual(changed.config, { kept: 1, changed: { c: 3 }, new: [null, { deep: null }] })
      const large = (key: string) => ({ config: { [key]: "x".repeat(40_000) } })
      yield* on((environments) => environments.update(id, large("one")))
      assert.strictEqual(
        yield* refusal(on((environments) => environments.update(id, large("two")))),
        "400 ENVIRONMENT_CONFIG_TOO_LARGE"
      )
      assert.strictEqual(yield* refusal(create("b", 2, { a: "x".repeat(70_000) })), "400 ENVIRONMENT_CONFIG_TOO_LARGE")
      assert.deepStrictEqual([...store.buckets.keys()], ["project-a"])
      assert.deepStrictEqual(yield* schemas, ["project_a"])
    })
  )

  it.effect("keep schema and bucket of a deleted environment, which reserve the slug", () =>
    Effect.gen(function* () {
      yield* empty
      yield* create("a")
      const { id } = yield* create("b")
      yield* on((environments) => environments.remove(id))
      const findRefusal = (wanted: EnvironmentId) => refusal(on((environments) => environments.find(wanted)))
      assert.strictEqual(yield* findRefusal(id), "404 ENVIRONMENT_NOT_FOUND")
      assert.strictEqual(yield* findRefusal(EnvironmentId.make(2 ** 40)), "404 ENVIRONMENT_NOT_FOUND")
      assert.include(yield* schemas, "project_b")
      assert.strictEqual(yield* refusal(create("b")), "409 SCHEMA_EXISTS")
      yield* ask("drop schema project_b")
      assert.strictEqual(yield* refusal(create("b")), "409 BUCKET_EXISTS")
      store.buckets.delete("project-b")
      const again = yield* create("b")
      assert.notStrictEqual(again.id, id)
      const all = yield* on((environments) => environments.list("default", true))
      assert.deepStrictEqual(
        all.map(({ deleted_at, slug }) => [slug, deleted_at === null]),
        [
          ["a", true],
          ["b", false],
          ["b", true]
        ]
      )
    })
  )
})
