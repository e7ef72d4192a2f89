import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { type BackupId } from "../../../src/domain/backups/Backup.ts"
import { makeBackupRecords } from "../../../src/services/backups/Records.ts"
import { BackupFiles } from "../../../src/services/ports/BackupFiles.ts"
import { backupDirectory, filesIn, replica } from "../../support/backups/backups.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { dumping } from "../../support/dumps/tools.ts"
import { refusal } from "../../support/requests.ts"
import { eventually } from "../../support/eventually.ts"

const name = (n: number, ending = "dump") => `20260101T00000${n}Z-0123456789ab.${ending}`

const put = (directory: string, ...files: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    await mkdir(directory, { recursive: true })
    for (const file of files) await writeFile(join(directory, file), "some")
  })

/** Inserts a record as a killed process leaves it. */
const left = (file: string) =>
  Effect.flatMap(Outside, ({ sql }) =>
    Effect.map(
      sql(
        "insert into svc.backups (label, file_name, format, strategy) values ('left', $1, 'plain', 'pg_dump') returning id",
        [file]
      ),
      ([row]) => row?.["id"] as BackupId
    )
  )

const suite = layer(layerDatabase({ name: "backup_upkeep" }), live)

suite("interrupted work", (it) => {
  it.effect("is marked as failed at the next start, and leaves no incomplete files", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const [cut, whole, running] = [name(1, "sql.zst"), name(2), name(3)]
      const ids = [yield* left(cut), yield* left(whole)] as const
      const strangers = ["mine.partial", `${name(4)}.globals.sql`, name(5), "20260101.dump.partial"]
      yield* put(
        directory,
        `${cut}.partial`,
        `${cut}.globals.sql`,
        `${cut}.globals.sql.partial`,
        whole,
        `${name(6)}.partial`,
        `${name(7)}.restore-99.partial`,
        ...strangers
      )
      const first = yield* replica({ directory })
      assert.deepInclude(yield* first.over(ids[0]), {
        status: "failed",
        error: "The service ended while the backup was being made"
      })
      // The file was complete; only the record was not updated.
      assert.deepInclude(yield* first.over(ids[1]), { status: "completed", size_bytes: 4, progress: 100 })
      const left_ = [whole, ...strangers].sort()
      assert.deepStrictEqual(yield* eventually(filesIn(directory), ({ length }) => length === left_.length), left_)

      // A running backup is not affected.
      first.tools.dump = dumping("never", () => Effect.never)
      const { id } = yield* first.backups.create({ label: running })
      yield* eventually(filesIn(directory), (files) =>
        files.some((file) => file.endsWith(".partial") && !strangers.includes(file))
      )
      const second = yield* replica({ directory })
      const third = yield* left(name(8))
      const fourth = yield* replica({ directory })
      yield* fourth.over(third)
      assert.strictEqual((yield* second.backups.find(id)).status, "in_progress")
      assert.strictEqual((yield* filesIn(directory)).length, left_.length + 2)
      yield* second.backups.remove(id)
    })
  )

  it.effect("on restores is marked as failed, unless the branch is active", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const { sql } = yield* Outside
      yield* sql("delete from svc.backups")
      yield* put(directory, name(9))
      const id = yield* left(name(9))
      yield* sql("update svc.backups set status = 'completed', size_bytes = 4 where id = $1", [id])
      for (const [n, status] of ["restoring", "active", "dropping"].entries()) {
        yield* sql(
          `with b as (insert into svc.branches (label, database_name, password, ttl_hours, status)
             values ('b', 'upkeep_' || $2, '', 0, $3) returning id)
           insert into svc.restores (backup_id, branch_id, progress) select $1, id, 40 from b`,
          [id, n, status]
        )
      }
      yield* sql("insert into svc.restores (backup_id) values ($1)", [id])
      const { backups } = yield* replica({ directory })
      const { restores } = yield* eventually(
        backups.find(id),
        ({ restores }) => restores.filter(({ status }) => status === "in_progress").length === 1
      )
      const error = "The service ended while the backup was being restored"
      assert.deepStrictEqual(
        restores.map(({ error, progress, status }) => ({ status, progress, error })),
        [
          { status: "failed", progress: 0, error },
          { status: "failed", progress: 40, error },
          { status: "completed", progress: 100, error: null },
          { status: "in_progress", progress: 40, error: null }
        ]
      )
      assert.isTrue(restores.every(({ finished_at, status }) => (finished_at === null) === (status === "in_progress")))
      assert.strictEqual(yield* refusal(backups.remove(id)), "409 BACKUP_IN_USE")
      yield* sql("delete from svc.branches")
      yield* sql("update svc.restores set status = 'failed'")
      yield* backups.remove(id)
      assert.deepStrictEqual(yield* sql("select from svc.restores"), [])
    })
  )

  it.effect("on deletions of other replicas removes the files", () =>
    Effect.gen(function* () {
      const [here, there] = [yield* backupDirectory, yield* backupDirectory]
      const one = yield* replica({ directory: here })
      const other = yield* replica({ directory: there })
      const { id } = yield* one.backups.create({ label: "here" })
      yield* one.over(id)
      assert.strictEqual((yield* filesIn(here)).length, 2)
      assert.isFalse((yield* one.backups.find(id)).file_missing)
      assert.deepStrictEqual(
        (yield* other.backups.list).map(({ file_missing, id }) => ({ file_missing, id })),
        [{ file_missing: true, id }]
      )
      assert.strictEqual(yield* refusal(other.backups.file(id)), "404 BACKUP_FILE_MISSING")
      assert.strictEqual(yield* refusal(other.backups.restore(id, {})), "404 BACKUP_FILE_MISSING")
      yield* other.backups.remove(id)
      assert.strictEqual((yield* filesIn(here)).length, 2)
      yield* replica({ directory: here })
      assert.deepStrictEqual(yield* eventually(filesIn(here), ({ length }) => length === 0), [])
    })
  )
})

suite("a verification", (it) => {
  it.effect("that was planned is withdrawn when the setting is off", () =>
    Effect.gen(function* () {
      const directory = yield* backupDirectory
      const { sql } = yield* Outside
      yield* put(directory, name(4))
      const id = yield* left(name(4))
      yield* sql(
        "update svc.backups set status = 'completed', verification = 'waiting', size_bytes = 4 where id = $1",
        [id]
      )
      const { backups } = yield* replica({ directory, settings: { SVC_BACKUP_VERIFY: "off" } })
      assert.deepInclude(yield* eventually(backups.find(id), ({ verification }) => verification === null), {
        status: "completed",
        verification: null,
        verify_error: null
      })
      yield* backups.remove(id)
    })
  )
})

suite("retention", (it) => {
  it.effect("keeps the newest complete scheduled backups, and all others", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("delete from svc.backups")
      const made = (status: string, day: number | null) =>
        sql(
          `insert into svc.backups (label, status, scheduled_for)
           values ($1, $2, '2026-01-01'::timestamptz + make_interval(days => $3::int)) returning id`,
          [`${status} ${day}`, status, day]
        )
      yield* made("completed", null)
      for (const day of [1, 2, 4, 5]) yield* made("completed", day)
      for (const day of [3, 6]) yield* made("failed", day)
      yield* made("failed", null)
      const records = yield* Effect.provide(makeBackupRecords, Layer.mock(BackupFiles, { path: (name) => name }))
      const labels = (ids: ReadonlyArray<number>) =>
        Effect.map(sql("select label from svc.backups where id = any($1) order by id", [ids]), (rows) =>
          rows.map(({ label }) => label)
        )
      const all = Effect.map(sql("select label from svc.backups order by id"), (rows) => rows.map(({ label }) => label))
      assert.deepStrictEqual(yield* records.expired([]), [])
      assert.deepStrictEqual(yield* records.expired([{ by: "backup", count: 4 }]), [])
      assert.strictEqual((yield* all).length, 8)
      assert.deepStrictEqual(yield* labels(yield* records.expired([{ by: "backup", count: 2 }])), [
        "completed 1",
        "completed 2"
      ])
      // Failed backups that are older than all kept ones were deleted as well.
      assert.notInclude(yield* all, "failed 3")
      assert.includeMembers(yield* all, ["failed 6", "failed null", "completed null"])
    })
  )

  it.effect("begins once for each slot over all replicas", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("delete from svc.backups")
      const records = yield* Effect.provide(makeBackupRecords, Layer.mock(BackupFiles, { path: (name) => name }))
      const slot = Date.UTC(2026, 10, 21, 3)
      const begin = (file: string) =>
        records.begin({
          label: "due",
          slot,
          strategy: "pg_dump",
          toolVersion: "18.0",
          format: "custom",
          file,
          bucket: undefined
        })
      const begun = yield* Effect.all([begin("a"), begin("b"), begin("c")], { concurrency: "unbounded" }).pipe(
        Effect.scoped
      )
      assert.strictEqual(begun.filter((turn) => turn !== undefined).length, 1)
      const rows = yield* sql("select scheduled_for = '2026-11-21 03:00Z' as due from svc.backups")
      assert.deepStrictEqual(rows, [{ due: true }])
      // A slot that already has a backup is not recorded as missed.
      yield* records.missed("due", slot, "too late")
      assert.strictEqual((yield* records.list).length, 1)
      yield* records.missed("due", slot + 60_000, "no room")
      assert.deepInclude((yield* records.list)[0], {
        status: "failed",
        error: "no room",
        strategy: null,
        scheduled: true
      })
    })
  )
})
