import { Clock, Context, Effect, Exit, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Branch,
  type BranchId,
  branchNames,
  connectionString,
  type NewBranch,
  newBranchDatabase,
  newBranchPassword
} from "../domain/Branch.ts"
import { branchesLock } from "../domain/AdvisoryLocks.ts"
import { type Conflict, type Forbidden, NotFound, type Unavailable } from "../domain/errors.ts"
import { isoSql } from "../domain/IsoSql.ts"
import { BranchDatabases } from "./BranchDatabases.ts"
import { type Database, Db } from "./Db.ts"
import { Listener } from "./Listener.ts"
import { onOwnTables } from "./OwnTables.ts"

const columns = `id, label, database_name, size_bytes::float8 as size_bytes, ${isoSql("created_at")} as created_at,
  ttl_hours, ${isoSql("expires_at")} as expires_at, status`
/** An expired branch is gone at once, whenever its database is dropped. */
const alive = "status = 'active' and (expires_at is null or expires_at > now())"

type Row = Omit<Branch, "connection">

const notThere = (id: number) => new NotFound({ error: `No branch ${id}`, code: "BRANCH_NOT_FOUND" })

/** A branch that was looked up; `until` is when it expires, in ms of the clock. */
interface Known {
  readonly database: Database
  readonly until: number
}

/** Copies of the main database to try things in (spec: Branch). */
export class Branches extends Context.Service<
  Branches,
  {
    /** Oldest first; only those that can be used. */
    readonly list: Effect.Effect<ReadonlyArray<Branch>, Unavailable>
    readonly find: (id: BranchId) => Effect.Effect<Branch, NotFound | Unavailable>
    /** Done when the copy is. `connection` holds the password, this once. Fails as `BranchTurn` does. */
    readonly create: (given: NewBranch) => Effect.Effect<Branch, Conflict | Forbidden | Unavailable>
    readonly remove: (id: BranchId) => Effect.Effect<void, NotFound | Unavailable>
    /** For requests on a branch: cheap after the first one. */
    readonly database: (id: BranchId) => Effect.Effect<Database, NotFound | Unavailable>
    /** Drops what has expired, and what was cut off while it was made or dropped. */
    readonly sweep: Effect.Effect<void, Unavailable>
  }
>()("svc/services/Branches") {
  static readonly layer = Layer.effect(
    Branches,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const db = yield* Db
      const databases = yield* BranchDatabases
      const listener = yield* Listener

      const known = new Map<number, Known>()
      let hearing = false
      /** Grows whenever what we know may have become wrong, so that a look-up under way then is not remembered. */
      let generation = 0
      const { heard } = yield* listener.listen("svc_branches")
      yield* heard.pipe(
        Stream.runForEach((message) =>
          Effect.suspend(() => {
            generation++
            if (message._tag !== "Notification") {
              hearing = message._tag === "Connected"
              known.clear()
              return Effect.void
            }
            const gone = known.get(Number(message.payload))
            known.delete(Number(message.payload))
            return gone === undefined ? Effect.void : db.leave(gone.database.name)
          })
        ),
        Effect.forkScoped
      )

      const shown = (row: Row, password?: string): Branch => ({
        ...row,
        connection: connectionString(databases.server, branchNames(row.database_name), password)
      })

      const list = onOwnTables(sql.unsafe<Row>(`select ${columns} from svc.branches where ${alive} order by id`)).pipe(
        Effect.map((rows) => rows.map((row) => shown(row)))
      )

      const find = Effect.fn("Branches.find")(function* (id: BranchId) {
        const [row] = yield* onOwnTables(
          sql.unsafe<Row>(`select ${columns} from svc.branches where id = $1 and ${alive}`, [id])
        )
        return row === undefined ? yield* notThere(id) : shown(row)
      })

      /** Drops the database of a branch that is marked so, then forgets it. */
      const finish = (database: string) =>
        Effect.gen(function* () {
          yield* db.leave(database)
          yield* databases.drop(branchNames(database))
          yield* onOwnTables(
            sql.unsafe("delete from svc.branches where database_name = $1 and status = 'dropping'", [database])
          )
        })

      /** What is left of one that could not be made. When this fails too, `sweep` does it. */
      const undo = (database: string) =>
        onOwnTables(
          sql.unsafe("update svc.branches set status = 'dropping' where database_name = $1", [database])
        ).pipe(
          Effect.andThen(finish(database)),
          Effect.catchCause((cause) => Effect.logWarning(`${database} will be dropped later`, cause))
        )

      const make = (given: NewBranch, database: string, password: string) =>
        Effect.gen(function* () {
          const turn = yield* databases.turn
          const own = newBranchPassword()
          yield* onOwnTables(
            sql.unsafe("insert into svc.branches (label, database_name, password, ttl_hours) values ($1, $2, $3, $4)", [
              given.label,
              database,
              own,
              given.ttlHours ?? 0
            ])
          )
          yield* turn.copy(database)
          yield* turn.settle(branchNames(database), { given: password, own })
          const [row] = yield* onOwnTables(
            sql.unsafe<Row>(
              `update svc.branches set status = 'active', created_at = now(), size_bytes = pg_database_size(database_name),
                 expires_at = case when ttl_hours > 0 then now() + make_interval(hours => ttl_hours) end
               where database_name = $1 returning ${columns}`,
              [database]
            )
          )
          return shown(row as Row, password)
        }).pipe(Effect.scoped)

      const create = Effect.fn("Branches.create")(function* (given: NewBranch) {
        const database = newBranchDatabase()
        return yield* make(given, database, newBranchPassword()).pipe(
          Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : undo(database)))
        )
      })

      const remove = Effect.fn("Branches.remove")(function* (id: BranchId) {
        const [row] = yield* onOwnTables(
          sql.unsafe<{ readonly name: string }>(
            `update svc.branches set status = 'dropping' where id = $1 and ${alive} returning database_name as name`,
            [id]
          )
        )
        if (row === undefined) return yield* notThere(id)
        known.delete(id)
        yield* finish(row.name)
      })

      const lookUp = Effect.fnUntraced(function* (id: BranchId) {
        const before = generation
        const [row] = yield* onOwnTables(
          sql.unsafe<{ readonly name: string; readonly password: string; readonly left: number | null }>(
            `select database_name as name, password, (extract(epoch from expires_at - now()) * 1000)::float8 as left
             from svc.branches where id = $1 and ${alive}`,
            [id]
          )
        )
        if (row === undefined) return yield* notThere(id)
        const database = db.branch({ ...branchNames(row.name), password: Redacted.make(row.password) })
        const until = row.left === null ? Number.POSITIVE_INFINITY : (yield* Clock.currentTimeMillis) + row.left
        if (hearing && before === generation) known.set(id, { database, until })
        return database
      })

      const database = (id: BranchId): Effect.Effect<Database, NotFound | Unavailable> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const found = known.get(id)
          if (found === undefined) return lookUp(id)
          return now < found.until ? Effect.succeed(found.database) : Effect.fail(notThere(id))
        })

      const sweep = Effect.gen(function* () {
        const rows = yield* onOwnTables(sql.withTransaction(abandoned(sql)))
        for (const { name } of rows) {
          yield* Effect.catchCause(finish(name), (cause) => Effect.logWarning(`${name} can't be dropped yet`, cause))
        }
      })

      return Branches.of({ list, find, create, remove, database, sweep })
    })
  )
}

/**
 * Marks what is to go, and gives all that is marked. Whoever makes a branch holds the lock, so one that is being made
 * while it is free was cut off. A database that somebody dropped leaves its roles behind.
 */
const abandoned = (sql: SqlClient.SqlClient) =>
  Effect.gen(function* () {
    const [lock] = yield* sql.unsafe<{ readonly free: boolean }>(
      `select pg_try_advisory_xact_lock(${branchesLock}) as free`
    )
    yield* sql.unsafe(
      `update svc.branches b set status = 'dropping'
       where status = 'creating' and $1::bool
          or status = 'active' and (expires_at <= now()
            or not exists (select from pg_database where datname = b.database_name))`,
      [lock?.free === true]
    )
    return yield* sql.unsafe<{ readonly name: string }>(
      "select database_name as name from svc.branches where status = 'dropping'"
    )
  })
