import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, it as plainIt } from "vitest"
import { privileged } from "../../../src/domain/dumps/Privileged.ts"
import { dumpNative, restoreNative } from "../../../src/layers/dumps/native/Native.ts"
import { layerProcesses } from "../../../src/layers/dumps/native/Process.ts"
import { inspectPrograms } from "../../../src/layers/dumps/native/Programs.ts"
import { restorePlain } from "../../../src/layers/dumps/plain/Restore.ts"
import { ask, packed, temporaryDirectory, timeout, unprivileged } from "../../support/backups/restores.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { place } from "../../support/dumps/native.ts"

const quiet = () => Effect.void

/** Why a script is not restored by a role without rights; `$proof` is a file that it tries to create. */
const refusedScript = Effect.fnUntraced(function* (script: string) {
  const { login } = yield* Outside
  const { target } = yield* unprivileged
  const proof = join(yield* temporaryDirectory, "proof")
  const file = yield* packed(script.replaceAll("$proof", proof))
  const { reason } = yield* Effect.flip(restorePlain(login, { timeout })(file, target, quiet))
  assert.isFalse(existsSync(proof), script)
  return reason
})

const program = "copy (select 1) to program 'touch $proof';"
const inFunction = `create function public.f() returns int language plpgsql as $f$ begin ${program.replaceAll("'", "''").replace(/^/, "execute '").replace(/;$/, "'; return 1;")} end $f$;`

const scripts: Readonly<Record<string, readonly [string, RegExp]>> = {
  "COPY TO PROGRAM": [program, /permission denied to COPY to or from an external program \(42501\)/],
  "COPY FROM PROGRAM": [
    "create table public.t (a text); copy public.t from program 'touch $proof';",
    /external program \(42501\)/
  ],
  "COPY TO a file": ["copy (select 1) to '$proof';", /permission denied to COPY to a file \(42501\)/],
  "a command of psql": ["select 1;\n\\! touch $proof\n", /psql command/],
  "a function of the C library": [
    "create function public.system(cstring) returns int language c as 'libc.so.6', 'system';",
    /permission denied for language c \(42501\)/
  ],
  "an internal function": [
    "create function public.f(text) returns text language internal as 'pg_read_file_all';",
    /permission denied for language internal \(42501\)/
  ],
  "RESET ROLE": [`reset role; set role none; ${program}`, /external program \(42501\)/],
  "RESET SESSION AUTHORIZATION": [`reset session authorization; ${program}`, /external program \(42501\)/],
  "SET SESSION AUTHORIZATION": [`set session authorization postgres; ${program}`, /external program \(42501\)/],
  "SET ROLE": ["set role postgres;", /permission denied to set role "postgres" \(42501\)/],
  "ALTER SYSTEM": ["alter system set work_mem = '1MB';", /42501/],
  "a grant of its own": [`grant pg_execute_server_program to current_user; ${program}`, /external program \(42501\)/],
  "a table with a default": [
    `${inFunction} create table public.t (a int default public.f()); insert into public.t default values;`,
    /external program \(42501\)/
  ],
  "a materialized view": [
    `${inFunction} create materialized view public.m as select public.f();`,
    /external program \(42501\)/
  ],
  "an extension that the main database does not have": [
    "CREATE EXTENSION IF NOT EXISTS file_fdw WITH SCHEMA public;",
    /permission denied to create extension "file_fdw" \(42501\)/
  ],
  "an extension after objects that its script could call": [
    "create function public.f() returns int language sql as 'select 1'; CREATE EXTENSION IF NOT EXISTS postgres_fdw WITH SCHEMA public;",
    /permission denied to create extension "postgres_fdw" \(42501\)/
  ],
  "an event trigger for logins": [
    "create function public.e() returns event_trigger language plpgsql as 'begin end'; CREATE EVENT TRIGGER e ON login EXECUTE FUNCTION public.e();",
    /42501/
  ]
}

layer(layerDatabase({ name: "svc_hostile", before: "create extension postgres_fdw" }), live)(
  "a manipulated dump",
  (it) => {
    for (const [what, [script, reason]] of Object.entries(scripts)) {
      it.effect(`gains nothing by ${what}`, () =>
        Effect.map(refusedScript(script), (refused) => assert.match(refused, reason))
      )
    }

    it.effect("restores what pg_dump writes for a superuser, without being one", () =>
      Effect.gen(function* () {
        const { login } = yield* Outside
        const { outside, target } = yield* unprivileged
        const file = yield* packed(`
        SELECT pg_catalog.set_config('search_path', '', false);
        CREATE SCHEMA ext;
        CREATE EXTENSION IF NOT EXISTS postgres_fdw WITH SCHEMA ext;
        COMMENT ON EXTENSION postgres_fdw IS 'ours; '' \\ ü';
        CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'x');
        CREATE FUNCTION public.e() RETURNS event_trigger LANGUAGE plpgsql AS 'begin raise exception ''fired''; end';
        CREATE EVENT TRIGGER e ON ddl_command_start
           WHEN TAG IN ('CREATE TABLE', 'GRANT')
           EXECUTE FUNCTION public.e();
        CREATE PUBLICATION p FOR ALL TABLES WITH (publish = 'insert, update');
        ALTER DEFAULT PRIVILEGES FOR ROLE ${login.user} IN SCHEMA ext GRANT SELECT ON TABLES TO PUBLIC;
        CREATE TABLE public.t (a int);
        GRANT SELECT ON TABLE public.t TO PUBLIC;
        REVOKE ALL ON FUNCTION pg_catalog.pg_sleep(double precision) FROM PUBLIC;
        GRANT ALL ON FUNCTION pg_catalog.pg_read_file(text) TO PUBLIC;`)
        yield* restorePlain(login, { timeout })(file, target, quiet)
        const [content] = yield* ask(
          outside,
          `select (select obj_description(oid) from pg_extension where extname = 'postgres_fdw') as comment,
           (select srvowner::regrole::text from pg_foreign_server) as server,
           (select evtname || evtowner::regrole from pg_event_trigger) as event,
           (select pubowner::regrole::text from pg_publication) as publication,
           (select defaclacl::text ~ '[{,]=r/' from pg_default_acl) as rights,
           (select relowner::regrole::text from pg_class where relname = 't') as "table",
           has_foreign_data_wrapper_privilege('${target.role}', 'postgres_fdw', 'usage') as lent,
           has_function_privilege('public', 'pg_read_file(text)', 'execute') as reads`
        )
        assert.deepStrictEqual(content, {
          comment: "ours; ' \\ ü",
          server: target.role,
          event: `e${login.user}`,
          publication: login.user,
          rights: true,
          table: target.role,
          lent: false,
          reads: false
        })
      })
    )

    it.effect.skipIf(place === undefined)("gains nothing as an archive either", () =>
      Effect.gen(function* () {
        const { login } = yield* Outside
        const found = yield* Effect.provide(inspectPrograms(place ?? ""), layerProcesses)
        if (typeof found === "string") throw new Error(found)
        const { outside, target } = yield* unprivileged
        const { outside: source } = yield* unprivileged
        const directory = yield* temporaryDirectory
        const [proof, file] = [join(directory, "proof"), join(directory, "it.dump")]
        // Harmless where it is dumped.
        yield* ask(
          source,
          `create function public.f() returns int language plpgsql as $f$ begin
           if current_database() <> '${source.database}' then
             begin execute 'reset role'; exception when others then null; end;
             execute 'copy (select 1) to program ''touch ${proof}''';
           end if;
           return 1; end $f$;
         create materialized view public.m as select public.f() as n`
        )
        yield* Effect.provide(dumpNative(found, login, { timeout })(source.database, file, quiet), layerProcesses)
        const restore = restoreNative(found, login, { timeout })
        const { reason } = yield* Effect.flip(Effect.provide(restore(file, target, quiet), layerProcesses))
        assert.match(reason, /external program|42501/)
        assert.isFalse(existsSync(proof))
        const [owner] = yield* ask(outside, "select proowner::regrole::text as name from pg_proc where proname = 'f'")
        assert.strictEqual(owner?.["name"], target.role)
      })
    )
  }
)

describe("statements that the service's login runs for a dump", () => {
  plainIt.each([
    "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public",
    `CREATE EXTENSION IF NOT EXISTS "a ""b" WITH SCHEMA "x;"`,
    "COMMENT ON EXTENSION citext IS 'it''s; \\'",
    "COMMENT ON EVENT TRIGGER e IS NULL",
    "ALTER DEFAULT PRIVILEGES FOR ROLE a IN SCHEMA b REVOKE ALL ON FUNCTIONS FROM PUBLIC",
    "CREATE PUBLICATION p FOR ALL TABLES WITH (publish = 'insert, update', publish_via_partition_root = true)",
    "ALTER PUBLICATION p ADD TABLES IN SCHEMA s"
  ])("include %s", (text) => assert.isDefined(privileged(text)))

  plainIt.each([
    "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public; select 1",
    "CREATE EXTENSION citext FROM unpackaged",
    "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public CASCADE",
    "COMMENT ON EXTENSION citext IS 'a'; select 'b'",
    "COMMENT ON EXTENSION citext IS E'\\'; select 1 --'",
    `COMMENT ON EXTENSION "a"; select "b" IS 'x'`,
    "ALTER DEFAULT PRIVILEGES FOR ROLE a GRANT SELECT ON TABLES TO b; drop table c",
    "CREATE EVENT TRIGGER e ON login EXECUTE FUNCTION a.b()",
    "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION a.b(); select 1",
    "CREATE PUBLICATION p FOR ALL TABLES WITH (publish = 'a'); select (1)",
    "GRANT ALL ON TABLE t TO u",
    "DO $$ begin end $$"
  ])("exclude %s", (text) => assert.isUndefined(privileged(text)))
})
