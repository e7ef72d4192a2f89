import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { isDistributedSql } from "../../domain/sql/Citus.ts"
import { onOwnTables, type OwnTablesFailure } from "../OwnTables.ts"

/** A table whose rows can be watched: ordinary or partitioned, outside the schemas of PostgreSQL and of the service. */
const WatchedTable = Schema.Struct({
  oid: Schema.Int,
  schema: Schema.String,
  name: Schema.String,
  partitioned: Schema.Boolean
})
export type WatchedTable = typeof WatchedTable.Type

/** Schemas that can't be watched: PostgreSQL's and the service's own. `n` is a row of pg_namespace. */
const systemSchema = `(n.nspname ~ '^pg_' or n.nspname in ('information_schema', 'svc', 'svc_ddl'))`

const columns = `c.oid::int8::float8 as oid, n.nspname::text as schema, c.relname::text as name,
  c.relkind = 'p' as partitioned`
const relations = "pg_class c join pg_namespace n on n.oid = c.relnamespace"

/** Short, because all writes to a table queue behind DDL that waits for its lock. */
const lockTimeout = "2s"

const tableNotFound = (schema: string, name: string) =>
  new NotFound({ error: `Table ${schema}.${name} does not exist`, code: "TABLE_NOT_FOUND" })

const kinds: Readonly<Record<string, string>> = {
  v: "a view",
  m: "a materialized view",
  f: "a foreign table",
  S: "a sequence",
  i: "an index",
  c: "a type"
}

/** Tables of the main database on which the service can create triggers, and DDL on them that does not block writers. */
export class WatchedTables extends Context.Service<
  WatchedTables,
  {
    readonly list: Effect.Effect<ReadonlyArray<WatchedTable>, Unavailable>
    /**
     * 404 `TABLE_NOT_FOUND`; 400 `TABLE_NOT_WATCHABLE` for other relations and for system tables; 409 `TABLE_DISTRIBUTED` for
     * those that Citus distributes.
     */
    readonly find: (
      schema: string,
      name: string
    ) => Effect.Effect<WatchedTable, NotFound | InvalidRequest | Conflict | Unavailable>
    /**
     * Runs DDL on a watched table, in one transaction that waits for locks for 2 s at most. 503 `TABLE_BUSY`, 403
     * `TABLE_NOT_OWNED`, 404 `TABLE_NOT_FOUND` if the table was dropped meanwhile.
     */
    readonly change: <A, E, R>(
      effect: Effect.Effect<A, E | SqlError.SqlError, R>
    ) => Effect.Effect<A, Exclude<E, OwnTablesFailure> | NotFound | Forbidden | Unavailable, R>
  }
>()("svc/services/WatchedTables") {
  static readonly layer = Layer.effect(
    WatchedTables,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = SqlSchema.findAll({
        Request: Schema.Void,
        Result: WatchedTable,
        execute: () =>
          sql.unsafe(
            `select ${columns} from ${relations}
             where c.relkind in ('r', 'p') and c.relpersistence <> 't' and not ${systemSchema}
             order by n.nspname, c.relname`
          )
      })

      // Compared as text: as names the parameters would be truncated to 63 bytes.
      const relationsNamed = SqlSchema.findAll({
        Request: Schema.Tuple([Schema.String, Schema.String]),
        Result: Schema.Struct({
          ...WatchedTable.fields,
          kind: Schema.String,
          system: Schema.Boolean,
          spread: Schema.Boolean
        }),
        execute: (name) =>
          sql.unsafe(
            `select ${columns}, c.relkind::text as kind, ${systemSchema} as system, ${isDistributedSql("c.oid")} as spread from ${relations}
             where n.nspname = $1::text and c.relname = $2::text`,
            name
          )
      })

      const find = Effect.fn("WatchedTables.find")(function* (schema: string, name: string) {
        if (schema.includes("\0") || name.includes("\0")) return yield* tableNotFound(schema, name)
        const [found] = yield* onOwnTables(relationsNamed([schema, name]))
        if (found === undefined) return yield* tableNotFound(schema, name)
        const { kind, spread, system, ...table } = found
        if (system || (kind !== "r" && kind !== "p")) {
          const what = system ? "a system table" : (kinds[kind] ?? "not a table")
          return yield* new InvalidRequest({
            error: `${schema}.${name} is ${what} and cannot be watched`,
            code: "TABLE_NOT_WATCHABLE"
          })
        }
        if (spread) return yield* distributed(schema, name)
        return table
      })

      const change = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
        onOwnTables(
          sql.withTransaction(Effect.andThen(sql.unsafe(`set local lock_timeout = '${lockTimeout}'`), effect)),
          refusals
        )

      return WatchedTables.of({ list: onOwnTables(list(undefined)), find, change })
    })
  )
}

const distributed = (schema: string, name: string) =>
  new Conflict({
    error: `${schema}.${name} is distributed by Citus: its changes happen on workers, where the service sees none`,
    code: "TABLE_DISTRIBUTED",
    hint: "Write what should be reported to a table of the coordinator too, in the same transaction, and watch that one"
  })

const locked = () =>
  new Unavailable({
    error: "The table is locked by another transaction; retry when that has ended",
    code: "TABLE_BUSY"
  })

const dropped = () => new NotFound({ error: "The table has just been dropped", code: "TABLE_NOT_FOUND" })

const refusals = {
  "55P03": locked,
  "40P01": locked,
  "42P01": dropped,
  "3F000": dropped,
  "42501": (message: string) =>
    new Forbidden({
      error: "The service's database login may not create triggers on this table",
      code: "TABLE_NOT_OWNED",
      hint: "Make the login a member of the table's owner, or grant it TRIGGER on the table",
      details: message
    })
}
