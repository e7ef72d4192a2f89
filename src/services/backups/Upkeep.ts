import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { backupRunLock } from "../../domain/sql/AdvisoryLocks.ts"
import { globalsFile, inventoryFile, parsePartial, partialFile } from "../../domain/backups/Backup.ts"
import { BackupFiles } from "../ports/BackupFiles.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"

const sweepEvery = "30 seconds"

/** How long replicas have to remove a file whose backup was deleted on another replica. */
const retention = "30 days"

interface Abandoned {
  readonly id: number
  readonly file: string
}

/**
 * Marks interrupted backups and restores as failed, also at the start, and removes their files. A complete file is only
 * removed when its backup was deleted.
 */
export const layerBackupUpkeep = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const files = yield* BackupFiles

    const removed = (names: ReadonlyArray<string>) =>
      Effect.forEach(names, (name) => Effect.ignore(files.remove(name)), { discard: true })

    /** A backup in progress holds its lock; marks those that don't, and returns the files of the failed ones. */
    const abandoned = sql.withTransaction(
      Effect.gen(function* () {
        const rows = yield* sql.unsafe<Abandoned>(
          `with running as materialized (select id, file_name from svc.backups where status = 'in_progress')
           select id, file_name as file from running where pg_try_advisory_xact_lock(${backupRunLock}, id)`
        )
        const failed: Array<string> = []
        for (const { file, id } of rows) {
          // A complete file: only its record is missing, or this database was restored from it.
          const size = yield* files.size(file)
          const changed =
            size === undefined
              ? yield* sql.unsafe(
                  `update svc.backups set status = 'failed', completed_at = now(), copy_to = null, globals = null,
                     error = 'The service ended while the backup was being made'
                   where id = $1 and status = 'in_progress' returning id`,
                  [id]
                )
              : yield* sql.unsafe(
                  `update svc.backups set status = 'completed', completed_at = now(), progress = 100, size_bytes = $2::int8
                   where id = $1 and status = 'in_progress' returning id`,
                  [id, String(size)]
                )
          if (changed.length > 0 && size === undefined) failed.push(file)
        }
        return failed
      })
    )

    /** A restore is in progress as long as its branch is `restoring`, which its own lock decides. */
    const restores = sql.unsafe(
      `update svc.restores r set finished_at = now(),
         status = case when b.status = 'active' then 'completed' else 'failed' end,
         progress = case when b.status = 'active' then 100 else r.progress end,
         error = case when b.status = 'active' then null
                      else 'The service ended while the backup was being restored' end
       from svc.restores one left join svc.branches b on b.id = one.branch_id
       where one.id = r.id and r.status = 'in_progress' and b.status is distinct from 'restoring'`
    )

    /** Lists the files before the records, so that a file of a newer record is not removed. */
    const leftovers = Effect.gen(function* () {
      const partial = (yield* files.list).flatMap((name) => {
        const parsed = parsePartial(name)
        return parsed === undefined ? [] : [{ name, ...parsed }]
      })
      if (partial.length === 0) return
      const rows = yield* sql.unsafe<{ readonly file: string | null; readonly restore: number | null }>(
        `select file_name as file, null as restore from svc.backups where status = 'in_progress'
         union all select null, id from svc.restores where status = 'in_progress'`
      )
      const backups = new Set(rows.map(({ file }) => file))
      const restores = new Set(rows.map(({ restore }) => restore))
      yield* removed(
        partial
          .filter(({ file, restore }) => (restore === undefined ? !backups.has(file) : !restores.has(restore)))
          .map(({ name }) => name)
      )
    })

    const deleted = Effect.gen(function* () {
      yield* sql.unsafe("delete from svc.removed_backups where removed_at < now() - $1::interval", [retention])
      const rows = yield* sql.unsafe<{ readonly file: string }>("select file_name as file from svc.removed_backups")
      yield* removed(rows.flatMap(({ file }) => [file, globalsFile(file), inventoryFile(file)]))
    })

    const sweep = Effect.gen(function* () {
      const failed = yield* abandoned
      if (failed.length > 0) yield* Effect.logWarning(`Interrupted backups marked as failed: ${failed.length}`)
      yield* removed(failed.flatMap((file) => [partialFile(file), globalsFile(file), inventoryFile(file)]))
      yield* restores
      yield* leftovers
      yield* deleted
    })

    yield* onOwnTables(sweep).pipe(
      Effect.catchTag("Unavailable", () => Effect.void),
      Effect.catchCause(logFailure("Failed to sweep backups")),
      Effect.repeat(Schedule.spaced(sweepEvery)),
      Effect.forkScoped
    )
  })
)
