import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import { type ConnectionChange, ConnectionId } from "../../../src/domain/connections/Connection.ts"
import { type EncryptionKey, readEncryptionKey } from "../../../src/domain/connections/SealedText.ts"
import { ConnectionProbe } from "../../../src/services/ports/ConnectionProbe.ts"
import { Connections } from "../../../src/services/connections/Connections.ts"
import { EncryptionKeys } from "../../../src/services/ports/EncryptionKeys.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { refusal } from "../../support/requests.ts"

const key = () => readEncryptionKey(randomBytes(32).toString("hex")) as EncryptionKey
const [first, second] = [key(), key()]
const good = { ok: true, checked: "query", latency_ms: 1, error: null, code: null, server_version: "18" } as const

/** The service of connections with these keys, on the same rows. */
const withKeys = (current: EncryptionKey | undefined, ...old: ReadonlyArray<EncryptionKey>) =>
  Connections.layer.pipe(
    Layer.fresh,
    Layer.provide(Layer.succeed(EncryptionKeys, { current, old })),
    Layer.provide(Layer.succeed(ConnectionProbe, { check: () => Effect.succeed(good) }))
  )

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
const sealedOf = (id: number) =>
  Effect.map(sql("select sealed_url from svc.connections where id = $1", [id]), ([row]) => String(row?.["sealed_url"]))

const use = <A, E>(ask: (connections: Connections["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(Connections, ask)
const save = (name: string, connection_url = "postgres://u:s3cret@h/db") =>
  use(({ create }) => create({ name, connection_url }))
const update = (id: number, change: ConnectionChange) => use((all) => all.update(ConnectionId.make(id), change))
const find = (id: number) => use((all) => all.find(ConnectionId.make(id)))

layer(Layer.provideMerge(withKeys(first), layerDatabase({ name: "connections" })), live)("saved connections", (it) => {
  it.effect("are stored encrypted and returned masked", () =>
    Effect.gen(function* () {
      const made = yield* save("shop")
      assert.deepInclude(made, {
        name: "shop",
        type: "postgres",
        connection_url: "postgres://u:****@h/db",
        error: null,
        old_key: false
      })
      assert.match(made.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.deepStrictEqual(yield* find(made.id), made)
      assert.deepStrictEqual(yield* use(({ list }) => list), [made])
      const [row] = yield* sql("select c::text as row, sealed_url from svc.connections c")
      assert.notMatch(String(row?.["row"]), /s3cret|postgres:/)
      assert.include(String(row?.["sealed_url"]), first.id)
    })
  )

  it.effect("change name, URL or both, and keep absent fields", () =>
    Effect.gen(function* () {
      const { id } = yield* save("to change")
      const before = yield* sealedOf(id)
      assert.deepInclude(yield* update(id, { name: "changed" }), {
        name: "changed",
        connection_url: "postgres://u:****@h/db"
      })
      assert.strictEqual(yield* sealedOf(id), before)
      const moved = yield* update(id, { connection_url: "rediss://:other@r:1" })
      assert.deepInclude(moved, { name: "changed", type: "redis", connection_url: "rediss://:****@r:1" })
      assert.deepStrictEqual(yield* update(id, {}), moved)
    })
  )

  it.effect("have unique names: 409", () =>
    Effect.gen(function* () {
      const { id } = yield* save("one")
      yield* save("two")
      assert.strictEqual(yield* refusal(save("one")), "409 CONNECTION_EXISTS")
      assert.strictEqual(yield* refusal(update(id, { name: "two" })), "409 CONNECTION_EXISTS")
      assert.strictEqual((yield* find(id)).name, "one")
      const twice = yield* Effect.all([refusal(save("same")), refusal(save("same"))], { concurrency: 2 })
      assert.deepStrictEqual(twice.sort(), ["200", "409 CONNECTION_EXISTS"])
    })
  )

  it.effect("are deleted", () =>
    Effect.gen(function* () {
      const { id } = yield* save("to delete")
      yield* use((all) => all.remove(id))
      for (const ask of [
        refusal(find(id)),
        refusal(update(id, { name: "x" })),
        refusal(use((all) => all.remove(id))),
        refusal(use((all) => all.test(id))),
        refusal(find(Number.MAX_SAFE_INTEGER))
      ]) {
        assert.strictEqual(yield* ask, "404 CONNECTION_NOT_FOUND")
      }
    })
  )

  it.effect("with an old key are decrypted, and re-encrypted by any change", () =>
    Effect.gen(function* () {
      const { id } = yield* save("rotated")
      const rotated = Effect.provide(
        Effect.gen(function* () {
          assert.deepInclude(yield* find(id), { old_key: true, connection_url: "postgres://u:****@h/db", error: null })
          assert.deepInclude(yield* update(id, {}), { old_key: false, connection_url: "postgres://u:****@h/db" })
          assert.include(yield* sealedOf(id), second.id)
        }),
        withKeys(second, first)
      )
      yield* rotated
      const unread = yield* find(id)
      assert.deepInclude(unread, { name: "rotated", type: null, connection_url: null, old_key: false })
      assert.match(unread.error ?? "", new RegExp(`key ${second.id}, which is neither`))
    })
  )

  it.effect("that can't be decrypted are listed, fail tests, and are repaired by a new URL", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* save("moved from"), yield* save("moved to", "mysql://u:other@h")]
      yield* sql(
        "update svc.connections set sealed_url = (select sealed_url from svc.connections where id = $1) where id = $2",
        [a.id, b.id]
      )
      const all = yield* use(({ list }) => list)
      assert.deepInclude(
        all.find(({ id }) => id === a.id),
        { error: null }
      )
      const moved = all.find(({ id }) => id === b.id)
      assert.deepInclude(moved, { connection_url: null, type: null })
      assert.match(moved?.error ?? "", /belongs to another row/)
      const tested = yield* use((connections) => connections.test(b.id))
      assert.deepInclude(tested, { ok: false, checked: null, error: moved?.error ?? "" })
      assert.deepInclude(yield* update(b.id, { name: "renamed" }), { name: "renamed", connection_url: null })
      const repaired = yield* update(b.id, { connection_url: "mysql://u:new@h" })
      assert.deepInclude(repaired, { name: "renamed", connection_url: "mysql://u:****@h", error: null })
      assert.deepStrictEqual(yield* use((connections) => connections.test(b.id)), good)
    })
  )

  it.effect("serialize concurrent changes", () =>
    Effect.gen(function* () {
      const { id } = yield* save("shared")
      const changes = Array.from({ length: 8 }, (_, i) =>
        i % 2 === 0 ? update(id, { name: `shared ${i}` }) : update(id, { connection_url: `mysql://u:pw@h${i}` })
      )
      yield* Effect.all(changes, { concurrency: 8 })
      const after = yield* find(id)
      assert.match(after.name, /^shared \d$/)
      assert.match(after.connection_url ?? "", /^mysql:\/\/u:\*\*\*\*@h\d$/)
    })
  )

  it.effect("are 503 without a key, for every operation", () =>
    Effect.gen(function* () {
      const { id } = yield* save("kept")
      yield* Effect.provide(
        Effect.gen(function* () {
          for (const ask of [
            refusal(save("x")),
            refusal(use(({ list }) => list)),
            refusal(find(id)),
            refusal(update(id, { name: "x" })),
            refusal(use((all) => all.test(id))),
            refusal(use((all) => all.remove(id)))
          ]) {
            assert.strictEqual(yield* ask, "503 NOT_CONFIGURED")
          }
        }),
        withKeys(undefined)
      )
      assert.strictEqual((yield* find(id)).name, "kept")
    })
  )
})
