import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { branchesLock, branchFillLock } from "../../domain/sql/AdvisoryLocks.ts"
import {
  type Branch,
  type BranchId,
  branchNames,
  connectionString,
  type NewBranch
} from "../../domain/branches/Branch.ts"
import { NotFound, type Unavailable } from "../../domain/errors.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { onOwnTables } from "../OwnTables.ts"

const columns = `id, label, database_name, size_bytes::float8 as size_bytes, ${isoSql("created_at")} as created_at,
  ttl_hours, ${isoSql("expires_at")} as expires_at, status, source_backup_id`
/** An expired branch is gone at once, whenever its database is dropped. */
const alive = "status = 'active' and (expires_at is null or expires_at > now())"
const shownAtAll = `(status = 'restoring' or ${alive})`

type Row = Omit<Branch, "connection">

export const branchNotFound = (id: number) => new NotFound({ error: `No branch ${id}`, code: "BRANCH_NOT_FOUND" })

/** How the service comes into a branch. */
interface BranchDoor {
  readonly name: string
  readonly status: Branch["status"]
  /** Of both logins of the service. */
  readonly password: string
  /** Until it expires, in ms; null when it does not. */
  readonly left: number | null
}

interface BranchBeginning extends NewBranch {
  readonly database: string
  readonly own: string
  readonly sourceBackupId: number | null
}

/**
 * What svc.branches says of each branch: `creating` while the turn of BranchDatabases is held, `restoring` while its
 * database is being filled, `active`, then `dropping` until nothing is left.
 */
export class BranchRecords extends Context.Service<
  BranchRecords,
  {
    /** Oldest first; only those that can be used. */
    readonly list: Effect.Effect<ReadonlyArray<Branch>, Unavailable>
    /** One that is being filled too. */
    readonly find: (id: BranchId) => Effect.Effect<Branch, NotFound | Unavailable>
    /** The same. */
    readonly door: (id: BranchId) => Effect.Effect<BranchDoor, NotFound | Unavailable>
    readonly begin: (given: BranchBeginning) => Effect.Effect<void, Unavailable>
    /** From `creating` on; `password` is shown. */
    readonly restoring: (database: string, password: string) => Effect.Effect<Branch, Unavailable>
    /** From now on it can be used; undefined when it was dropped meanwhile. */
    readonly activate: (database: string, password: string) => Effect.Effect<Branch | undefined, Unavailable>
    /** Gives the name of its database. */
    readonly remove: (id: BranchId) => Effect.Effect<string, NotFound | Unavailable>
    /** One that came to nothing; false when it was on its way out already. */
    readonly discard: (database: string) => Effect.Effect<boolean, Unavailable>
    /** Nothing is left of it. */
    readonly forget: (database: string) => Effect.Effect<void, Unavailable>
    /** Databases of all branches that are to go: dropped, expired, or cut off while they were made. */
    readonly outworn: Effect.Effect<ReadonlyArray<string>, Unavailable>
  }
>()("svc/services/BranchRecords") {
  static readonly layer = Layer.effect(
    BranchRecords,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { server } = yield* BranchDatabases

      const shown = (row: Row, password?: string): Branch => ({
        ...row,
        connection: connectionString(server, branchNames(row.database_name), password)
      })
      const ask = <A extends object>(text: string, params: ReadonlyArray<string | number | null> = []) =>
        onOwnTables(sql.unsafe<A>(text, [...params]))

      const one = <A extends object>(id: BranchId, text: string) =>
        Effect.flatMap(ask<A>(text, [id]), ([row]) =>
          row === undefined ? Effect.fail(branchNotFound(id)) : Effect.succeed(row)
        )

      return BranchRecords.of({
        list: Effect.map(ask<Row>(`select ${columns} from svc.branches where ${alive} order by id`), (rows) =>
          rows.map((row) => shown(row))
        ),
        find: (id) =>
          Effect.map(one<Row>(id, `select ${columns} from svc.branches where id = $1 and ${shownAtAll}`), (row) =>
            shown(row)
          ),
        door: (id) =>
          one<BranchDoor>(
            id,
            `select database_name as name, status, password,
               (extract(epoch from expires_at - now()) * 1000)::float8 as left
             from svc.branches where id = $1 and ${shownAtAll}`
          ),
        begin: ({ database, label, own, sourceBackupId, ttlHours }) =>
          Effect.asVoid(
            ask(
              `insert into svc.branches (label, database_name, password, ttl_hours, source_backup_id)
               values ($1, $2, $3, $4, $5)`,
              [label, database, own, ttlHours ?? 0, sourceBackupId]
            )
          ),
        restoring: (database, password) =>
          Effect.map(
            ask<Row>(`update svc.branches set status = 'restoring' where database_name = $1 returning ${columns}`, [
              database
            ]),
            ([row]) => shown(row as Row, password)
          ),
        activate: (database, password) =>
          Effect.map(
            ask<Row>(
              `update svc.branches set status = 'active', created_at = now(), size_bytes = pg_database_size(database_name),
                 expires_at = case when ttl_hours > 0 then now() + make_interval(hours => ttl_hours) end
               where database_name = $1 and status in ('creating', 'restoring') returning ${columns}`,
              [database]
            ),
            ([row]) => (row === undefined ? undefined : shown(row, password))
          ),
        remove: (id) =>
          Effect.map(
            one<{ readonly name: string }>(
              id,
              `update svc.branches set status = 'dropping' where id = $1 and ${shownAtAll} returning database_name as name`
            ),
            ({ name }) => name
          ),
        discard: (database) =>
          Effect.map(
            ask(
              `update svc.branches set status = 'dropping'
               where database_name = $1 and status <> 'dropping' returning id`,
              [database]
            ),
            ({ length }) => length > 0
          ),
        forget: (database) =>
          Effect.asVoid(ask("delete from svc.branches where database_name = $1 and status = 'dropping'", [database])),
        outworn: onOwnTables(sql.withTransaction(outworn(sql)))
      })
    })
  )
}

/** Whether nobody fills the database of branch `b`. */
const unheld = `not exists (
  select from pg_locks l join pg_database d on d.oid = l.database
  where d.datname = b.database_name and l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.classid::bigint << 32 | l.objid::bigint = ${branchFillLock})`

/**
 * Marks what is to go, and gives all that is marked. Whoever makes a branch holds one lock and whoever fills it another,
 * so that one without it was cut off. A database that somebody dropped leaves its roles behind.
 */
const outworn = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [lock] = yield* sql.unsafe<{ readonly free: boolean }>(
      `select pg_try_advisory_xact_lock(${branchesLock}) as free`
    )
    yield* sql.unsafe(
      `update svc.branches b set status = 'dropping'
       where status = 'creating' and $1::bool
          or status = 'restoring' and ${unheld}
          or status = 'active' and (expires_at <= now()
            or not exists (select from pg_database where datname = b.database_name))`,
      [lock?.free === true]
    )
    const rows = yield* sql.unsafe<{ readonly name: string }>(
      "select database_name as name from svc.branches where status = 'dropping'"
    )
    return rows.map(({ name }) => name)
  })
