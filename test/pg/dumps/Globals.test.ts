import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { atPlace } from "../../../src/layers/postgres/Login.ts"
import { globalsScript, roleNamesOf } from "../../../src/layers/dumps/Globals.ts"
import { quoteName } from "../../../src/domain/sql/Names.ts"
import { asLogin, toDatabase } from "../../support/branches/branches.ts"
import { makeDatabase, on, serverLogin } from "../../support/dumps/databases.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"

const mine = (name: string) => `${name}_${process.pid}`
const odd = mine(`odd "role" $do$ ' \\`)
const names = ["owner", "reader", "group", "outsider", "policied", "setting", "svc_authenticator"].map(mine)
/** The last one is named as the login of a service that shares its server. */
const [owner = "", reader = "", group = "", outsider = "", policied = "", setting = "", service = ""] = names
const [o, r, g, p, s, a, q] = [owner, reader, group, policied, setting, service, odd].map(quoteName)

const roles = Effect.acquireRelease(
  on(
    "postgres",
    `create role ${o} login password 'not to be told' createdb createrole`,
    `create role ${r} noinherit bypassrls`,
    `create role ${g}`,
    `create role ${p} superuser`,
    `create role ${s}`,
    `create role ${q}`,
    `create role ${a} login password 'not to be told'`,
    `create role ${quoteName(outsider)}`,
    `grant ${g} to ${r} with admin option`,
    `grant pg_read_all_stats to ${g}`,
    `grant ${g} to ${quoteName(outsider)}`,
    `alter role ${r} set statement_timeout = '7s'`,
    `alter role ${r} set search_path = "$user", 'a"b, c', ''`
  ),
  () => on("postgres", ...[...names, odd].map((name) => `drop role if exists ${quoteName(name)}`))
)

const known = (list: ReadonlyArray<string>) => `
  select rolname, rolcanlogin, rolsuper, rolinherit, rolbypassrls, rolcreatedb, rolpassword is null as open,
    (select array_agg(c order by c) from pg_db_role_setting, unnest(setconfig) c where setrole = a.oid and setdatabase = 0) as settings,
    array(select g.rolname::text || m.admin_option from pg_auth_members m join pg_roles g on g.oid = m.roleid
          where m.member = a.oid order by 1) as member_of
  from pg_authid a where rolname in (${list.map((name) => `'${name.replaceAll("'", "''")}'`).join(", ")}) order by 1`

const databaseState = `
  select array(select coalesce(r.rolname::text, '-') || unnest(setconfig) from pg_db_role_setting s left join pg_roles r on r.oid = setrole
               where setdatabase = d.oid order by 1) as settings,
    array(select coalesce(r.rolname, 'public') || privilege_type || is_grantable from aclexplode(datacl)
          left join pg_roles r on r.oid = grantee where grantee <> datdba order by 1) as rights
  from pg_database d where datname = current_database()`

it.live(
  "the script creates the roles and settings of the database on another server, and can be run again",
  () =>
    Effect.gen(function* () {
      yield* roles
      const database = yield* makeDatabase('it\'s "globals" $do$', "template template0")
      const it = quoteName(database)
      yield* on(
        database,
        `alter database ${it} owner to ${o}`,
        "create table t (n int)",
        `grant select on t to ${r}, ${q} with grant option`,
        `grant select on t to ${a}`,
        `create policy readable on t to ${p}`,
        `alter role ${s} in database ${it} set work_mem = '5MB'`,
        `alter database ${it} set search_path = app, "Odd, ""name"""`,
        `alter database ${it} set "app.greeting" = 'it''s $do$ \\ %I 10%'`,
        `revoke all on database ${it} from public`,
        `grant connect on database ${it} to ${r} with grant option`,
        `alter database ${it} set statement_timeout = '9s'`
      )
      const script = yield* globalsScript(serverLogin())(database)
      assert.notInclude(script, "not to be told")
      assert.notInclude(script, outsider)
      assert.notInclude(script, "superuser;")

      yield* Effect.acquireUseRelease(
        Effect.promise(startOtherPostgres),
        (other) =>
          Effect.promise(async () => {
            await other.sql("create database there")
            const run = async (text: string) => {
              const done = await asLogin(toDatabase(other.url, "there"), text)
              if (typeof done === "string") throw new Error(done)
              return done
            }
            await run(script)
            await run(`alter role ${r} set statement_timeout = '8s'`)
            await run(script)
            const made = [owner, reader, group, policied, setting, service, odd]
            const bare = {
              rolcanlogin: false,
              rolsuper: false,
              rolinherit: true,
              rolbypassrls: false,
              rolcreatedb: false,
              open: true,
              settings: null
            }
            const expected = made.map((rolname) => ({ ...bare, rolname, member_of: [] as ReadonlyArray<string> }))
            const of = (name: string) => expected.find(({ rolname }) => rolname === name) ?? {}
            Object.assign(of(reader), {
              rolinherit: false,
              rolbypassrls: true,
              member_of: [`${group}true`],
              // Existing roles stay as they are.
              settings: [`search_path="$user", "a""b, c", ""`, "statement_timeout=8s"]
            })
            Object.assign(of(group), { member_of: ["pg_read_all_statsfalse"] })
            const found = await run(known([...made, outsider]))
            assert.deepStrictEqual(
              found,
              expected.toSorted((a, b) => (a.rolname < b.rolname ? -1 : 1))
            )
            const [there] = await run(databaseState)
            assert.deepStrictEqual(there?.["settings"], [
              `-app.greeting=it's $do$ \\ %I 10%`,
              `-search_path=app, "Odd, ""name"""`,
              "-statement_timeout=9s",
              `${setting}work_mem=5MB`
            ])
            assert.include(there?.["rights"], `${reader}CONNECTtrue`)
            assert.notInclude(String(there?.["rights"]), "public")
          }),
        (other) => Effect.promise(() => other[Symbol.asyncDispose]())
      )
    }).pipe(Effect.scoped),
  60_000
)

it("any list of names is parsed", () => {
  assert.deepStrictEqual(roleNamesOf('"$user", public'), ["$user", "public"])
  assert.deepStrictEqual(roleNamesOf("a;drop"), ["a;drop"])
  assert.deepStrictEqual(roleNamesOf('"a""b, c",d , ""'), ['a"b, c', "d", ""])
})

it.live("without the database the script fails", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(globalsScript(atPlace(serverLogin(), { host: "127.0.0.1", port: 1 }))("postgres"))
    assert.strictEqual(error.code, "DATABASE_UNAVAILABLE")
  })
)
