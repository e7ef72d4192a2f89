import { Effect } from "effect"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { type DumpFailed } from "../../services/ports/DumpTools.ts"
import { type Login } from "../postgres/Login.ts"
import { roleNamesOf } from "./Globals.ts"
import { connectRestore, restoreRefusal, type RestoreSession } from "./plain/Session.ts"

/**
 * The search paths that sessions of the database have: first that of the service's login, by PostgreSQL's precedence, then
 * those of other roles.
 */
const pathsSql = `
  select substr(c, strpos(c, '=') + 1) as path, setrole = me.oid or setrole = 0 as own
  from pg_db_role_setting s, unnest(s.setconfig) c, pg_roles me, pg_database d
  where c ~ '^search_path=' and s.setdatabase in (0, d.oid) and d.datname = current_database() and me.rolname = current_user
  order by own desc, setrole <> 0 desc, setdatabase <> 0 desc, setrole`

const defaultSql = "select boot_val as path from pg_settings where name = 'search_path'"

/**
 * The names of a path as it is written in SQL; a dump's own names are in pg_catalog, which comes first. A role whose path is
 * empty has the empty name in it.
 */
export const pathText = (names: ReadonlyArray<string>) =>
  [
    "pg_catalog",
    ...new Set(names.filter((name) => name !== "" && !name.startsWith("pg_") && name !== "information_schema"))
  ]
    .map(quoteName)
    .join(", ")

/** Rows of a query. */
const askSession = ({ client }: RestoreSession, text: string) =>
  Effect.tryPromise({
    try: () => client.query<Readonly<Record<string, unknown>>>(text),
    catch: (cause) => restoreRefusal(cause)
  }).pipe(Effect.map(({ rows }) => rows))

/**
 * Names of the schemas in which sessions of the main database find what they name without a schema. pg_dump writes no
 * schema where the syntax has no place for one, as in `IS DISTINCT FROM`, and the bodies of functions have whatever their
 * author wrote: a restore needs this path for both, or fails, or finds operators of pg_catalog by a cast.
 */
export const searchPathOf = (admin: Login): Effect.Effect<ReadonlyArray<string>, DumpFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const session = yield* connectRestore(admin)
      const set = yield* askSession(session, pathsSql)
      const own = set.find(({ own }) => own === true)?.["path"] ?? (yield* askSession(session, defaultSql))[0]?.["path"]
      const others = set.filter(({ own }) => own !== true).map(({ path }) => path)
      return [own, ...others]
        .flatMap((path) => roleNamesOf(String(path)))
        .map((name) => (name === "$user" ? admin.user : name))
    })
  )

/** All schemas of a database but PostgreSQL's and the service's. */
export const allSchemas = (session: RestoreSession) =>
  Effect.map(
    askSession(
      session,
      "select nspname::text as name from pg_namespace where nspname !~ '^(pg_|information_schema$|svc$|svc_ddl$)' order by 1"
    ),
    (rows) => rows.map(({ name }) => String(name))
  )

/** Functions whose bodies depend on the path of the session: those of the role, and of extensions without definer's rights. */
const unsettledSql = (role: string) => `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.oid >= 16384 and p.prokind in ('f', 'p', 'w')
    and not exists (select from unnest(p.proconfig) c where c ~ '^search_path=')
    and p.prolang in (select oid from pg_language where lanname not in ('c', 'internal'))
    and (p.proowner = (select oid from pg_roles where rolname = ${quoteLiteral(role)})
      or not p.prosecdef and pg_has_role(p.proowner, 'usage') and exists (
        select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'))`

/** How many functions are altered in one transaction, which locks each of them. */
const batch = 100

/**
 * Gives functions the path while sessions may call them that have none: those of pg_restore, and since PostgreSQL 17 all
 * that build indexes or fill materialized views. `back` takes it back. Runs no code of the dump.
 */
export const lendSearchPath = (
  session: RestoreSession,
  role: string,
  path: string
): Effect.Effect<{ readonly back: Effect.Effect<void, DumpFailed> }, DumpFailed> =>
  Effect.gen(function* () {
    const names = (yield* askSession(session, unsettledSql(role))).map(({ name }) => String(name))
    const alter = (what: string) =>
      Effect.gen(function* () {
        for (let at = 0; at < names.length; at += batch) {
          const texts = names.slice(at, at + batch).map((name) => `alter routine ${name} ${what};`)
          yield* askSession(session, `begin; ${texts.join("\n")} commit`)
        }
      })
    yield* alter(`set search_path to ${path}`)
    return { back: alter("reset search_path") }
  })
