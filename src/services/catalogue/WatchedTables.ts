import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Forbidden, InvalidRequest, NotFound, Unavailable } from "../../domain/errors.ts"
import { onOwnTables, type OwnTablesFailure } from "../OwnTables.ts"

/** A table whose rows can be watched: an ordinary or a partitioned one, of a schema that is not the system's or ours. */
export interface WatchedTable {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly partitioned: boolean
}

/** Schemas nobody watches: PostgreSQL's own and ours. `n` is a row of pg_namespace. */
const systemSchema = `(n.nspname ~ '^pg_' or n.nspname in ('information_schema', 'svc'))`

/** How long our DDL may wait for a table: everybody's writes to it queue up behind it meanwhile. */
const lockTimeout = "2s"

const notThere = (schema: string, name: string) =>
  new NotFound({ error: `There is no table ${schema}.${name}`, code: "TABLE_NOT_FOUND" })

const kinds: Readonly<Record<string, string>> = {
  v: "a view",
  m: "a materialized view",
  f: "a foreign table",
  S: "a sequence",
  i: "an index",
  c: "a type"
}

/** The tables of the main database that triggers of ours can stand on, and changing them without being in the way. */
export class WatchedTables extends Context.Service<
  WatchedTables,
  {
    readonly list: Effect.Effect<ReadonlyArray<WatchedTable>, Unavailable>
    /** 404 `TABLE_NOT_FOUND`; 400 `TABLE_NOT_WATCHABLE` for what is no table, or is the system's or ours. */
    readonly find: (
      schema: string,
      name: string
    ) => Effect.Effect<WatchedTable, NotFound | InvalidRequest | Unavailable>
    /**
     * DDL on a watched table, in one transaction that waits 2 s at most for the table: 503 `TABLE_BUSY`, 403
     * `TABLE_NOT_OWNED`, 404 `TABLE_NOT_FOUND` when it has gone meanwhile.
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

      const list = onOwnTables(
        sql.unsafe<WatchedTable>(
          `select c.oid::int8::float8 as oid, n.nspname::text as schema, c.relname::text as name, c.relkind = 'p' as partitioned
           from pg_class c join pg_namespace n on n.oid = c.relnamespace
           where c.relkind in ('r', 'p') and c.relpersistence <> 't' and not ${systemSchema}
           order by n.nspname, c.relname`
        )
      )

      const find = Effect.fn("WatchedTables.find")(function* (schema: string, name: string) {
        if (schema.includes("\0") || name.includes("\0")) return yield* notThere(schema, name)
        const [found] = yield* onOwnTables(
          sql.unsafe<WatchedTable & { readonly kind: string; readonly system: boolean }>(
            `select c.oid::int8::float8 as oid, n.nspname::text as schema, c.relname::text as name,
                    c.relkind = 'p' as partitioned, c.relkind::text as kind, ${systemSchema} as system
             from pg_class c join pg_namespace n on n.oid = c.relnamespace
             -- As text: as names they would be cut at 63 bytes, and found.
             where n.nspname = $1::text and c.relname = $2::text`,
            [schema, name]
          )
        )
        if (found === undefined) return yield* notThere(schema, name)
        const { kind, system, ...table } = found
        if (system || (kind !== "r" && kind !== "p")) {
          const what = system ? "a system table" : (kinds[kind] ?? "no table")
          return yield* new InvalidRequest({
            error: `${schema}.${name} is ${what}, which can't be watched`,
            code: "TABLE_NOT_WATCHABLE"
          })
        }
        return table
      })

      const change = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
        onOwnTables(
          sql.withTransaction(Effect.andThen(sql.unsafe(`set local lock_timeout = '${lockTimeout}'`), effect)),
          refusals
        )

      return WatchedTables.of({ list, find, change })
    })
  )
}

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
