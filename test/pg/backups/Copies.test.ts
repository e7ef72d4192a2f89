import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Redacted, Stream } from "effect"
import { readFile, rm } from "node:fs/promises"
import { type Backup } from "../../../src/domain/backups/Backup.ts"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { BadGateway } from "../../../src/domain/errors.ts"
import { type Fill } from "../../../src/services/branches/Filling.ts"
import { DumpFailed, type RestoreTarget } from "../../../src/services/ports/DumpTools.ts"
import { makeBucketsFake } from "../../fakes/storage/buckets.ts"
import { backupDirectory, filesIn, replica } from "../../support/backups/backups.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { refusal } from "../../support/requests.ts"
import { eventually } from "../../support/eventually.ts"

const settings = { SVC_BACKUP_BUCKET: "dumps" }
const settled = ({ bucket, copy_error }: Backup) => bucket !== null || copy_error !== null

const suite = layer(layerDatabase({ name: "backup_copies" }), live)

suite("a copy in a bucket", (it) => {
  it.effect("is made once the file is complete, replaces a missing file, and is deleted with the backup", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const store = makeBucketsFake()
      store.add("dumps")
      const one = yield* replica({ directory, store, settings })
      const { id } = yield* one.backups.create({ label: "copied" })
      const made = yield* eventually(one.backups.find(id), settled)
      assert.deepInclude(made, { status: "completed", bucket: "dumps", copy_error: null })
      const key = made.object_key ?? ""
      assert.match(key, /^backups\/\d{8}T\d{6}Z-[0-9a-f]{12}\.dump$/)
      const object = (name: string) => Buffer.from(store.objects.get(`dumps/${name}`) ?? []).toString()
      assert.strictEqual(object(key), "a dump")
      assert.match(object(`${key}.globals.sql`), /^-- of /)

      // A missing file is replaced by the copy, unless the sizes differ.
      const other = yield* replica({ directory: yield* backupDirectory, store })
      assert.isFalse((yield* other.backups.find(id)).file_missing)
      const source = yield* other.backups.file(id)
      const text = (range?: { first: number; last: number }) =>
        Effect.map(Stream.runCollect(source.bytes(range)), (all) => Buffer.concat(all).toString())
      assert.deepStrictEqual([yield* text(), yield* text({ first: 0, last: 0 })], ["a dump", "a"])
      store.objects.set(`dumps/${key}`, Buffer.from("half"))
      assert.strictEqual(yield* refusal(other.backups.file(id)), "422 BACKUP_ALTERED")

      yield* other.backups.remove(id)
      assert.deepStrictEqual([...store.objects.keys()], [])
      assert.strictEqual(yield* refusal(one.backups.find(id)), "404 BACKUP_NOT_FOUND")
    })
  )

  it.effect(
    "that fails is reported on the backup, which is complete",
    () =>
      Effect.gen(function* () {
        const store = makeBucketsFake()
        const { backups } = yield* replica({ directory: yield* backupDirectory, store, settings })
        let tries = 0
        store.now.putStream = () =>
          Effect.suspend(() => {
            tries++
            return Effect.fail(new BadGateway({ error: "The store is down", code: "STORE_UNAVAILABLE" }))
          })
        const { id } = yield* backups.create({ label: "not copied" })
        const made = yield* eventually(backups.find(id), settled, 20_000)
        assert.deepInclude(made, {
          status: "completed",
          bucket: null,
          object_key: null,
          copy_error: "The store is down"
        })
        assert.strictEqual(tries, 3)
        yield* backups.remove(id)
      }),
    40_000
  )

  it.effect("is resumed after a kill, and removed when its backup is deleted meanwhile", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const directory = yield* backupDirectory
      const store = makeBucketsFake()
      store.add("dumps")
      const first = yield* replica({ directory, store })
      const { id } = yield* first.backups.create({ label: "without" })
      yield* first.over(id)
      yield* sql("update svc.backups set copy_to = 'dumps' where id = $1", [id])
      const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      store.now.putStream = (bucket, key, type, bytes) =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.andThen(Deferred.await(go)),
          Effect.andThen(store.plain.putStream(bucket, key, type, bytes))
        )
      const second = yield* replica({ directory, store, settings })
      yield* Deferred.await(begun)
      yield* second.backups.remove(id)
      yield* Deferred.succeed(go, undefined)
      yield* Effect.sleep("300 millis")
      assert.deepStrictEqual([...store.objects.keys()], [])
      store.mend()

      const again = yield* first.backups.create({ label: "again" })
      yield* first.over(again.id)
      yield* sql("update svc.backups set copy_to = 'dumps' where id = $1", [again.id])
      yield* replica({ directory, store, settings })
      const made = yield* eventually(first.backups.find(again.id), settled)
      assert.strictEqual(made.bucket, "dumps")
      yield* first.backups.remove(again.id)
    })
  )
})

const target: RestoreTarget = {
  database: "svc_branch_1",
  role: "svc_branch_1",
  login: "svc_branch_1_keys",
  password: Redacted.make("")
}

const branch: Branch = {
  id: 1 as Branch["id"],
  label: "",
  database_name: "svc_branch_1",
  size_bytes: 0,
  created_at: "",
  ttl_hours: 0,
  expires_at: null,
  status: "restoring",
  progress: null,
  access: "service_role",
  source_backup_id: null,
  objects_at: null,
  connection: "postgres://"
}

suite("a restore", (it) => {
  it.effect("reads the file, or downloads the copy, and is recorded", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const [here, elsewhere] = [yield* backupDirectory, yield* backupDirectory]
      const store = makeBucketsFake()
      store.add("dumps")
      const requests: Array<unknown> = []
      yield* sql(
        `insert into svc.branches (label, database_name, password, ttl_hours, status)
         values ('b', 'svc_branch_1', '', 0, 'restoring')`
      )
      const [row] = yield* sql("select id from svc.branches")
      const id = row?.["id"] as Branch["id"]
      const branches = {
        restore: (given: object, fill: Fill) =>
          Effect.gen(function* () {
            requests.push(given)
            const done = yield* Deferred.make<Branch, DumpFailed>()
            yield* Effect.forkDetach(
              Deferred.complete(
                done,
                Effect.as(
                  fill(target, () => Effect.void),
                  { ...branch, id, status: "active" as const }
                ) as Effect.Effect<Branch, DumpFailed>
              )
            )
            return { branch: { ...branch, id }, done: Deferred.await(done) }
          })
      }
      const one = yield* replica({ directory: here, store, settings, branches })
      const made = yield* one.backups.create({ label: "x".repeat(60) })
      yield* eventually(one.backups.find(made.id), settled)

      const other = yield* replica({ directory: elsewhere, store, branches })
      const go = yield* Deferred.make<void>()
      let read = ""
      other.tools.restore = (file, onProgress) =>
        Effect.promise(async () => (read = await readFile(file, "utf8"))).pipe(
          Effect.andThen(onProgress(0.5)),
          Effect.andThen(Deferred.await(go))
        )
      const { branch: begun, done } = yield* other.backups.restore(made.id, { ttlHours: 3 })
      assert.deepStrictEqual(requests, [
        { label: `Restore of ${"x".repeat(49)}`, ttlHours: 3, sourceBackupId: made.id }
      ])
      assert.strictEqual(begun.status, "restoring")
      const restore = Effect.map(one.backups.find(made.id), ({ restores }) => restores[0])
      yield* eventually(restore, (found) => found?.progress === 50)
      assert.deepInclude(yield* restore, { branch_id: id, status: "in_progress", error: null, finished_at: null })
      assert.match((yield* filesIn(elsewhere)).join(), /^\d{8}T\d{6}Z-\w{12}\.dump\.restore-\d+\.partial$/)
      assert.strictEqual(yield* refusal(one.backups.remove(made.id)), "409 BACKUP_IN_USE")
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* done).status, "active")
      assert.strictEqual(read, "a dump")
      assert.deepInclude(yield* restore, { status: "completed", progress: 100, error: null })
      assert.deepStrictEqual(yield* filesIn(elsewhere), [])

      one.tools.restore = () => Effect.fail(new DumpFailed({ reason: "relation exists" }))
      const failing = yield* one.backups.restore(made.id, { label: "mine" })
      assert.strictEqual(yield* refusal(failing.done), "422 RESTORE_FAILED")
      assert.deepInclude(yield* restore, { status: "failed", error: "relation exists" })

      // The copy can't be read during the restore.
      const remote = yield* replica({ directory: elsewhere, store, branches })
      store.now.read = () =>
        Stream.fail(new BadGateway({ error: "The object store does not answer", code: "STORE_UNAVAILABLE" }))
      const broken = yield* remote.backups.restore(made.id, {})
      assert.strictEqual(yield* refusal(broken.done), "422 RESTORE_FAILED")
      assert.match((yield* restore)?.error ?? "", /bucket dumps: The object store does not answer/)
      assert.deepStrictEqual(yield* filesIn(elsewhere), [])
      assert.strictEqual((yield* one.backups.find(made.id)).restores.length, 3)
      yield* Effect.promise(() => rm(here, { recursive: true }))
      yield* one.backups.remove(made.id)
    })
  )

  it.effect("of a backup that is deleted as it begins is unknown, and fills no branch", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const one = yield* replica({ directory })
      const made = yield* one.backups.create({ label: "deleted" })
      yield* one.over(made.id)
      const filled = yield* Deferred.make<unknown, Effect.Error<ReturnType<Fill>>>()
      const restore = (_: object, fill: Fill) =>
        Effect.gen(function* () {
          yield* Effect.forkDetach(
            Deferred.complete(
              filled,
              fill(target, () => Effect.void)
            )
          )
          yield* Effect.orDie(one.backups.remove(made.id))
          return { branch: { ...branch, id: 1 as Branch["id"] }, done: Effect.never }
        })
      const other = yield* replica({ directory, branches: { restore } })
      assert.strictEqual(yield* refusal(other.backups.restore(made.id, {})), "404 BACKUP_NOT_FOUND")
      const reason = `No backup ${made.id}`
      assert.deepStrictEqual(yield* Effect.flip(Deferred.await(filled)), new DumpFailed({ reason }))
    })
  )
})
