import { existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { assert, it, vi } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { asLogin, branchSql, makeBranch } from "../../support/branches/branches.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { logIn, register } from "../../support/identity/people.ts"
import { recoveryState } from "../../support/recovery/calls.ts"
import { runToEnd, type Service, startService, until } from "../../support/service.ts"
import { asPreviousRelease, previousPrograms, superuserUrl, upgraded } from "../../support/upgrade/previous.ts"
import { startReceiver } from "../../support/webhooks/receiver.ts"

vi.setConfig({ testTimeout: 600_000 })

const programs = await previousPrograms()
const why = programs === undefined ? " (skipped: the npm registry does not answer)" : ""

const jwtSecret = "the secret of the installation that is upgraded"

/** A function that a table's owner wrote, and that takes any right of the role that fills the table. */
const greedy = `
  create function tenants.greedy(int) returns boolean language plpgsql as $$
    begin
      begin execute 'reset role'; exception when others then null; end;
      begin execute 'alter role tenant superuser'; exception when others then null; end;
      begin execute 'insert into public.vault values (''taken'')'; exception when others then null; end;
      return helper($1);
    end $$`

const prepare = [
  "create extension citext",
  "create extension hstore",
  "create role tenant login password 'the password of tenant' connection limit 7 valid until '2099-01-01'",
  "grant connect on database postgres to tenant",
  "create role members",
  "grant members to tenant with admin true, inherit false",
  "alter role tenant set work_mem = '5MB'",
  "alter role tenant in database postgres set statement_timeout = '17s'",
  "alter database postgres set lock_timeout = '18s'",
  "comment on role tenant is 'a tenant'",
  "grant set on parameter log_min_duration_statement to tenant",
  "create table public.vault (secret text)",
  "create schema tenants authorization tenant",
  "create function tenants.helper(int) returns boolean language sql immutable as 'select $1 > 0'",
  "alter function tenants.helper owner to tenant",
  "alter role postgres set search_path = public, tenants",
  greedy,
  "alter function tenants.greedy owner to tenant",
  "create table tenants.t (n int primary key check (tenants.greedy(n)), twice int generated always as (n * 2) stored, name citext)",
  "alter table tenants.t owner to tenant",
  // pg_dump adds this constraint when the table has its rows.
  `create function tenants.greedy_row(tenants.t) returns boolean language sql as 'select tenants.greedy($1.n)'`,
  "alter function tenants.greedy_row owner to tenant",
  "alter table tenants.t add constraint of_row check (tenants.greedy_row(t.*))",
  "create table tenants.parts (id int primary key, t int references tenants.t)",
  "grant select on tenants.t to members with grant option",
  "create view tenants.distinct_names as select n, name is distinct from 'NAME 1' as other from tenants.t",
  "create sequence public.counter start 5 increment 3",
  "select nextval('public.counter') from generate_series(1, 4)",
  "create table public.rows (id int primary key, owner text, body text)",
  "insert into public.rows select n, case when n % 2 = 0 then 'even' else 'odd' end, repeat(md5(n::text), 100) from generate_series(1, 5000) n",
  "alter table public.rows enable row level security",
  "create policy evens on public.rows for select to public using (owner = 'even')",
  "grant select on public.rows to anon, authenticated",
  "select lo_from_bytea(4711, decode(repeat('00ff', 50000), 'hex'))",
  "alter large object 4711 owner to tenant",
  "alter system set work_mem = '6MB'"
]

/** Its owner fills the table: the rights of a superuser would be taken at once. */
const fillTable = [
  "set search_path = public, tenants",
  "insert into tenants.t (n, name) select n, 'Name ' || n from generate_series(1, 1000) n"
]

const ofTenant = (url: string) => {
  const tenant = new URL(url)
  tenant.username = "tenant"
  tenant.password = "the password of tenant"
  return tenant.href
}

const made = async (service: Service) => {
  const url = await superuserUrl(service)
  assert.deepStrictEqual(await asLogin(url, ...prepare, "select 1 as done"), [{ done: 1 }])
  assert.deepStrictEqual(await asLogin(ofTenant(url), ...fillTable, "select 1 as done"), [{ done: 1 }])
  const roles = await asLogin(url, "select rolsuper from pg_roles where rolname = 'tenant'")
  assert.deepStrictEqual(roles, [{ rolsuper: false }])
}

const survived = async (service: Service) => {
  const url = await superuserUrl(service)
  const main = (text: string) => asLogin(url, text)
  assert.match(JSON.stringify(await main("select current_setting('server_version') as v")), /"18\./)
  assert.deepStrictEqual(
    await main(
      `select rolsuper, rolconnlimit, rolvaliduntil::date::text as until, shobj_description(oid, 'pg_authid') as comment,
         pg_has_role('tenant', 'members', 'member with admin option') as admin, pg_has_role('tenant', 'members', 'usage') as inherits,
         has_parameter_privilege('tenant', 'log_min_duration_statement', 'set') as sets
       from pg_roles where rolname = 'tenant'`
    ),
    [
      {
        rolsuper: false,
        rolconnlimit: 7,
        until: "2099-01-01",
        comment: "a tenant",
        admin: true,
        inherits: false,
        sets: true
      }
    ]
  )
  assert.deepStrictEqual(await main("select count(*)::int as stolen from vault"), [{ stolen: 0 }])
  assert.deepStrictEqual(await main("select rolname from pg_roles where rolname like 'svc_upgrade%'"), [])
  assert.deepStrictEqual(
    await asLogin(
      ofTenant(url),
      `select count(*)::int as n, sum(twice)::int as twice, count(*) filter (where name = 'NAME 7')::int as found,
         current_setting('work_mem') as mem, current_setting('statement_timeout') as st, current_setting('lock_timeout') as lt,
         length(lo_get(4711)) as bytes, has_table_privilege('members', 'tenants.t', 'select with grant option') as granted
       from tenants.t`
    ),
    [{ n: 1000, twice: 1_001_000, found: 1, mem: "5MB", st: "17s", lt: "18s", bytes: 100_000, granted: true }]
  )
  // The comparison of citext, not of text.
  assert.deepStrictEqual(await main("select other from tenants.distinct_names where n = 1"), [{ other: false }])
  assert.deepStrictEqual(await main("select nextval('public.counter')::int as n"), [{ n: 17 }])
  assert.deepStrictEqual(
    await main("select setting, sourcefile like '%auto.conf' as auto from pg_file_settings where name = 'work_mem'"),
    [{ setting: "6MB", auto: true }]
  )
  assert.deepStrictEqual(
    await main(
      `select pg_encoding_to_char(encoding) as encoding, datcollate as collate, datctype as ctype, datlocprovider::text as provider, datlocale as locale,
         current_setting('data_checksums') as checksums
       from pg_database where datname = 'postgres'`
    ),
    [{ encoding: "UTF8", collate: "C", ctype: "C.UTF-8", provider: "b", locale: "C.UTF-8", checksums: "on" }]
  )
}

it.skipIf(programs === undefined)(
  `PostgreSQL 17 becomes 18 with everything in it, whenever the upgrade is killed${why}`,
  async () => {
    const dataDir = await makeDataDir()
    const previous = asPreviousRelease(programs ?? "")
    const archive = join(dataDir, "archive")
    const env = { SVC_CHANGES: "wal", WEBHOOK_ALLOW_PRIVATE: "true", SVC_PITR: "true" }
    const withPrograms = { ...env, PG_BIN_DIR_OLD: programs ?? "" }
    await using sink = await startReceiver()
    try {
      const old = await startService({ dataDir, jwtSecret, env: { ...env, ...previous } })
      const member = await register(old)
      const branch = await makeBranch(old, "a copy")
      await branchSql(old, branch.id, "create table only_here as select 42 as n")
      await made(old)
      const hook = { table_name: "rows", events: ["INSERT"], url: `${sink.url}/x` }
      const created = await ask(old, "POST /api/webhooks", { key: old.service_role, body: hook })
      assert.strictEqual(created.status, 201, created.text)
      await sql(old, "insert into public.rows values (9001, 'even', 'before')")
      await sink.count("/x", 1)
      await until(
        () => recoveryState(old),
        ({ latest }) => latest !== null,
        60_000
      )
      // Only one process uses a data directory.
      const busy = await upgraded(dataDir, withPrograms)
      assert.deepStrictEqual([busy.code, /is in use by process/.test(busy.output)], [1, true], busy.output)
      await old.stop()

      const refused = await runToEnd({ SVC_DATA_DIR: dataDir, SVC_JWT_SECRET: jwtSecret, ...env })
      assert.strictEqual(refused.code, 1)
      assert.match(refused.output, /was created by PostgreSQL 17, but this is PostgreSQL 18: run svc upgrade-database /)

      const wrong = await upgraded(dataDir, { ...env, PG_BIN_DIR_OLD: "/nowhere" })
      assert.deepStrictEqual(
        [wrong.code, /PG_BIN_DIR_OLD \(\/nowhere\) has no postgres of version 17/.test(wrong.output)],
        [1, true]
      )

      for (const moment of ["Upgrading", "postgres: loaded: 100 %", "Writing the new", "compared"]) {
        const { code, output } = await upgraded(dataDir, withPrograms, moment)
        assert.isNull(code, output)
        assert.strictEqual((await readFile(join(dataDir, "postgres/PG_VERSION"), "utf8")).trim(), "17")
      }
      const done = await upgraded(dataDir, withPrograms)
      assert.strictEqual(done.code, 0, done.output)
      const names = await readdir(dataDir)
      const kept = names.find((name) => name.startsWith("postgres.17-")) ?? ""
      assert.match(done.result, /^[^\n]* is of PostgreSQL 18 now [^\n]*\n$/)
      assert.include(done.result, `remove it (rm -r '${join(dataDir, kept)}')`)
      assert.strictEqual((await readFile(join(dataDir, kept, "PG_VERSION"), "utf8")).trim(), "17")
      assert.isFalse(existsSync(join(dataDir, "postgres.upgrade")))
      assert.isFalse(existsSync(join(dataDir, "upgrade.json")))
      assert.isTrue(names.some((name) => name.startsWith("archive.17-")))
      const again = await upgraded(dataDir, withPrograms)
      assert.deepStrictEqual([again.code, /is of this version already/.test(again.output)], [0, true], again.output)

      await using service = await startService({ dataDir, jwtSecret, env })
      await survived(service)
      assert.strictEqual((await logIn(service, member.email, member.password)).status, 200)
      assert.deepStrictEqual(await branchSql(service, branch.id, "select n from only_here"), [{ n: 42 }])
      const anon = await ask(service, "GET /v1/db/rows?select=id&order=id.desc&limit=2", { key: service.anon })
      assert.deepStrictEqual(anon.json, [{ id: 9001 }, { id: 5000 }], anon.text)
      // Webhooks go on where they were: none is sent again, and none is missing.
      await sql(service, "insert into public.rows values (9002, 'even', 'after')")
      const deliveries = await sink.count("/x", 2)
      assert.deepStrictEqual(
        deliveries.map(({ json }) => json.row?.["id"]),
        [9001, 9002]
      )
      const changes = await ask(service, "GET /api/changes", { key: service.service_role })
      assert.deepStrictEqual((changes.json as { readonly gaps: unknown }).gaps, [], changes.text)
      // The new cluster has an archive of its own.
      const state = await until(
        () => recoveryState(service),
        ({ latest }) => latest !== null,
        60_000
      )
      assert.strictEqual(state.spans.length, 1)
      assert.isTrue(existsSync(join(archive, "archive.json")))
    } finally {
      await removeDataDir(dataDir)
    }
  }
)

it.skipIf(programs === undefined)(
  `an upgrade that can't take everything along changes nothing; a start upgrades if it may${why}`,
  async () => {
    const dataDir = await makeDataDir()
    const env = { PG_BIN_DIR_OLD: programs ?? "" }
    try {
      const old = await startService({
        dataDir,
        jwtSecret,
        env: { ...asPreviousRelease(programs ?? ""), SVC_PG_WAL_LEVEL: "logical" }
      })
      const url = await superuserUrl(old)
      await asLogin(
        url,
        "create role author",
        "create function public.any(int) returns boolean language sql as 'select true'",
        "alter function public.any owner to author",
        "create domain public.guarded as int constraint calls check (public.any(value))",
        "create database closed",
        "alter database closed with allow_connections false"
      )
      await old.stop()
      const closed = await upgraded(dataDir, env)
      assert.strictEqual(closed.code, 1)
      assert.match(
        closed.output,
        /The database closed admits no connections, so it can't be dumped: with the previous release, drop it/
      )
      // The previous release still runs on it.
      const onPrevious = async (statement: string) => {
        const still = await startService({ dataDir, jwtSecret, env: asPreviousRelease(programs ?? "") })
        assert.isArray(await asLogin(await superuserUrl(still), statement))
        await still.stop()
      }
      await onPrevious("drop database closed")
      const guarded = await upgraded(dataDir, env)
      assert.strictEqual(guarded.code, 1)
      assert.match(
        guarded.output,
        /call functions of roles that are not superusers.*public\.guarded \(constraint calls\)/
      )
      assert.deepStrictEqual(
        (await readdir(dataDir)).filter((name) => name.startsWith("postgres.u")),
        []
      )
      // With the operator's consent, a start does it.
      await onPrevious("drop domain public.guarded")
      await using service = await startService({
        dataDir,
        jwtSecret,
        env: { ...env, SVC_PG_UPGRADE: "installed" },
        meanwhile: (output) =>
          until(
            async () => output(),
            (text) => /is of PostgreSQL 18 now/.test(text),
            200_000
          )
      })
      assert.match(JSON.stringify(await sql(service, "select current_setting('server_version') as v")), /"18\./)
    } finally {
      await removeDataDir(dataDir)
    }
  }
)
