import { Effect, Redacted } from "effect"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { type DumpWasmTables, largeObjects, tableKey } from "./Progress.ts"
import { type Login } from "../../postgres/Login.ts"
import { connectDirectly, type QueryFailed, type DirectConnection } from "../../postgres/DirectConnection.ts"

/** Facts about a database that a dump needs. */
export interface DumpWasmSource {
  /** Encoding of the dump; undefined where the server can't convert to it. */
  readonly encoding: "UTF8" | undefined
  /** Whether the server can detect a lost client during a statement. */
  readonly detectsDisconnect: boolean
  readonly tables: DumpWasmTables
}

/** Errors of a server or a library may contain the password. */
export const withoutPassword = (reason: string, login: Login): string => {
  const password = Redacted.value(login.password)
  return password !== "" && reason.includes(password) ? "The database refused the connection" : reason
}

const databaseSql = `select current_setting('server_version_num')::int / 10000 as major, pg_encoding_to_char(encoding) as encoding
  from pg_database where datname = current_database()`

/** Exact sizes; waits for locked tables. */
const exactBytes = "pg_table_size(c.oid)"
/** Sizes at the last VACUUM or ANALYZE. */
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

/** Inspects the database; fails early where the dump would. `newest`: the newest major version that pg_dump supports. */
export const inspectSource = (login: Login, newest: number): Effect.Effect<DumpWasmSource, DumpFailed> =>
  Effect.gen(function* () {
    const on = yield* connectDirectly(login, { statement_timeout: "30s", lock_timeout: "1s" })
    const [database] = yield* on.query(databaseSql)
    const major = Number(database?.["major"])
    if (major > newest) {
      return yield* new DumpFailed({
        reason: `The server is PostgreSQL ${major}, and the built-in pg_dump supports at most ${newest}: install pg_dump ${major}`
      })
    }
    const detection = yield* Effect.exit(on.query("set client_connection_check_interval = '1s'"))
    return {
      // A restore can always use UTF8. Bytes without an encoding can't be converted.
      encoding: ["SQL_ASCII", "MULE_INTERNAL"].includes(String(database?.["encoding"])) ? undefined : "UTF8",
      detectsDisconnect: detection._tag === "Success",
      tables: yield* tablesOf(on)
    } satisfies DumpWasmSource
  }).pipe(
    Effect.scoped,
    Effect.catchTag("QueryFailed", ({ message }: QueryFailed) =>
      Effect.fail(new DumpFailed({ reason: withoutPassword(message, login) }))
    )
  )
