import { Client, type CallToolResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as PgClient } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
let admin: Client
/** A superuser's session, which the service does not know. */
let outside: PgClient
/** Every secret that is planted contains it, and so does no statement of a test. */
const secret = ["S3", "CR3T"].join("")
const file = `/tmp/svc_mcp_${process.pid}.txt`

const call = async (name: "run_sql" | "explain", text: string, branch?: number) => {
  const args = { sql: text, ...(branch === undefined ? {} : { branch }) }
  const { content, isError } = (await admin.callTool({ name, arguments: args })) as CallToolResult
  const [first] = content
  const answer = first?.type === "text" ? first.text : ""
  assert.notInclude(answer, secret, text)
  assert.notInclude(answer, Buffer.from(secret).toString("hex"), text)
  assert.notMatch(answer, /SCRAM-SHA-256\$/, text)
  assert.notInclude(answer, "INTERNAL_ERROR", text)
  return { failed: isError === true, answer }
}

const codeOf = (answer: string) => /"code":"(\w+)"/.exec(answer)?.[1]

beforeAll(async () => {
  service = await serveInProcess({ SVC_MCP: "branches", SVC_SUPABASE: "true" })
  outside = new PgClient({ connectionString: service.databaseUrl })
  // The copy of a branch ends it.
  outside.on("error", () => {})
  await outside.connect()
  for (const text of [
    "create table notes (id int primary key, v text, owner text default current_user)",
    "alter table notes enable row level security",
    "insert into notes values (1, 'visible')",
    "create schema app",
    "create table app.items (id int)",
    "insert into app.items values (7)",
    "create view notes_view as select v from notes",
    "create view nested_view as select v from notes_view",
    `insert into svc.settings values ('planted', '${secret}')`,
    `create function leak(v text) returns text language plpgsql stable as $$ begin return '${secret}'; end $$`,
    `create function seen() returns text language sql security definer stable as $$ select value from svc.settings where name = 'planted' $$`,
    "create view bridge as select seen() as v",
    "create view authid as select rolname, rolpassword from pg_authid",
    "create view settings_view as select * from svc.settings",
    "create view over_view as select * from settings_view",
    "create view sub_view as select (select string_agg(value, '') from svc.settings) as v",
    "create materialized view copied as select * from svc.settings",
    "create operator ### (rightarg = text, function = leak)",
    "create domain checked as text check (leak(value) is null)",
    "create type pair as (a int, b text)",
    "create function as_pair(t text) returns pair language sql stable as $$ select 1, leak($1) $$",
    "create cast (text as pair) with function as_pair",
    "create aggregate collect (text) (sfunc = textcat, stype = text, finalfunc = leak)",
    "create extension postgres_fdw",
    "create extension dblink",
    "create extension file_fdw",
    "create extension hstore",
    "create server other foreign data wrapper postgres_fdw options (host '127.0.0.1')",
    `create user mapping for public server other options (user 'x', password '${secret}')`,
    "create server files foreign data wrapper file_fdw",
    `copy (select '${secret}') to '${file}'`,
    `create foreign table by_file (v text) server files options (filename '${file}')`,
    "create view by_view as select * from by_file",
    "create table parted (v text) partition by list (v)",
    "create table parted_sub partition of parted default partition by list (v)",
    `create foreign table parted_file partition of parted_sub default server files options (filename '${file}')`,
    "create table heirs (v text)",
    `create foreign table heir () inherits (heirs) server files options (filename '${file}')`,
    `select lo_from_bytea(4711, '${secret}')`,
    `insert into auth.users (id, email) values ('11111111-1111-4111-8111-111111111111', '${secret}@example.com')`,
    `create table hooks (id int); create function hook() returns trigger language plpgsql as 'begin return new; end'; create trigger h before insert on hooks for each row execute function hook('${secret}')`,
    `do $$ begin execute format('alter database %I set app.jwt_secret = %L', current_database(), '${secret}'); end $$`,
    `create role "mcp_${process.pid}" password '${secret}'`
  ])
    await outside.query(text)
  admin = new Client({ name: "test", version: "1" })
  await admin.connect(
    new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), {
      requestInit: { headers: { apikey: service.service_role } }
    })
  )
})
afterAll(async () => {
  await sql(service, `drop owned by "mcp_${process.pid}"`)
  await sql(service, `drop role "mcp_${process.pid}"`)
  await outside.end()
  await admin.close()
  await service[Symbol.asyncDispose]()
})

describe("read-only SQL reads", () => {
  it.each([
    ["select v from notes", "visible"],
    ["select * from app.items i where i.id = 7", "7"],
    ["table notes_view", "visible"],
    ["select nested_view.v from nested_view", "visible"],
    ["select session_user = current_user as same, current_user", '"same":true'],
    ["show transaction_read_only", '"on"'],
    [
      "select count(*), max(n.id), string_agg(v, ',' order by id) from notes n group by grouping sets ((), (owner))",
      "visible"
    ],
    [
      "with recursive t(n) as (values (1) union all select n + 1 from t where n < 5) select sum(n) over () from t",
      "15"
    ],
    [
      "select extract(year from now())::int > 2000 and v like 'v%' and id between 0 and 9 and id in (1) as x from notes",
      "true"
    ],
    [
      "select json_build_object('a', id) ->> 'a', (array[1, 2])[2], row(1, 2), case v when 'a' then 1 end from notes",
      '"1"'
    ],
    ["select r.relname from pg_class r join pg_namespace n on n.oid = r.relnamespace where n.nspname = 'app'", "items"],
    ["select table_name from information_schema.tables where table_schema = 'app'", "items"],
    ["select pg_size_pretty(pg_total_relation_size('notes')) as size", "size"],
    ["select * from json_to_recordset('[{\"a\": 5}]') as x (a int)", "5"],
    ["select (hstore('a', '1')) -> 'a' as h", '"1"'],
    ["select generate_series, date_trunc('day', now()) from generate_series(1, 3)", "3"]
  ])("%s", async (text, expected) => {
    const { answer, failed } = await call("run_sql", text)
    assert.isFalse(failed, answer)
    assert.include(answer, expected)
    if (!text.startsWith("show")) assert.isFalse((await call("explain", text)).failed)
  })

  it("tables that were created since, by whichever schema", async () => {
    await sql(service, "create schema later")
    await sql(service, "create table later.t as select 'fresh' as v")
    assert.include((await call("run_sql", "select v from later.t")).answer, "fresh")
  })

  it("no view any more that has been replaced by one over secrets", async () => {
    await sql(service, "create view changing as select v, v as w from notes")
    assert.isFalse((await call("run_sql", "select * from changing")).failed)
    await sql(service, "create or replace view changing as select name as v, value as w from svc.settings")
    assert.strictEqual(codeOf((await call("run_sql", "select * from changing")).answer), "42501")
  })
})

/** Statements that rights stop, were they to pass the guard. */
const byRights = [
  "select * from svc.settings",
  'table "svc"."settings"',
  'select * from U&"\\0073vc".settings',
  "select * from auth.users",
  "select * from storage.objects",
  "select * from authid",
  "select * from settings_view",
  "select * from over_view",
  "select * from sub_view",
  "select * from copied",
  "select * from bridge",
  "select * from by_file",
  "select * from by_view",
  "select * from parted",
  "select * from parted_sub",
  "select * from heirs"
]

const catalogues =
  `pg_authid pg_shadow pg_user pg_roles pg_user_mapping pg_user_mappings pg_subscription pg_statistic pg_stats
  pg_stats_ext pg_stats_ext_exprs pg_statistic_ext_data pg_stat_activity pg_settings pg_file_settings pg_hba_file_rules pg_largeobject
  pg_largeobject_metadata pg_prepared_statements pg_cursors pg_db_role_setting pg_foreign_server pg_foreign_table pg_trigger pg_config
  pg_stat_ssl pg_stat_replication pg_stat_wal_receiver pg_replication_slots pg_shmem_allocations pg_backend_memory_contexts pg_locks
  pg_auth_members pg_database pg_tablespace pg_toast.pg_toast_1255 information_schema._pg_user_mappings
  information_schema.user_mapping_options information_schema._pg_foreign_servers information_schema.foreign_server_options
  information_schema.foreign_table_options information_schema.triggers`.split(/\s+/)

const forbidden = [
  `select ('${file}'::text).pg_read_file`,
  `select x.pg_read_file from lower('${file}') x`,
  `select (x).pg_read_file from lower('${file}') x`,
  `select pg_read_file('${file}')`,
  `select pg_catalog."pg_read_binary_file"('${file}')`,
  "select x.pg_ls_dir from lower('.') x",
  "select (pg_backend_pid()).pg_terminate_backend",
  "select (1::float8).pg_sleep",
  "select (7::bigint).pg_advisory_lock",
  "select ('slot'::name).pg_drop_replication_slot",
  "select * from ts_stat('select to_tsvector(rolpassword) from pg_authid')",
  "select ('select to_tsvector(value) from svc.settings'::text).ts_stat",
  "select 1 from pg_class where relpages = (table_to_xml('pg_catalog.pg_authid', true, true, '')::text)::int",
  "select query_to_xml('table pg_authid', true, true, '')",
  "select database_to_xml(true, true, '')",
  "select schema_to_xml('svc', true, true, '')",
  "select cursor_to_xml('x', 1, true, true, '')",
  "select ts_rewrite('a'::tsquery, 'select 1')",
  "select current_setting('app.jwt_secret')",
  "select set_config('transaction_read_only', 'off', true)",
  "show app.jwt_secret",
  "show all",
  "select lo_get(4711)",
  "select lo_export(4711, '/tmp/x')",
  "select pg_show_all_settings()",
  "select pg_stat_get_activity(null)",
  "select pg_get_triggerdef(oid) from pg_class",
  "select pg_logical_slot_peek_changes('a', null, null)",
  "select * from dblink('host=127.0.0.1', 'select 1') as t (a int)",
  "select nextval('x')",
  "select pg_notify('a', 'b')",
  "select leak('x')",
  "select public.seen()",
  "select n.leak from lower('x') n",
  "select n.v.leak from notes n",
  "select ### 'x'::text",
  "select operator(public.###) 'x'::text",
  "select 'x'::checked",
  "select checked('x')",
  "select ('x'::text).checked",
  "select 'x'::text::pair",
  "select cast(array['x'::text] as checked[])",
  "select collect(v) from notes",
  "select * from rows from (leak('x'), seen()) as t",
  "select 1 from notes order by v using <",
  "select xmlelement(name a, query_to_xml('select 1', true, true, ''))",
  "copy (select 1) to program 'cat'",
  "do $$ begin end $$",
  "explain analyze select 1",
  "declare c cursor for select 1",
  "execute x",
  "set role postgres",
  "reset role",
  "create temp table t (a int)",
  ...catalogues.map((name) => `select * from ${name}`)
]

describe("read-only SQL reads no secrets", () => {
  it.each(byRights)("of what the role has no rights to: %s", async (text) => {
    for (const tool of ["run_sql", "explain"] as const)
      assert.strictEqual(codeOf((await call(tool, text)).answer), "42501", tool)
  })

  it.each(forbidden)("by what is not on the lists: %s", async (text) => {
    for (const tool of ["run_sql", "explain"] as const) {
      const { answer, failed } = await call(tool, text)
      assert.isTrue(failed, answer)
      assert.include(["SQL_NOT_ALLOWED", "SQL_NOT_READ_ONLY"], codeOf(answer), answer)
    }
  })

  it("by a user's operator that is not named", async () => {
    const operator = "(leftarg = text, rightarg = int, function = same)"
    await sql(service, "create function same(t text, n int) returns boolean language sql return leak(t) is null")
    await sql(service, `create operator public.= ${operator}`)
    try {
      for (const text of [
        "select v in (select 1) from notes",
        "select v = any (select 1) from notes",
        "select case v when 1 then 2 end from notes",
        "select nullif(v, 1) from notes",
        "select v is distinct from 1 from notes",
        "select v in (1, 2) from notes",
        "select 1 from notes join (select 1 as v) x using (v)",
        "select 1 from notes natural join (select 1 as v) x"
      ])
        assert.strictEqual(codeOf((await call("run_sql", text)).answer), "SQL_NOT_READ_ONLY", text)
      assert.isFalse(
        (await call("run_sql", "select case when v is null then 1 end from notes cross join app.items")).failed
      )
    } finally {
      await sql(service, "drop operator public.= (text, int)")
    }
  })

  it("of expressions as deep as a text can be", async () => {
    for (const text of [
      `select ${"(".repeat(9000)}1${")".repeat(9000)}`,
      `select ${"not ".repeat(4900)}true`,
      `select ${"- ".repeat(9900)}1`,
      `select '1'${"::text".repeat(3000)}`
    ])
      await call("run_sql", text)
    assert.include((await call("run_sql", "select 1 as one")).answer, '"one":1')
  })
})

it("the role has no other rights, and no way to others", async () => {
  const [role] = (await sql(
    service,
    `select r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolinherit, r.rolname,
      exists (select from pg_auth_members m where m.member = r.oid) as member,
      pg_has_role(r.oid, 'pg_read_server_files', 'member') as files
     from svc.settings s join pg_roles r on r.rolname = s.value where s.name = 'assistant_role'`
  )) as unknown as [Record<string, unknown>]
  assert.include(JSON.stringify(role), "svc_assistant")
  const { rolname: _, ...rights } = (role ?? {}) as Record<string, unknown>
  assert.isTrue(
    Object.values(rights).every((value) => value === false),
    JSON.stringify(role)
  )
})

/** A source of numbers that repeats with its seed. */
const randomFrom = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Parts of random statements: those that are allowed are of type text, so that statements of them alone run. */
const parts = {
  sources: {
    allowed: [
      "notes",
      "notes_view",
      "nested_view",
      "(select id::text as v from app.items)",
      "(select relname::text as v from pg_class order by oid limit 3)",
      "(select table_name::text as v from information_schema.tables limit 3)",
      "(select v from (values ('a'), (null)) as s (v) cross join generate_series(1, 2) as n)"
    ],
    other: [
      ..."svc.settings auth.users pg_authid pg_user_mappings by_file by_view parted heirs authid sub_view bridge".split(
        " "
      ),
      ..."information_schema._pg_user_mappings pg_largeobject copied over_view pg_db_role_setting pg_trigger".split(
        " "
      ),
      ..."leak('x') seen() lo_get(4711)".split(" "),
      `pg_read_file('${file}')`
    ]
  },
  functions: {
    allowed: "lower upper md5 concat quote_literal initcap reverse btrim concat_ws to_json".split(" "),
    other: [
      ..."leak public.leak seen collect pg_read_file pg_catalog.pg_read_file checked pair as_pair regclass".split(" "),
      ..."table_to_xml query_to_xml ts_stat current_setting lo_get xmlagg".split(" ")
    ]
  },
  types: {
    allowed: ["text", "varchar", "name", "bpchar"],
    other: "checked public.checked pair checked[] regclass xml oid int".split(" ")
  },
  fields: {
    allowed: ["v"],
    other: "leak pg_read_file lower lo_get checked value umoptions rolpassword ts_stat *".split(" ")
  },
  operators: {
    allowed: ["||", "operator(pg_catalog.||)"],
    other: "= + ->> ### operator(public.###) ~".split(" ")
  },
  constants: {
    allowed: ["'x'", "'a b'", "null::text", "''"],
    other: [`'${file}'`, "'pg_authid'", "'svc.settings'", "'table svc.settings'", "4711", "'app.jwt_secret'", "t"]
  }
} as const

/** Statements of random parts; `others` of a hundred parts are not of the allowed ones. */
const statementsFrom = (random: (below: number) => number) => {
  const pick = <A>(items: ReadonlyArray<A>): A => items[random(items.length)] as A
  return (others: number): string => {
    const part = (kind: keyof typeof parts) => pick<string>(parts[kind][random(100) < others ? "other" : "allowed"])
    const leaf = () => (random(3) === 0 ? part("constants") : `t.${part("fields")}`)
    const expression = (depth: number): string => {
      if (depth === 0) return leaf()
      const inner = () => expression(depth - 1)
      return pick([
        () => `${part("functions")}(${inner()}::text)::text`,
        () => `(${inner()})::${part("types")}::text`,
        () => `((${inner()}) ${part("operators")} ${inner()})::text`,
        () => (random(100) < others ? `((${inner()})).${part("fields")}` : `(row(${inner()})::text)`),
        () => (random(100) < others ? `(### ${inner()})` : `nullif(${inner()}, ${inner()})`),
        () => `case when ${inner()} is null then ${inner()} else ${inner()} end`,
        () => `coalesce(${inner()}, ${inner()})`,
        () => `array(select ${inner()} from ${source()} t)::text`,
        () => `(select max(${inner()}) from ${source()} t)`,
        () => `exists (select from ${source()} t where ${inner()} is null)::text`
      ])()
    }
    const source = () => part("sources")
    return pick([
      () => `select ${expression(random(4))} from ${source()} t`,
      () => `with x as (select ${expression(2)} as v from ${source()} t) select ${expression(1)} from x t`,
      () => `select ${expression(1)} from ${source()} t where ${expression(2)} = ${expression(1)}`,
      () => `select t.v, count(*) from (select ${expression(2)} as v from ${source()} t) t group by t.v order by 1`,
      () => `select ${expression(1)} from ${source()} t union all select ${expression(2)} from ${source()} t`,
      () => `select t.v from ${source()} s cross join lateral (values (${expression(1).replaceAll("t.", "s.")})) t (v)`
    ])()
  }
}

it("random statements of allowed and other parts never answer with a secret", { timeout: 300_000 }, async () => {
  const seed = Number(process.env["SVC_TEST_SEED"] ?? Date.now() % 100_000)
  const random = randomFrom(seed)
  const statement = statementsFrom(random)
  const total = Number(process.env["SVC_TEST_STATEMENTS"] ?? 500)
  let ran = 0
  // Few statements with many other parts pass, so that most have one or none.
  const statements = Array.from({ length: total }, (_, n) => statement([0, 4, 8, 15, 40][n % 5] ?? 0)).entries()
  // Eight at a time, which share the iterator: a call mostly waits for the processes that it passes through.
  const caller = async () => {
    for (const [n, text] of statements) {
      const { failed } = await call(n % 4 === 0 ? "explain" : "run_sql", text)
      if (!failed) ran++
    }
  }
  await Promise.all(Array.from({ length: 8 }, caller))
  // Otherwise the statements would have tested the parser alone.
  assert.isAtLeast(ran, total / 5, `seed ${seed}`)
})

it("a branch is read by the same role, and its copies of passwords are not", async () => {
  const made = (await admin.callTool({ name: "create_branch", arguments: { label: "try" } })) as CallToolResult
  const branch = Number(/"id":(\d+)/.exec(JSON.stringify(made.content).replaceAll("\\", ""))?.[1])
  const { answer } = await call("run_sql", "select v, current_user from notes", branch)
  assert.include(answer, "svc_assistant")
  assert.include(answer, "visible")
  for (const text of ["select * from pg_user_mappings", "select ('x'::text).leak", "select * from auth.users"])
    assert.isTrue((await call("run_sql", text, branch)).failed, text)
  await admin.callTool({ name: "drop_branch", arguments: { branch } })
})
