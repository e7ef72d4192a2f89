import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { BadGateway } from "../../../src/domain/errors.ts"
import { makeBucketsFake } from "../../fakes/storage/buckets.ts"
import { backupDirectory, filesIn, replica } from "../../support/backups/backups.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { refusal } from "../../support/requests.ts"

const suite = layer(layerDatabase({ name: "inventories" }), live)

const settings = { SVC_BACKUP_BUCKET: "copies" }
const bytes = (length: number) => new Uint8Array(length)

/** A store with objects in two buckets, and a bucket for copies. */
const filled = () => {
  const store = makeBucketsFake()
  for (const name of ["copies", "one", "two"]) store.add(name)
  for (const key of ["a", "b c", "é\n", "z"]) store.objects.set(`one/${key}`, bytes(key.length))
  store.objects.set("two/k", bytes(10))
  store.objects.set("copies/backups/old.dump", bytes(1000))
  store.objects.set("copies/other", bytes(3))
  return store
}

suite("the inventory of a backup", (it) => {
  it.effect("lists the objects that the store had, beside the file and its copy", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const store = filled()
      const { backups, over } = yield* replica({ directory, store, settings })
      const { id } = yield* backups.create({ label: "with objects" })
      assert.deepInclude(yield* over(id), { status: "completed", object_count: 6, object_bytes: 20, warnings: [] })
      const lines = yield* Stream.runCollect(yield* backups.inventory(id))
      assert.deepStrictEqual(
        lines.map((line) => JSON.parse(line)),
        [
          { bucket: "copies", key: "other", size: 3, etag: "e" },
          { bucket: "one", key: "a", size: 1, etag: "e" },
          { bucket: "one", key: "b c", size: 3, etag: "e" },
          { bucket: "one", key: "z", size: 1, etag: "e" },
          { bucket: "one", key: "é\n", size: 2, etag: "e" },
          { bucket: "two", key: "k", size: 10, etag: "e" }
        ]
      )
      const name = (yield* filesIn(directory)).find((file) => file.endsWith(".objects.ndjson.gz")) ?? ""
      yield* eventually(backups.find(id), ({ bucket }) => bucket !== null)
      const copy = store.objects.get(`copies/backups/${name}`) ?? bytes(0)
      assert.lengthOf(gunzipSync(copy).toString().trim().split("\n"), 6)
      // From the copy, where the file is not.
      const elsewhere = yield* replica({ directory: yield* backupDirectory, store })
      assert.lengthOf(yield* Stream.runCollect(yield* elsewhere.backups.inventory(id)), 6)
      yield* backups.remove(id)
      assert.deepStrictEqual(yield* filesIn(directory), [])
      assert.deepStrictEqual(
        [...store.objects.keys()].filter((key) => key.includes(name)),
        []
      )
    })
  )

  it.effect("is compared with the store when the backup is restored, and on request", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const store = filled()
      const branches = {
        restore: () => Effect.succeed({ branch: { id: 1 } as Branch, done: Effect.succeed({ id: 1 } as Branch) })
      }
      const { backups, over } = yield* replica({ directory, store, branches })
      const { id } = yield* backups.create({ label: "compared" })
      yield* over(id)
      assert.deepStrictEqual(yield* backups.lost(id), { gone: 0, changed: 0, objects: [], is_truncated: false })
      for (const key of ["one/a", "one/é\n", "two/k"]) store.objects.delete(key)
      store.objects.set("one/z", bytes(9))
      store.objects.set("one/new", bytes(9))
      assert.deepStrictEqual(yield* backups.lost(id), {
        gone: 3,
        changed: 1,
        objects: [
          { bucket: "one", key: "a", size: 1, etag: "e", version: null, state: "gone" },
          { bucket: "one", key: "z", size: 1, etag: "e", version: null, state: "changed" },
          { bucket: "one", key: "é\n", size: 2, etag: "e", version: null, state: "gone" },
          { bucket: "two", key: "k", size: 10, etag: "e", version: null, state: "gone" }
        ],
        is_truncated: false
      })
      yield* (yield* backups.restore(id, {})).done
      const { restores } = yield* eventually(backups.find(id), ({ restores }) => restores[0]?.objects_gone !== null)
      assert.deepInclude(restores[0], { status: "completed", objects_gone: 3, objects_changed: 1 })
      store.buckets.delete("one")
      assert.strictEqual((yield* backups.lost(id)).gone, 5)
      const more = 2500
      for (let n = 0; n < more; n++) store.objects.set(`two/many/${n}`, bytes(1))
      const other = yield* backups.create({ label: "many" })
      yield* over(other.id)
      for (let n = 0; n < more; n++) store.objects.delete(`two/many/${n}`)
      const { gone, is_truncated, objects } = yield* backups.lost(other.id)
      assert.deepStrictEqual([gone, objects.length, is_truncated], [more, 1000, true])
    })
  )

  it.effect("may be missing or damaged, and never fails a backup", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const store = filled()
      const { backups, over } = yield* replica({ directory, store })
      store.now.buckets = Effect.fail(new BadGateway({ error: "The store is away", code: "STORE_UNAVAILABLE" }))
      const without = yield* backups.create({ label: "without" })
      assert.deepInclude(yield* over(without.id), {
        status: "completed",
        object_count: null,
        warnings: ["the objects in the store are not listed: The store is away"]
      })
      for (const ask of [backups.inventory(without.id), backups.lost(without.id)]) {
        assert.strictEqual(yield* refusal<unknown, never>(ask), "404 BACKUP_INVENTORY_MISSING")
      }
      store.mend()
      const made = yield* backups.create({ label: "damaged" })
      yield* over(made.id)
      const name = (yield* filesIn(directory)).find((file) => file.endsWith(".objects.ndjson.gz")) ?? ""
      for (const content of ["no gzip", Buffer.from([0x1f, 0x8b])]) {
        yield* Effect.promise(() => writeFile(join(directory, name), content))
        assert.strictEqual(yield* refusal(backups.lost(made.id)), "422 BACKUP_ALTERED")
      }
      yield* Effect.promise(() => rm(join(directory, name)))
      assert.strictEqual(yield* refusal(backups.lost(made.id)), "404 BACKUP_INVENTORY_MISSING")
      store.objects.clear()
      const empty = yield* backups.create({ label: "empty" })
      assert.deepInclude(yield* over(empty.id), { object_count: 0, object_bytes: 0 })
      assert.deepStrictEqual(yield* Stream.runCollect(yield* backups.inventory(empty.id)), [])
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql.unsafe("select from svc.backups where status <> 'completed'"), 0)
    })
  )
})
