import { Effect, Redacted } from "effect"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type DumpWasmTables, largeObjects, tableKey } from "./Progress.ts"
import { type Login } from "../../postgres/Login.ts"
import { connectDirectly, type QueryFailed, type DirectConnection } from "../../postgres/DirectConnection.ts"

/** What is to be known of a database before it is dumped. */
export interface DumpWasmSource {
  /** To be asked for; undefined where the server can't convert to it. */
  readonly encoding: "UTF8" | undefined
  /** Whether the server can notice in the middle of a statement that its client is gone. */
  readonly noticesLeaving: boolean
  readonly tables: DumpWasmTables
}

/** The password may be in what a server or a library says of it. */
export const withoutPassword = (reason: string, login: Login): string => {
  const password = Redacted.value(login.password)
  return password !== "" && reason.includes(password) ? "The database refused the connection" : reason
}

const databaseSql = `select current_setting('server_version_num')::int / 10000 as major, pg_encoding_to_char(encoding) as encoding
  from pg_database where datname = current_database()`

/** Sizes as they are; waits for tables that are locked. */
const exactBytes = "pg_table_size(c.oid)"
/** Of the last VACUUM or ANALYZE. */
const knownBytes = "(c.relpages + coalesce(t.relpages, 0)) * current_setting('block_size')::bigint"

const tablesSql = (bytes: string) => `
  select n.nspname::text as schema, c.relname::text as name, (${bytes})::float8 as bytes, c.reltuples::float8 as rows
  from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_class t on t.oid = c.reltoastrelid
  where c.oid = 'pg_catalog.pg_largeobject'::regclass
    or c.relkind = 'r' and c.relpersistence <> 't' and n.nspname not in ('pg_catalog', 'information_schema')`

const tablesOf = Effect.fnUntraced(function* (on: DirectConnection) {
  const rows = yield* Effect.catch(on.query(tablesSql(exactBytes)), () => on.query(tablesSql(knownBytes)))
  return new Map(
    rows.map(({ bytes, name, rows, schema }) =>
      schema === "pg_catalog"
        ? [largeObjects, { bytes: Number(bytes), rows: 0 }]
        : [tableKey(String(schema), String(name)), { bytes: Number(bytes), rows: Number(rows) }]
    )
  )
})

/** Fails where a dump would, but sooner. `newest`: major version of a server that pg_dump knows. */
export const lookAtSource = (login: Login, newest: number): Effect.Effect<DumpWasmSource, DumpFailed> =>
  Effect.gen(function* () {
    const on = yield* connectDirectly(login, { statement_timeout: "30s", lock_timeout: "1s" })
    const [database] = yield* on.query(databaseSql)
    const major = Number(database?.["major"])
    if (major > newest) {
      return yield* new DumpFailed({
        reason: `The server is PostgreSQL ${major}, and pg_dump as WebAssembly knows none newer than ${newest}: install pg_dump ${major}`
      })
    }
    const noticing = yield* Effect.exit(on.query("set client_connection_check_interval = '1s'"))
    return {
      // Restoring needs no other. Bytes that are text in no encoding can only be passed on as they are.
      encoding: ["SQL_ASCII", "MULE_INTERNAL"].includes(String(database?.["encoding"])) ? undefined : "UTF8",
      noticesLeaving: noticing._tag === "Success",
      tables: yield* tablesOf(on)
    } satisfies DumpWasmSource
  }).pipe(
    Effect.scoped,
    Effect.catchTag("QueryFailed", ({ message }: QueryFailed) =>
      Effect.fail(new DumpFailed({ reason: withoutPassword(message, login) }))
    )
  )
