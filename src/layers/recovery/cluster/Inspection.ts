import { Effect } from "effect"
import { connectDirectly, type DirectConnection } from "../../postgres/client/DirectConnection.ts"
import { type Login } from "../../postgres/Login.ts"
import { ArchiveTrouble } from "../store/Store.ts"

/** Every page of a table is read, of whose checksum PostgreSQL takes care; an index could answer instead. */
const settings = { enable_indexscan: "off", enable_indexonlyscan: "off", enable_bitmapscan: "off" }

const tablesSql = `select format('%I.%I', n.nspname, c.relname) as name, c.oid::int8::text as oid
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'm') and c.relpersistence = 'p' and n.nspname not in ('pg_catalog', 'information_schema')
    and n.nspname not like 'pg\\_temp%' and n.nspname not like 'pg\\_toast%' and (c.relkind = 'r' or c.relispopulated)
  order by 1`

/** Indexes that can be checked against their tables, those of the catalogue too. */
const indexesSql = `select i.indexrelid::int8::text as oid, i.indexrelid::regclass::text as name
  from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
  where a.amname = 'btree' and c.relpersistence = 'p' and c.relkind = 'i' and i.indisready and i.indisvalid`

const damaged = (what: string) => (error: { readonly message: string }) =>
  new ArchiveTrouble({ reason: `${what} of the restored database can't be read: ${error.message}` })

/** Checks heaps and indexes by amcheck, where the server has it. */
const amcheck = Effect.fnUntraced(function* ({ query }: DirectConnection, tables: ReadonlyArray<string>) {
  const [extension] = yield* query("select name from pg_available_extensions where name = 'amcheck'")
  if (extension === undefined) return
  yield* query("create extension if not exists amcheck")
  const [at] = yield* query(
    "select quote_ident(n.nspname) as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'amcheck'"
  )
  const schema = String(at?.["schema"])
  for (const oid of tables) {
    const [found] = yield* query(`select msg, blkno::text from ${schema}.verify_heapam(${oid}::oid::regclass) limit 1`)
    if (found !== undefined) {
      return yield* new ArchiveTrouble({
        reason: `Table ${oid} of the restored database is damaged in block ${String(found["blkno"])}: ${String(found["msg"])}`
      })
    }
  }
  for (const { name, oid } of yield* query(indexesSql)) {
    yield* Effect.mapError(
      query(`select ${schema}.bt_index_check(${String(oid)}::oid::regclass, true)`),
      damaged(`Index ${String(name)}`)
    )
  }
  return
})

/** Reads all of a restored database, which nothing else uses, and checks that the drill of this id is there. */
export const inspectCluster = Effect.fnUntraced(function* (login: Login, drill: number) {
  const superuser = yield* connectDirectly(login).pipe(
    Effect.flatMap(({ query }) =>
      query("select rolname::text as name from pg_roles where rolsuper and rolcanlogin order by oid limit 1")
    ),
    Effect.map(([row]) => row?.["name"]),
    Effect.scoped,
    Effect.mapError(damaged("The catalogue"))
  )
  const user = typeof superuser === "string" ? superuser : login.user
  const session = yield* Effect.mapError(connectDirectly({ ...login, user }, settings), damaged("The catalogue"))
  const { query } = session
  // No trigger of the database runs.
  if (typeof superuser === "string") {
    yield* Effect.mapError(query("set session_replication_role = replica"), damaged("The catalogue"))
  }
  const tables = yield* Effect.mapError(query(tablesSql), damaged("The catalogue"))
  let rows = 0
  for (const { name } of tables) {
    const [counted] = yield* Effect.mapError(
      query(`select count(*)::float8 as rows from only ${String(name)}`),
      damaged(`Table ${String(name)}`)
    )
    rows += Number(counted?.["rows"] ?? 0)
  }
  const [there] = yield* Effect.mapError(
    query("select exists (select from svc.recovery_drills where id = $1) as found", [drill]),
    damaged("The service's own tables")
  )
  if (there?.["found"] !== true) {
    return yield* new ArchiveTrouble({
      reason: "The restored database lacks what was committed just before the time that it was restored to"
    })
  }
  if (typeof superuser === "string") {
    yield* amcheck(
      session,
      tables.map(({ oid }) => String(oid))
    ).pipe(Effect.mapError((error) => (error._tag === "ArchiveTrouble" ? error : damaged("An index or table")(error))))
  }
  return { tables: tables.length, rows }
}, Effect.scoped)
