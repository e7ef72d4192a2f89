import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { type BranchId } from "../../../src/domain/branches/Branch.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { DumpFailed, type RestoreTarget } from "../../../src/services/ports/DumpTools.ts"
import { layerOn, on, onServer, withDatabase } from "../../support/branches/database.ts"
import { asLogin, toDatabase } from "../../support/branches/branches.ts"
import { packed } from "../../support/backups/restores.ts"
import { restorePlain } from "../../../src/layers/dumps/plain/Restore.ts"
import { service } from "../../support/requests.ts"
import { eventually } from "../../support/eventually.ts"

const given = { label: "from a backup", sourceBackupId: 7 }

/** An excerpt of the dump of a database that the service uses. */
const dumped = [
  "create schema svc",
  "create table svc.api_keys as select 'a secret' as hash",
  "create function svc.notify_ddl() returns event_trigger language plpgsql as $$ begin perform pg_notify('svc_ddl', ''); end $$",
  "create event trigger svc_ddl on ddl_command_end execute function svc.notify_ddl()",
  "create schema app",
  "create table app.notes (id int generated always as identity primary key, text text)",
  "create function svc.tell() returns trigger language plpgsql as 'begin return new; end'",
  "create trigger svc_told after insert on app.notes for each row execute function svc.tell()",
  "insert into app.notes (text) values ('one'), ('two')",
  "create materialized view app.kept as select count(*) from app.notes",
  "create extension postgres_fdw",
  "create server elsewhere foreign data wrapper postgres_fdw options (host '127.0.0.1')",
  "create user mapping for public server elsewhere options (user 'u', password 'theirs')",
  "select lo_from_bytea(0, 'large')",
  "create subscription theirs connection 'host=127.0.0.1 password=theirs' publication p with (connect = false)",
  "alter default privileges for role postgres in schema app grant select on tables to anon",
  "alter default privileges for role postgres grant execute on functions to anon",
  "alter default privileges for role postgres revoke execute on functions from public",
  "grant usage on schema app to anon",
  "grant select on app.notes to anon"
]

/** A fill that pauses in the middle until `go`; `ended` returns its outcome. */
const slowFill = Effect.gen(function* () {
  const begun = yield* Deferred.make<string>()
  const go = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<Exit.Exit<void, DumpFailed>>()
  const fill = ({ database }: RestoreTarget) =>
    Effect.gen(function* () {
      yield* on(database, ...dumped)
      yield* Deferred.succeed(begun, database)
      yield* Deferred.await(go)
    }).pipe(Effect.onExit((exit) => Deferred.succeed(ended, exit)))
  return { fill, begun: Deferred.await(begun), go: Deferred.succeed(go, undefined), ended: Deferred.await(ended) }
})

const leftOf = (name: string) =>
  onServer(
    `select datname as name from pg_database where datname = '${name}'
     union all select rolname from pg_roles where rolname ~ '^${name}'`
  )

const localeOf = (database: string) =>
  onServer(
    `select to_jsonb(d) - '{oid,datname,datacl,datfrozenxid,datminmxid,dathasloginevt,datdba}'::text[] as like
     from pg_database d where datname = '${database}'`
  )

for (const [what, like] of Object.entries({
  "the server's": "",
  "another encoding": "template template0 encoding 'LATIN1' locale 'C'",
  "the built-in provider": "template template0 locale_provider builtin builtin_locale 'C.UTF-8'",
  "rules of its own":
    "template template0 locale_provider icu icu_locale 'de-DE' icu_rules '&V << w <<< W' encoding 'UTF8'"
})) {
  it.live(
    `an empty database is like the main one, with ${what}`,
    () =>
      withDatabase(
        "branch_like",
        (database) =>
          Effect.gen(function* () {
            const { restore } = yield* Branches
            const { branch, done } = yield* restore(given, () => Effect.void)
            assert.strictEqual((yield* done).status, "active")
            assert.deepStrictEqual(yield* localeOf(branch.database_name), yield* localeOf(database))
          }),
        { like }
      ),
    60_000
  )
}

it.live(
  "a branch that is being filled can be found, rejects clients, blocks none, and then becomes an ordinary branch",
  () =>
    withDatabase("branch_restored", (database) =>
      Effect.gen(function* () {
        const branches = yield* Branches
        const { begun, fill, go } = yield* slowFill
        const { branch, done } = yield* branches.restore({ ...given, ttlHours: 3 }, fill)
        const id = branch.id as BranchId
        assert.deepInclude(branch, { status: "restoring", source_backup_id: 7, label: given.label, expires_at: null })
        const copy = yield* begun

        const refused = yield* Effect.flip(branches.database(id, "service_role"))
        assert.deepStrictEqual([refused._tag, refused.code], ["Conflict", "BRANCH_RESTORING"])
        assert.deepStrictEqual(yield* branches.find(id), {
          ...branch,
          connection: branch.connection.replace(/:[^:@]+@/, ":****@")
        })
        assert.deepStrictEqual(yield* branches.list, [])
        const entry = `select has_database_privilege('anon', '${copy}', 'connect') as enters, datallowconn as open
          from pg_database where datname = '${copy}'`
        assert.deepStrictEqual(yield* onServer(entry), [{ enters: false, open: true }])
        assert.match(String(yield* Effect.promise(() => asLogin(branch.connection, "select 1"))), /^28P01 /)

        // It blocks nothing: branches can be created and swept meanwhile.
        const copied = yield* branches.create({ label: "a copy" })
        assert.deepInclude(copied, { status: "active", source_backup_id: null })
        yield* branches.sweep
        assert.strictEqual((yield* branches.find(id)).status, "restoring")

        yield* go
        const made = yield* done
        assert.deepInclude(made, { id, status: "active", source_backup_id: 7, connection: branch.connection })
        assert.strictEqual(Date.parse(made.expires_at ?? "") - Date.parse(made.created_at), 3 * 3_600_000)
        assert.deepStrictEqual(
          (yield* branches.list).map((one) => one.id),
          [id, copied.id]
        )
        const { run } = yield* branches.database(id, "service_role")
        const text = "select count(*)::text from app.notes"
        assert.deepStrictEqual(yield* run(service, { text, params: [], access: "read" }), ["2"])

        for (const query of [
          "select from pg_user_mapping",
          "select from pg_subscription s join pg_database d on d.oid = subdbid where datname = current_database()",
          "select from pg_namespace where nspname = 'svc'",
          "select from pg_trigger where tgname ~ '^svc'"
        ]) {
          assert.deepStrictEqual(yield* on(copy, query), [], query)
        }
        const own = yield* Effect.promise(() =>
          asLogin(
            branch.connection,
            "insert into app.notes (text) values ('three')",
            "refresh materialized view app.kept",
            "create table app.newer (id int)",
            "create function app.plus(a int) returns int language sql as 'select a + 1'",
            "create role nobody_at_all"
          )
        )
        assert.match(String(own), /^42501 /)
        const rights = yield* on(
          copy,
          `select has_table_privilege('anon', 'app.newer', 'select') as reads,
             has_table_privilege('anon', 'app.newer', 'insert') as writes,
             has_function_privilege('anon', 'app.plus(int)', 'execute') as calls,
             (select proacl::text !~ '[{,]=' from pg_proc where oid = 'app.plus'::regproc) as closed,
             (select count from app.kept)::int as kept,
             (select lomowner::regrole::text from pg_largeobject_metadata) as large,
             pg_get_userbyid(relowner) as owner from pg_class where oid = 'app.notes'::regclass`
        )
        assert.deepStrictEqual(rights, [
          { reads: true, writes: false, calls: true, closed: true, kept: 3, large: copy, owner: copy }
        ])
        assert.match(
          String(yield* Effect.promise(() => asLogin(toDatabase(branch.connection, database), "select 1"))),
          /^42501 /
        )
      })
    ),
  60_000
)

it.live(
  "a restore that fails, is cancelled, loses its lock or is dropped elsewhere leaves nothing and reports why",
  () =>
    withDatabase("branch_failing", (database, login) =>
      Effect.gen(function* () {
        const branches = yield* Branches
        const failing = yield* branches.restore(given, () => Effect.fail(new DumpFailed({ reason: "no such file" })))
        assert.deepStrictEqual(yield* Effect.flip(failing.done), new DumpFailed({ reason: "no such file" }))
        assert.deepStrictEqual(yield* leftOf(failing.branch.database_name), [])

        const broken = yield* branches.restore(given, () => Effect.die("a mistake"))
        assert.isTrue(Exit.hasDies(yield* Effect.exit(broken.done)))
        assert.deepStrictEqual(yield* leftOf(broken.branch.database_name), [])

        const other = yield* Layer.build(Layer.fresh(layerOn(login)))
        const remove = (id: number) =>
          Effect.flatMap(Branches, (there) => there.remove(id as BranchId)).pipe(Effect.provideContext(other))
        const ways = {
          "dropped here": branches.remove,
          "dropped by another replica": remove,
          "its lock is lost": (_: BranchId, name: string) =>
            onServer(
              `select pg_terminate_backend(pid) from pg_stat_activity
               where datname = '${name}' and application_name = 'svc branches'`
            )
        }
        for (const [way, end] of Object.entries(ways)) {
          const { begun, ended, fill } = yield* slowFill
          const { branch, done } = yield* branches.restore(given, fill)
          const name = yield* begun
          yield* end(branch.id as BranchId, name)
          const failure = yield* Effect.flip(done)
          const reason = failure._tag === "DumpFailed" ? failure.reason : ""
          assert.match(reason, way.startsWith("dropped") ? /^Cancelled/ : /was lost$/, way)
          assert.isTrue(Exit.hasInterrupts(yield* ended), way)
          assert.deepStrictEqual(yield* leftOf(name), [], way)
          assert.strictEqual((yield* Effect.flip(branches.find(branch.id as BranchId))).code, "BRANCH_NOT_FOUND")
        }
        assert.deepStrictEqual(yield* on(database, "select from svc.branches"), [])
      })
    ),
  60_000
)

it.live(
  "a service that ends during a restore leaves nothing; leftovers of a killed service are swept, and nothing else",
  () =>
    withDatabase("branch_orphan", (database, login) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const here = yield* Layer.buildWithScope(Layer.fresh(layerOn(login)), scope)
        const ending = yield* slowFill
        const { branch, done } = yield* Effect.flatMap(Branches, ({ restore }) => restore(given, ending.fill)).pipe(
          Effect.provideContext(here)
        )
        yield* ending.begun
        yield* Scope.close(scope, Exit.void)
        const failure = yield* Effect.flip(done)
        assert.match(failure._tag === "DumpFailed" ? failure.reason : "", /service ended/)
        assert.deepStrictEqual(yield* leftOf(branch.database_name), [])

        const branches = yield* Branches
        const sql = yield* SqlClient.SqlClient
        const half = `svc_branch_killed${process.pid}`
        yield* sql.unsafe(
          `insert into svc.branches (label, database_name, password, ttl_hours, status) values ('half', '${half}', '', 0, 'restoring')`
        )
        yield* onServer(`create database ${half}`, `create role ${half} login`)
        const going = yield* slowFill
        const alive = yield* branches.restore(given, going.fill)
        yield* going.begun
        yield* eventually(Effect.andThen(branches.sweep, leftOf(half)), ({ length }) => length === 0)
        assert.deepStrictEqual(yield* on(database, "select database_name as name from svc.branches"), [
          { name: alive.branch.database_name }
        ])
        yield* going.go
        assert.strictEqual((yield* alive.done).status, "active")
      })
    ),
  60_000
)

it.live(
  "code of a manipulated dump never runs with the rights of the service's login, nor does what it leaves in the branch",
  () =>
    withDatabase("branch_hostile", (database, login) =>
      Effect.gen(function* () {
        const branches = yield* Branches
        const note = "insert into public.seen select current_user, current_setting('is_superuser')"
        const file = yield* packed(`
          CREATE TABLE public.seen (who text, super text);
          GRANT INSERT ON TABLE public.seen TO PUBLIC;
          CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $f$ begin ${note}; return null; end $f$;
          CREATE FUNCTION public.noted() RETURNS event_trigger LANGUAGE plpgsql AS $f$ begin ${note}; end $f$;
          CREATE FUNCTION public.noting() RETURNS int LANGUAGE plpgsql AS $f$ begin ${note}; return 1; end $f$;
          CREATE EVENT TRIGGER noted ON ddl_command_end EXECUTE FUNCTION public.noted();
          CREATE EVENT TRIGGER dropped ON sql_drop EXECUTE FUNCTION public.noted();
          CREATE SCHEMA svc;
          CREATE TABLE svc.keys (a int DEFAULT public.noting());
          INSERT INTO svc.keys DEFAULT VALUES;
          ALTER DEFAULT PRIVILEGES FOR ROLE ${login.user} GRANT ALL ON TABLES TO anon;
          CREATE FUNCTION public.lower(anyelement) RETURNS text LANGUAGE plpgsql AS $f$ begin ${note}; return ''; end $f$;`)
        const { branch, done } = yield* branches.restore(given, (target) =>
          restorePlain(login, { timeout: 30_000 })(file, target, () => Effect.void)
        )
        yield* done
        const copy = branch.database_name
        assert.deepStrictEqual(yield* on(copy, "select distinct super from public.seen"), [{ super: "off" }])
        // The service records DDL as its own login, in a table on which no one else may create triggers.
        const tried = yield* Effect.promise(() =>
          asLogin(
            branch.connection,
            "set role anon",
            "create trigger note after insert on svc_ddl.changes for each row execute function public.note()"
          )
        )
        assert.match(String(tried), /^42501 /)
        const rights =
          "select has_table_privilege('anon', 'svc_ddl.changes', 'insert, trigger, update, delete') as given"
        assert.deepStrictEqual(yield* on(copy, rights), [{ given: false }])
        // The event triggers were restored: they fire for the branch's owner.
        const before = yield* on(copy, "select from public.seen")
        yield* Effect.promise(() => asLogin(branch.connection, "create table public.another (a int)"))
        assert.isAbove((yield* on(copy, "select from public.seen where super = 'off'")).length, before.length)
      })
    ),
  60_000
)
