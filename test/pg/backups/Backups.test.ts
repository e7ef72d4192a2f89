import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { chmod, mkdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type Backup, type BackupId } from "../../../src/domain/backups/Backup.ts"
import { DumpFailed } from "../../../src/services/ports/DumpTools.ts"
import { backupDirectory, filesIn, replica } from "../../support/backups/backups.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { dumping } from "../../support/dumps/tools.ts"
import { refusal } from "../../support/requests.ts"
import { eventually } from "../../support/eventually.ts"

const never = dumping("never", () => Effect.never)

const fileOf = (backup: Backup) =>
  Effect.map(
    Effect.flatMap(SqlClient.SqlClient, (sql) =>
      sql.unsafe<{ file_name: string }>("select file_name from svc.backups where id = $1", [backup.id])
    ),
    ([row]) => row?.file_name ?? ""
  )

const suite = layer(layerDatabase({ name: "backups" }), live)

suite("a backup", (it) => {
  it.effect("is a record, and a file that only the service can read", () =>
    Effect.gen(function* () {
      const directory = join(yield* backupDirectory, "made", "for it")
      const { backups, over, tools } = yield* replica({ directory })
      const go = yield* Deferred.make<void>()
      tools.dump = dumping("a dump", (onProgress) => Effect.andThen(onProgress(0.426), Deferred.await(go)))
      const made = yield* backups.create({ label: "before the move" })
      assert.deepStrictEqual(made, {
        id: made.id,
        label: "before the move",
        status: "in_progress",
        size_bytes: 0,
        sha256: null,
        created_at: made.created_at,
        completed_at: null,
        progress: 0,
        error: null,
        strategy: "pg_dump",
        tool_version: "18.0",
        server_version: made.server_version,
        format: "custom",
        scheduled: false,
        bucket: null,
        object_key: null,
        copy_error: null,
        file_missing: false,
        warnings: [],
        verification: null,
        verified_at: null,
        verify_error: null,
        object_count: made.object_count,
        object_bytes: made.object_bytes,
        restores: []
      })
      assert.match(made.server_version ?? "", /^\d+\.\d+/)
      assert.closeTo(Date.parse(made.created_at), Date.now(), 10_000)
      yield* eventually(backups.find(made.id), ({ progress }) => progress === 42)
      assert.strictEqual(yield* refusal(backups.file(made.id)), "409 BACKUP_NOT_COMPLETED")
      assert.strictEqual(yield* refusal(backups.globals(made.id)), "409 BACKUP_NOT_COMPLETED")
      yield* Deferred.succeed(go, undefined)
      const whole = yield* over(made.id)
      assert.deepInclude(whole, { status: "completed", progress: 100, size_bytes: 6, error: null })
      assert.isAtLeast(Date.parse(whole.completed_at ?? ""), Date.parse(whole.created_at))

      const file = yield* fileOf(made)
      assert.match(file, /^\d{8}T\d{6}Z-[0-9a-f]{12}\.dump$/)
      assert.deepStrictEqual(yield* filesIn(directory), [file, `${file}.globals.sql`])
      const mode = (path: string) => Effect.promise(async () => ((await stat(path)).mode & 0o777).toString(8))
      assert.strictEqual(yield* mode(directory), "700")
      assert.strictEqual(yield* mode(join(directory, `${file}.globals.sql`)), "600")
      const source = yield* backups.file(made.id)
      const text = (range?: { first: number; last: number }) =>
        Effect.map(Stream.runCollect(source.bytes(range)), (all) => Buffer.concat(all).toString())
      assert.strictEqual(yield* text(), "a dump")
      assert.strictEqual(yield* text({ first: 2, last: 3 }), "du")
      assert.match(yield* backups.globals(made.id), /^-- of backups/)

      const second = yield* backups.create({ label: "second" })
      yield* over(second.id)
      assert.deepStrictEqual(
        (yield* backups.list).map(({ id }) => id),
        [second.id, made.id]
      )
      yield* backups.remove(made.id)
      assert.strictEqual(yield* refusal(backups.find(made.id)), "404 BACKUP_NOT_FOUND")
      assert.notInclude((yield* filesIn(directory)).join(), file)
      yield* backups.remove(second.id)
      assert.deepStrictEqual(yield* filesIn(directory), [])
    })
  )

  it.effect("is limited to two at a time over all replicas", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const [one, other] = [yield* replica({ directory }), yield* replica({ directory })]
      one.tools.dump = never
      other.tools.dump = never
      const results = yield* Effect.forEach(
        [one, other, one, other, one, other],
        ({ backups }) =>
          Effect.match(backups.create({ label: "at once" }), {
            onSuccess: ({ id }) => id,
            onFailure: (error) => (error._tag === "Conflict" ? `${error.code} ${error.retry_after}` : error.code)
          }),
        { concurrency: "unbounded" }
      )
      const ids = results.filter((answer) => typeof answer === "number") as Array<BackupId>
      assert.strictEqual(ids.length, 2)
      assert.deepStrictEqual(
        results.filter((answer) => typeof answer === "string"),
        Array.from({ length: 4 }, () => "BACKUP_LIMIT 30")
      )
      // A replica can also cancel the backup of another one.
      for (const [index, id] of ids.entries()) {
        const { backups } = index === 0 ? one : other
        const stopped = yield* backups.cancel(id)
        assert.deepInclude(stopped, { status: "failed", error: "Cancelled", progress: 0, size_bytes: 0 })
        assert.isNotNull(stopped.completed_at)
        assert.strictEqual(yield* refusal(backups.cancel(id)), "409 BACKUP_NOT_RUNNING")
        assert.strictEqual(yield* refusal(backups.file(id)), "409 BACKUP_NOT_COMPLETED")
      }
      assert.deepStrictEqual(yield* filesIn(directory), [])
      assert.strictEqual(yield* refusal(one.backups.cancel(999_999 as BackupId)), "404 BACKUP_NOT_FOUND")

      const again = yield* one.backups.create({ label: "again" })
      yield* other.backups.remove(again.id)
      assert.strictEqual(yield* refusal(one.backups.find(again.id)), "404 BACKUP_NOT_FOUND")
      assert.deepStrictEqual(yield* filesIn(directory), [])
      for (const id of ids) yield* one.backups.remove(id)
      assert.deepStrictEqual(yield* one.backups.list, [])
    })
  )

  it.effect("that fails records why, and leaves no file", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const { backups, over, tools } = yield* replica({ directory, settings: { SVC_BACKUP_TIMEOUT: "300ms" } })
      tools.dump = dumping("half", () => Effect.fail(new DumpFailed({ reason: "the table is \0 gone" })))
      const failed = yield* backups.create({ label: "fails" })
      assert.deepInclude(yield* over(failed.id), { status: "failed", error: "the table is  gone" })
      tools.dump = never
      const slow = yield* backups.create({ label: "slow" })
      assert.deepInclude(yield* over(slow.id), { status: "failed", error: "It took over 0.3 s (SVC_BACKUP_TIMEOUT)" })
      tools.dump = () => Effect.die("a mistake of ours")
      const broken = yield* backups.create({ label: "broken" })
      assert.match((yield* over(broken.id)).error ?? "", /went wrong on our side/)
      tools.dump = () => Effect.void
      const absent = yield* backups.create({ label: "absent" })
      assert.match((yield* over(absent.id)).error ?? "", /file is gone/)
      assert.deepStrictEqual(yield* filesIn(directory), [])
    })
  )

  it.effect("is rejected at once when its directory is unusable", () =>
    Effect.gen(function* () {
      const parent = yield* backupDirectory
      const file = join(parent, "a file")
      yield* Effect.promise(() => writeFile(file, ""))
      const { backups } = yield* replica({ directory: join(file, "below") })
      const before = yield* backups.list
      const error = yield* Effect.flip(backups.create({ label: "nowhere" }))
      assert.strictEqual(error.code, "BACKUP_DIR_UNUSABLE")
      assert.include(String(error.details), "SVC_BACKUP_DIR")
      assert.deepStrictEqual(yield* backups.list, before)
      if (process.getuid?.() === 0) return
      const closed = join(parent, "closed")
      yield* Effect.promise(() => mkdir(closed).then(() => chmod(closed, 0o500)))
      const other = yield* replica({ directory: closed })
      assert.strictEqual(yield* refusal(other.backups.create({ label: "closed" })), "503 BACKUP_DIR_UNUSABLE")
    })
  )

  it.effect("fails when the service ends, or loses the database", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const watching = yield* replica({ directory })
      const ending = yield* replica({ directory })
      ending.tools.dump = never
      const cut = yield* ending.backups.create({ label: "cut" })
      yield* ending.end(Exit.void)
      assert.deepInclude(yield* watching.backups.find(cut.id), {
        status: "failed",
        error: "The service ended while the backup was being made"
      })
      assert.deepStrictEqual(yield* filesIn(directory), [])

      watching.tools.dump = never
      const lost = yield* watching.backups.create({ label: "lost" })
      const { sql } = yield* Outside
      yield* sql(
        `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
           and database = (select oid from pg_database where datname = current_database())`
      )
      const { error, status } = yield* watching.over(lost.id)
      assert.strictEqual(status, "failed")
      assert.match(error ?? "", /connection to the database was lost|another process|The service ended/)
      yield* eventually(filesIn(directory), ({ length }) => length === 0)
    })
  )
})
