import { Effect, Schema, Struct } from "effect"
import { SqlClient } from "effect/sql"
import { branchesLock, branchFillLock } from "../../domain/sql/AdvisoryLocks.ts"
import {
  Branch,
  type BranchChanges,
  type BranchId,
  branchNames,
  connectionString,
  type NewBranch
} from "../../domain/branches/Branch.ts"
import { shownBranch } from "../../domain/audit/Shown.ts"
import { NotFound } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { recordChange } from "../audit/Change.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"

/** A copy that is being made can't be used either, whatever its database is filled from. */
const statusSql = "case status when 'creating' then 'restoring' else status end"
const columns = `id, label, database_name, size_bytes::float8 as size_bytes, ${isoSql("created_at")} as created_at,
  ttl_hours, ${isoSql("expires_at")} as expires_at, ${statusSql} as status, access, source_backup_id,
  ${isoSql("objects_at")} as objects_at,
  case when status = 'restoring' then coalesce(
    (select r.progress from svc.restores r where r.branch_id = branches.id and r.status = 'in_progress' limit 1), progress
  ) end as progress`
/** An expired branch is gone at once, even if its database is dropped later. */
const alive = "not temporary and status = 'active' and (expires_at is null or expires_at > now())"
const visible = `not temporary and (status in ('creating', 'restoring') or ${alive})`

const Row = Branch.mapFields(Struct.omit(["connection"]))

/** `reason`: why its creation failed. */
export const branchNotFound = (id: number, reason?: string) =>
  new NotFound({
    error: `No branch ${id}`,
    code: "BRANCH_NOT_FOUND",
    details: reason === undefined ? null : `It was not created: ${reason}`
  })

/** How the service connects to a branch, and for whom. */
const BranchEntry = Schema.Struct({
  name: Schema.String,
  status: Branch.fields.status,
  access: Branch.fields.access,
  /** Password of both logins of the service. */
  password: Schema.String,
  /** Time until it expires, in ms; null when it does not. */
  left: Schema.NullOr(Schema.Finite),
  /** The time of its objects, in ms since 1970; null when storage ignores it. */
  objects: Schema.NullOr(Schema.Finite)
})

const Failed = Schema.Struct({ reason: Schema.String })
const DatabaseName = Schema.Struct({ name: Schema.String })

interface BranchBeginning extends NewBranch {
  readonly database: string
  readonly own: string
  readonly sourceBackupId: number | null
  /** The time whose objects storage shows with the branch; undefined: those of now. */
  readonly objectsAt?: Date | undefined
  /** Set for a use of the service's own: the branch is in no list, and never active. */
  readonly temporary?: boolean
}

/**
 * svc.branches. A branch is `creating` while the lock of BranchDatabases is held, `restoring` while its database is being
 * filled, `active`, then `dropping` until nothing is left.
 */
export const makeBranchRecords = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { server } = yield* BranchDatabases

  const shown = (row: typeof Row.Type, password?: string): Branch => ({
    ...row,
    connection: connectionString(server, branchNames(row.database_name), password)
  })
  const branches = queryRows(sql, Row)
  const query = (text: string, params: ReadonlyArray<unknown>) => onOwnTables(sql.unsafe(text, params))

  const one = <A, E>(id: BranchId, rows: Effect.Effect<ReadonlyArray<A>, E>) =>
    Effect.flatMap(onOwnTables(rows), ([row]) =>
      row === undefined ? Effect.fail(branchNotFound(id)) : Effect.succeed(row)
    )

  return {
    /** Oldest first; `all`: also those that are being filled. */
    list: (all: boolean) =>
      Effect.map(
        onOwnTables(branches(`select ${columns} from svc.branches where ${all ? visible : alive} order by id`)),
        (rows) => rows.map((row) => shown(row))
      ),
    /** Also finds a branch that is being filled. The error has the reason if its creation failed. */
    find: (id: BranchId) =>
      onOwnTables(branches(`select ${columns} from svc.branches where id = $1::bigint and ${visible}`, [id])).pipe(
        Effect.flatMap(([row]) =>
          row === undefined
            ? Effect.flatMap(
                onOwnTables(
                  queryRows(sql, Failed)("select reason from svc.branch_failures where branch_id = $1::bigint", [id])
                ),
                ([failed]) => Effect.fail(branchNotFound(id, failed?.reason))
              )
            : Effect.succeed(shown(row))
        )
      ),
    /** A branch that is being copied; the result shows `password`. */
    creating: (database: string, password: string) =>
      Effect.map(
        onOwnTables(branches(`select ${columns} from svc.branches where database_name = $1`, [database])),
        ([row]) => shown(row as typeof Row.Type, password)
      ),
    /** How far the filling of a branch is. */
    progress: (database: string, percent: number) =>
      Effect.asVoid(
        query("update svc.branches set progress = $2 where database_name = $1 and status = 'restoring'", [
          database,
          percent
        ])
      ),
    /** Another reason for a failed creation. */
    failed: (id: BranchId, reason: string) =>
      Effect.asVoid(query("update svc.branch_failures set reason = $2 where branch_id = $1", [id, reason])),
    /** The record of a branch, which may be in the process of being filled. */
    entry: (id: BranchId) =>
      one(
        id,
        queryRows(sql, BranchEntry)(
          `select database_name as name, ${statusSql} as status, access, password,
             (extract(epoch from expires_at - now()) * 1000)::float8 as left,
             floor(extract(epoch from objects_at) * 1000)::float8 as objects
           from svc.branches where id = $1::bigint and ${visible}`,
          [id]
        )
      ),
    begin: ({ access, database, label, objectsAt, own, sourceBackupId, temporary, ttlHours }: BranchBeginning) =>
      Effect.asVoid(
        query(
          `insert into svc.branches (label, database_name, password, ttl_hours, source_backup_id, access, temporary, objects_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz)`,
          [
            label,
            database,
            own,
            ttlHours ?? 0,
            sourceBackupId,
            access ?? "service_role",
            temporary === true,
            objectsAt?.toISOString() ?? null
          ]
        )
      ),
    /** Changes the status from `creating`; the result shows `password`. */
    restoring: (database: string, password: string) =>
      Effect.map(
        onOwnTables(
          branches(`update svc.branches set status = 'restoring' where database_name = $1 returning ${columns}`, [
            database
          ])
        ),
        ([row]) => shown(row as typeof Row.Type, password)
      ),
    /** The branch can be used from now on; undefined when it was dropped in the meantime. */
    activate: (database: string, password: string) =>
      Effect.map(
        onOwnTables(
          branches(
            `update svc.branches set status = 'active', created_at = now(), size_bytes = pg_database_size(database_name),
               expires_at = case when ttl_hours > 0 then now() + make_interval(hours => ttl_hours) end
             where database_name = $1 and status in ('creating', 'restoring') returning ${columns}`,
            [database]
          )
        ),
        ([row]) => (row === undefined ? undefined : shown(row, password))
      ),
    change: (id: BranchId, { access, label, ttlHours }: BranchChanges) => {
      const before = branches(`select ${columns} from svc.branches where id = $1::bigint and ${visible} for update`, [
        id
      ])
      const changed = branches(
        `update svc.branches set access = coalesce($2, access), label = coalesce($3, label),
               ttl_hours = coalesce($4, ttl_hours),
               expires_at = case when $4::int is null or status <> 'active' then expires_at
                 when $4 > 0 then now() + make_interval(hours => $4) end
             where id = $1::bigint and ${visible} returning ${columns}`,
        [id, access ?? null, label ?? null, ttlHours ?? null]
      )
      const recorded = Effect.gen(function* () {
        const [was] = yield* before
        const [row] = yield* changed
        if (was === undefined || row === undefined) return []
        yield* recordChange(sql, { subject: `branch:${id}`, before: shownBranch(was), after: shownBranch(row) })
        return [row]
      })
      return Effect.map(one(id, sql.withTransaction(recorded)), (row) => shown(row))
    },
    /** Marks a branch for deletion; returns the name of its database. */
    remove: (id: BranchId) =>
      Effect.map(
        one(
          id,
          queryRows(sql, DatabaseName)(
            `update svc.branches set status = 'dropping' where id = $1::bigint and ${visible} returning database_name as name`,
            [id]
          )
        ),
        ({ name }) => name
      ),
    /** Marks a branch whose creation failed, and keeps the reason for a day; false when it was marked already. */
    discard: (database: string, reason: string) =>
      Effect.map(
        query(
          `with old as (delete from svc.branch_failures where failed_at < now() - interval '1 day'),
             failed as (update svc.branches set status = 'dropping'
               where database_name = $1 and status <> 'dropping' returning id)
           insert into svc.branch_failures (branch_id, reason) select id, $2 from failed returning branch_id`,
          [database, reason]
        ),
        ({ length }) => length > 0
      ),
    /** Marks a temporary branch that is not needed any more. */
    release: (database: string) =>
      Effect.asVoid(query("update svc.branches set status = 'dropping' where database_name = $1", [database])),
    /** Deletes the record, once nothing is left of the branch. */
    forget: (database: string) =>
      Effect.asVoid(query("delete from svc.branches where database_name = $1 and status = 'dropping'", [database])),
    /** Databases of all branches to drop: deleted, expired, or interrupted during their creation. */
    expired: onOwnTables(sql.withTransaction(expired(sql)))
  }
})

export type BranchRecords = Effect.Success<typeof makeBranchRecords>

/** Whether no session holds the lock of filling the database of branch `b`. */
const notBeingFilled = `not exists (
  select from pg_locks l join pg_database d on d.oid = l.database
  where d.datname = b.database_name and l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.classid::bigint << 32 | l.objid::bigint = ${branchFillLock})`

/**
 * Marks the branches to drop, and returns the databases of all that are marked. Creating a branch holds one lock and
 * filling it another: without its lock, a branch was interrupted. The roles of a database that was dropped by hand are
 * still to be dropped.
 */
const expired = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [lock] = yield* sql.unsafe<{ readonly free: boolean }>(
      `select pg_try_advisory_xact_lock(${branchesLock}) as free`
    )
    yield* sql.unsafe(
      `update svc.branches b set status = 'dropping'
       where status = 'creating' and $1::bool
          or status = 'restoring' and ${notBeingFilled}
          or status = 'active' and (expires_at <= now()
            or not exists (select from pg_database where datname = b.database_name))`,
      [lock?.free === true]
    )
    const rows = yield* queryRows(
      sql,
      DatabaseName
    )("select database_name as name from svc.branches where status = 'dropping'")
    return rows.map(({ name }) => name)
  })
