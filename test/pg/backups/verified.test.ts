import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Redacted } from "effect"
import { createHash } from "node:crypto"
import { readFile, rm, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Backup } from "../../../src/domain/backups/Backup.ts"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { type Fill } from "../../../src/services/branches/Filling.ts"
import { type DumpFailed } from "../../../src/services/ports/DumpTools.ts"
import { makeBucketsFake } from "../../fakes/storage/buckets.ts"
import { backupDirectory, filesIn, replica } from "../../support/backups/backups.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { refusal } from "../../support/requests.ts"

const settings = { SVC_BACKUP_BUCKET: "dumps" }
const settled = ({ bucket, copy_error }: Backup) => bucket !== null || copy_error !== null

/** Branches that are filled without a database. */
const branches = {
  restore: (_: object, fill: Fill) =>
    Effect.gen(function* () {
      const branch = { id: 1 as Branch["id"] } as Branch
      const done = yield* Deferred.make<Branch, DumpFailed>()
      const target = { database: "d", role: "r", login: "l", password: Redacted.make("") }
      const filled = Effect.as(
        fill(target, () => Effect.void),
        branch
      ) as Effect.Effect<Branch, DumpFailed>
      yield* Effect.forkDetach(Deferred.complete(done, filled))
      return { branch, done: Deferred.await(done) }
    })
}

layer(layerDatabase({ name: "backup_verified" }), live)("the file of a backup", (it) => {
  /** A backup with a copy, and a replica that has only the copy. Both count the restores that were begun. */
  const setting = Effect.gen(function* () {
    const [directory, elsewhere] = [yield* backupDirectory, yield* backupDirectory]
    const store = makeBucketsFake()
    store.add("dumps")
    const here = yield* replica({ directory, store, settings, branches })
    const there = yield* replica({ directory: elsewhere, store, branches })
    const begun: Array<string> = []
    for (const { tools } of [here, there]) {
      tools.restore = (file) => Effect.promise(async () => void begun.push(await readFile(file, "utf8")))
    }
    const { id } = yield* here.backups.create({ label: "a backup" })
    const made = yield* eventually(here.backups.find(id), settled)
    const [name = ""] = yield* filesIn(directory)
    const restored = (from: typeof here) => Effect.flatMap(from.backups.restore(id, {}), ({ done }) => done)
    const file = join(directory, name)
    return {
      begun,
      copy: `dumps/${made.object_key}`,
      directory,
      elsewhere,
      file,
      here,
      id,
      made,
      restored,
      store,
      there
    }
  })
  const attempt = <A, E, R>(run: () => Promise<A>, then: Effect.Effect<void, E, R>) =>
    Effect.andThen(Effect.promise(run), then)

  it.effect("has a digest, by which a restore from the directory and from the bucket is verified", () =>
    Effect.gen(function* () {
      const { begun, here, made, restored, there } = yield* setting
      assert.strictEqual(made.sha256, createHash("sha256").update("a dump").digest("hex"))
      yield* restored(here)
      yield* restored(there)
      assert.deepStrictEqual(begun, ["a dump", "a dump"])
    })
  )

  it.effect("is not restored when it was changed, before any of it is run", () =>
    Effect.gen(function* () {
      const { begun, copy, elsewhere, file, here, id, restored, store, there } = yield* setting
      yield* attempt(() => writeFile(file, "a dumq"), Effect.void)
      assert.strictEqual(yield* refusal(restored(here)), "422 BACKUP_ALTERED")
      store.objects.set(copy, Buffer.from("A dump"))
      assert.strictEqual(yield* refusal(restored(there)), "422 BACKUP_ALTERED")
      const [first] = (yield* here.backups.find(id)).restores
      assert.match(first?.error ?? "", /^The file in the bucket dumps has changed since the backup was made/)
      assert.deepStrictEqual(begun, [])
      assert.deepStrictEqual(yield* filesIn(elsewhere), [])
    })
  )

  it.effect("is not restored when it was cut or swapped for that of another backup", () =>
    Effect.gen(function* () {
      const { begun, copy, directory, file, here, restored, store, there } = yield* setting
      const other = yield* here.backups.create({ label: "another" })
      here.tools.dump = (path) => Effect.promise(() => writeFile(path, "dump a"))
      const second = yield* here.backups.create({ label: "a third" })
      yield* here.over(other.id)
      yield* here.over(second.id)
      const names = (yield* filesIn(directory)).filter((name) => name.endsWith(".dump"))
      const texts = yield* Effect.promise(() =>
        Promise.all(names.map((name) => readFile(join(directory, name), "utf8")))
      )
      const swapped = names[texts.indexOf("dump a")] ?? ""
      yield* attempt(async () => writeFile(file, await readFile(join(directory, swapped))), Effect.void)
      assert.strictEqual(yield* refusal(restored(here)), "422 BACKUP_ALTERED")

      yield* Effect.promise(() => truncate(file, 3))
      store.objects.set(copy, Buffer.from("a d"))
      assert.strictEqual(yield* refusal(restored(here)), "422 BACKUP_ALTERED")
      assert.strictEqual(yield* refusal(restored(there)), "422 BACKUP_ALTERED")
      store.objects.delete(copy)
      assert.strictEqual(yield* refusal(restored(there)), "404 BACKUP_FILE_MISSING")
      assert.deepStrictEqual(begun, [])
    })
  )

  it.effect("of a version without digests is restored from the directory, but not from a bucket", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { begun, file, here, id, restored, there } = yield* setting
      yield* sql("update svc.backups set sha256 = null where id = $1", [id])
      yield* restored(here)
      assert.strictEqual(yield* refusal(restored(there)), "422 BACKUP_UNVERIFIED")
      assert.deepStrictEqual(begun, ["a dump"])
      yield* Effect.promise(() => rm(file))
      assert.strictEqual(yield* refusal(restored(here)), "422 BACKUP_UNVERIFIED")
    })
  )
})
