import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { catalogue, changed } from "../../support/catalogue/current.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

/** SQL that creates a relation, and which of (r)ead, (i)nsert and (c)hange run no user code. */
type Case = readonly [name: string, make: string, clean: "" | "r" | "ri" | "ric"]

const user = (name: string, args: string, returns: string, more = "immutable") =>
  `create function ${name}(${args}) returns ${returns} language plpgsql ${more} as
     $$ begin perform set_config('leak.x', 'x', false); return null; end $$;`

const policy = (name: string, test: string, columns = "v text") =>
  `create table ${name} (${columns}); alter table ${name} enable row level security; create policy p on ${name} using (${test})`

const relations: ReadonlyArray<Case> = [
  [
    "plain",
    "create table plain (id int primary key, v text, at timestamptz default now(), n numeric(5,2), j jsonb)",
    "ric"
  ],
  [
    "serials",
    "create table serials (id serial primary key, u uuid default gen_random_uuid(), r float default random())",
    "ric"
  ],
  ["identities", "create table identities (a int generated always as identity)", "ric"],
  ["arrays", "create table arrays (a int[], r int4range, m int4multirange, p point, x xml, t tsvector)", "ric"],
  ["enums", "create table enums (m mood default 'sad', ms mood[] default '{}')", "ric"],
  [
    "checks",
    "create table checks (n int check (n > 0 and n < 10), v text check (v in ('a', 'b') and length(v) < 3))",
    "ric"
  ],
  [
    "generateds",
    "create table generateds (n int, s int generated always as (n * 2) stored, w text generated always as (lower('A' || n)) virtual)",
    "ric"
  ],
  ["indexes", "create table indexes (v text); create index on indexes (lower(v)) where v is not null", "ric"],
  ["referring", "create table referring (id int primary key, p int references plain)", "ric"],
  ["quiet_rls", "create table quiet_rls (v int); alter table quiet_rls enable row level security", "ric"],
  [
    "claims_rls",
    "create table claims_rls (o text); alter table claims_rls enable row level security; create policy p on claims_rls using (o = current_setting('request.jwt.sub', true) and (current_setting('request.jwt.claims', true)::jsonb ->> 'role') = 'x') with check (o is not null)",
    "ric"
  ],
  [
    "header_rls",
    "create table header_rls (o text); alter table header_rls enable row level security; create policy p on header_rls using (o = current_setting('request.jwt.sub', true) or o = current_setting('request.headers', true)::json ->> 'x-team')",
    ""
  ],
  ["header_default", "create table header_default (o text default current_setting('request.path', true))", "r"],
  [
    "enum_rls",
    "create table enum_rls (m mood); alter table enum_rls enable row level security; create policy p on enum_rls using (m = 'glad' or m in ('sad', 'glad'))",
    "ric"
  ],
  ["off_rls", "create table off_rls (v int); create policy p on off_rls using (spy(v))", "ric"],
  ["matview", "create materialized view matview as select 1 as one", "r"],

  [
    "triggers",
    "create table triggers (v int); create trigger t after update on triggers for each row execute function spying()",
    "r"
  ],
  [
    "truncated",
    "create table truncated (v int); create trigger t before truncate on truncated execute function spying()",
    "r"
  ],
  [
    "constraint_triggers",
    "create table constraint_triggers (v int); create constraint trigger t after insert on constraint_triggers deferrable initially deferred for each row execute function spying()",
    "r"
  ],
  ["rules", "create table rules (v int); create rule r as on insert to rules do also select spy(1)", "r"],
  [
    "policies",
    "create table policies (v int); alter table policies enable row level security; create policy p on policies using (spy(v))",
    ""
  ],
  [
    "check_policies",
    "create table check_policies (v int); alter table check_policies enable row level security; create policy p on check_policies for insert with check (spy(v))",
    ""
  ],
  [
    "setting_policies",
    "create table setting_policies (v int); alter table setting_policies enable row level security; create policy p on setting_policies using (set_config('a.b', 'x', false) is not null)",
    ""
  ],
  [
    "selecting_policies",
    "create table selecting_policies (v int); alter table selecting_policies enable row level security; create policy p on selecting_policies using (v in (select one from a_view))",
    "ric"
  ],
  [
    "operator_policies",
    "create table operator_policies (v int); alter table operator_policies enable row level security; create policy p on operator_policies using (v ### 1)",
    ""
  ],
  [
    "casting_policies",
    "create table casting_policies (v text); alter table casting_policies enable row level security; create policy p on casting_policies using (v::spied is not null)",
    ""
  ],
  [
    "record_policies",
    "create table record_policies (v jsonb); alter table record_policies enable row level security; create policy p on record_policies using (jsonb_populate_record(null::pair, v) is not null)",
    ""
  ],
  [
    "locking_policies",
    "create table locking_policies (v int); alter table locking_policies enable row level security; create policy p on locking_policies using (pg_try_advisory_lock(v))",
    ""
  ],
  ["defaults", "create table defaults (v bool default spy(1))", "r"],
  ["setting_defaults", "create table setting_defaults (v text default set_config('a.b', 'x', false))", "r"],
  ["notifying_defaults", "create table notifying_defaults (v int, w text default pg_notify('a', 'b')::text)", "r"],
  ["own_checks", "create table own_checks (v int check (spy(v)))", "r"],
  ["own_generated", "create table own_generated (v int, w bool generated always as (spy(v)) stored)", "r"],
  ["own_virtual", "create table own_virtual (v int, w text generated always as (lower(v::text)) virtual)", "ric"],
  ["own_indexes", "create table own_indexes (v int); create index on own_indexes (spy(v))", ""],
  ["own_partial", "create table own_partial (v int); create index on own_partial (v) where spy(1)", ""],
  ["own_statistics", "create table own_statistics (v int); create statistics on (spy(v)) from own_statistics", ""],
  ["own_excluded", "create table own_excluded (v int, exclude (v with =) where (spy(v)))", ""],
  ["domains", "create table domains (v spied)", ""],
  ["plain_domains", "create table plain_domains (v bare)", ""],
  ["domain_arrays", "create table domain_arrays (v spied[])", ""],
  ["composites", "create table composites (v pair)", ""],
  ["own_ranges", "create table own_ranges (v span)", ""],
  ["cast_enums", "create table cast_enums (v cast_mood, w int)", ""],
  ["cast_enum_arrays", "create table cast_enum_arrays (v cast_mood[])", ""],
  ["parents", "create table parents (v int); create table children () inherits (parents)", ""],
  ["children", "", "ric"],
  [
    "partitioned",
    "create table partitioned (v int) partition by list (spied_key(v)); create table partition_1 partition of partitioned for values in (1)",
    ""
  ],
  ["a_view", "", "r"],
  [
    "foreign_one",
    "create foreign data wrapper none; create server none foreign data wrapper none; create foreign table foreign_one (v int) server none",
    ""
  ],
  [
    "cascaded",
    "create table cascaded (id int primary key); create table cascading (id int references cascaded on delete cascade); create trigger t before delete on cascading for each row execute function spying()",
    "ri"
  ],
  [
    "updating",
    "create table updating (id int primary key); create table updated (id int references updating on update set null)",
    "ri"
  ],
  [
    "restricted",
    "create table restricted (id int primary key); create table restricting (id int references restricted on delete restrict)",
    "ric"
  ],

  // What superusers can make in pg_catalog is not built in.
  ["native_functions", policy("native_functions", "pg_catalog.native_spy(v)", "v int"), ""],
  ["native_operators", policy("native_operators", "v operator(pg_catalog.###) 1", "v int"), ""],
  ["native_types", "create table native_types (v pg_catalog.native_domain)", ""],

  // A type may be named by a text, or by a node that is not a cast.
  ["valid_policies", policy("valid_policies", "pg_input_is_valid(v, 'public.spied')"), ""],
  ["info_policies", policy("info_policies", "(pg_input_error_info(v, 'public.spied')).message is null"), ""],
  ["value_policies", policy("value_policies", "json_value(to_jsonb(v), '$' returning spied) is not null"), ""],
  ["query_policies", policy("query_policies", "json_query(to_jsonb(v), '$' returning spied) is not null"), ""],
  [
    "table_policies",
    policy("table_policies", "exists (select from json_table(to_jsonb(v), '$' columns (a spied path '$')))"),
    ""
  ],
  ["element_policies", policy("element_policies", "array[v]::spied[] is not null", "v int"), ""],
  ["field_policies", policy("field_policies", "(row(v, v)::pair).b > 0", "v int"), ""],
  ["recordset_policies", policy("recordset_policies", "exists (select from json_to_record(v::json) x(a spied))"), ""],
  ["xml_policies", policy("xml_policies", "query_to_xml(v, true, true, '') is not null"), ""],
  ["cursor_policies", policy("cursor_policies", "cursor_to_xml(v::refcursor, 1, true, true, '') is not null"), ""],
  ["statistics_policies", policy("statistics_policies", "exists (select from ts_stat(v))"), ""],
  ["sleeping_policies", policy("sleeping_policies", "pg_sleep(0) is null"), ""],
  ["seeding_policies", policy("seeding_policies", "setseed(0) is null"), ""],
  ["path_policies", policy("path_policies", "v = current_schema"), ""],
  ["path_calls", policy("path_calls", "v = current_schema()"), ""],
  ["path_names", policy("path_names", "v = 'plain'::regclass::text"), ""],
  ["path_columns", "create table path_columns (v regclass)", ""],
  ["locking_reads", policy("locking_reads", "exists (select from plain for share)"), ""],
  ["comparing_policies", policy("comparing_policies", "row(v, v) < row('a', 'b')"), ""],

  // What reads relations and calls functions is as clean as they are.
  ["sql_functions", policy("sql_functions", "v = shout(shout('x'))"), "ric"],
  ["sql_defaults", "create table sql_defaults (v text default shout('x'), w text check (shout(w) > 'a'))", "ric"],
  ["deep_functions", policy("deep_functions", "deep(1) is null"), ""],
  ["string_functions", policy("string_functions", "string_body() = v", "v int"), "ric"],
  ["defining_functions", policy("defining_functions", "defining() = v", "v int"), ""],
  ["setting_functions", policy("setting_functions", "setting() = v", "v int"), ""],
  ["domain_functions", policy("domain_functions", "to_spied() is null", "v int"), ""],
  ["domain_columns", policy("domain_columns", "exists (select from to_spied_columns())", "v int"), ""],
  ["domain_arguments", policy("domain_arguments", "of_domain(v) = 1", "v int"), ""],
  ["recursive_functions", policy("recursive_functions", "calls_itself(v) = 1", "v int"), "ric"],
  [
    "members",
    policy("members", "exists (select from plain p where p.v = members.v and p.id = (select max(id) from serials))"),
    "ric"
  ],
  ["unclean_members", policy("unclean_members", "exists (select from policies p where p.v > 1)"), ""],
  ["system_members", policy("system_members", "exists (select from pg_class)"), ""],
  ["unclean_view", "create view unclean_view as select spy(1) as v", ""],
  ["view_of_table", "create view view_of_table as select v, count(*) as n from claims_rls, plain group by 1", "r"],
  ["view_of_view", "create view view_of_view as select one + 1 as two from a_view order by 1", "r"],
  ["view_of_policy", "create view view_of_policy with (security_invoker) as select * from policies", ""],
  // The planner reads the CHECK constraints of tables under UNION ALL.
  [
    "view_of_union",
    "create view view_of_union as select v from own_checks union all select v from own_generated where v > 0",
    ""
  ],
  [
    "view_under_union",
    "create view checks_view as select v from own_checks; create view view_under_union as select v from checks_view union all select 1",
    ""
  ],
  [
    "view_of_clean_union",
    "create view view_of_clean_union as select n from checks union all select n from generateds",
    "r"
  ],
  ["view_of_unclean", "create view view_of_unclean as select * from unclean_view", ""],
  ["builtin_in_sql", policy("builtin_in_sql", "lpad(v, 3) = 'a' || 1 and round(1.5) = 2 and v like 'x%'"), "ric"],
  [
    "json_nodes",
    policy("json_nodes", "json_value(to_jsonb(v), '$' returning int) > 1 and json_object('a': v) is json"),
    "ric"
  ],

  // A foreign key is checked as the other table's owner.
  [
    "forced",
    "create table forced (id int primary key); alter table forced force row level security, enable row level security; create policy p on forced using (spy(id))",
    ""
  ],
  ["to_forced", "create table to_forced (id int references forced)", "r"],
  ["from_forced", "create table from_forced (id int primary key)", "ri"],
  [
    "forced_too",
    "create table forced_too (id int references from_forced); alter table forced_too force row level security, enable row level security",
    "ric"
  ],
  [
    "to_indexed",
    "create table indexed_key (id int primary key); create index on indexed_key (id) where spy(1); create table to_indexed (id int references indexed_key)",
    "r"
  ],
  [
    "to_domain",
    "create table domain_key (id spied primary key); create table to_domain (id int references domain_key)",
    "r"
  ]
]

const functions: ReadonlyArray<readonly [name: string, make: string, clean: boolean]> = [
  ["f_pure", "create function f_pure(a int) returns int immutable return a * 2", true],
  ["f_enum", "create function f_enum(a mood) returns bool return a = 'sad'", true],
  ["f_atomic", "create function f_atomic(a text) returns text begin atomic select upper(a) || 'x'; end", true],
  ["f_void", "create function f_void() returns void begin atomic select 1; end", true],
  ["f_text", "create function f_text(a int) returns int language sql as 'select a * 2'", true],
  ["f_plpgsql", "create function f_plpgsql(a int) returns int language plpgsql as 'begin return a; end'", true],
  ["f_calls", "create function f_calls(a int) returns bool return spy(a)", false],
  ["f_sets", "create function f_sets() returns text return set_config('a.b', 'x', false)", false],
  ["f_reads", "create function f_reads() returns int begin atomic select id from plain; end", true],
  ["f_from", "create function f_from() returns int begin atomic select x from generate_series(1, 2) x; end", true],
  ["f_writes", "create function f_writes() returns void begin atomic insert into plain values (1); end", false],
  ["f_sub", "create function f_sub() returns int return (select id from plain)", true],
  ["f_operator", "create function f_operator(a int) returns bool return a ### 1", false],
  ["f_default", "create function f_default(a bool default spy(1)) returns bool return a", false],
  ["f_domain", "create function f_domain(a spied) returns int return 1", false],
  ["f_to_domain", "create function f_to_domain(a int) returns bool return a::spied > 0", false],
  ["f_row", "create function f_row() returns plain begin atomic select null::plain; end", false],
  ["f_json", "create function f_json(a json) returns text return json_populate_record(null::pair, a)::text", false],
  ["f_table", "create function f_table(a int) returns table (x int, y text) begin atomic select a, 'y'; end", true],
  ["f_domains", "create function f_domains() returns table (x spied) begin atomic select 1; end", false],
  ["f_rows", "create function f_rows() returns setof plain begin atomic select * from plain; end", true],
  ["f_policies", "create function f_policies() returns setof policies begin atomic select * from policies; end", false],
  ["f_definer", "create function f_definer() returns int security definer return 1", false],
  ["f_path", "create function f_path() returns int set search_path = public return 1", false],
  ["f_defaulted", "create function f_defaulted(a text default upper('x')) returns text return a", true],
  ["f_c", "create function f_c(a int) returns int language internal as 'int4abs'", false]
]

const before = `
  create type mood as enum ('sad', 'glad');
  create type cast_mood as enum ('sad');
  create type span as range (subtype = numeric);
  ${user("spy", "a int", "boolean")}
  create function spying() returns trigger language plpgsql as $$ begin return null; end $$;
  create function spied_key(a int) returns int immutable language sql return a;
  create domain spied as int check (spy(value));
  create domain bare as int;
  create type pair as (a spied, b int);
  ${user("mood_to_json", "a cast_mood", "json")}
  create cast (cast_mood as json) with function mood_to_json (cast_mood);
  ${user("spy_two", "a int, b int", "boolean")}
  create operator ### (leftarg = int, rightarg = int, function = spy_two);
  create view a_view as select 1 as one;
  ${user("pg_catalog.native_spy", "a int", "boolean")}
  create operator pg_catalog.### (leftarg = int, rightarg = int, function = spy_two);
  create domain pg_catalog.native_domain as int check (spy(value));
  create function shout(a text) returns text return upper(a) || '!';
  create function deep(a int) returns bool return spy(a);
  create or replace function deep(a bigint) returns bool return deep(a::int);
  create function string_body() returns int language sql as 'select 1';
  create function defining() returns int security definer return 1;
  create function setting() returns int set work_mem = '1MB' return 1;
  create function to_spied() returns spied return 1;
  create function to_spied_columns() returns table (a spied, b int) begin atomic select 1, 2; end;
  create function of_domain(a spied) returns int return 1;
  create function calls_itself(a int) returns int return a;
  create or replace function calls_itself(a int) returns int return case when a < 1 then 1 else calls_itself(a - 1) end;`

/** Objects that affect the code that statements on any table may run. */
const everywhere: ReadonlyArray<readonly [string, make: string, unmake: string]> = [
  [
    "an equality on a built-in type",
    "create operator = (leftarg = varchar, rightarg = varchar, function = spy_var)",
    "drop operator = (varchar, varchar)"
  ],
  [
    "a pattern match with a type of one's own",
    "create operator ~~ (leftarg = int, rightarg = pair, function = spy_pair)",
    "drop operator ~~ (int, pair)"
  ],
  [
    "an equality on an enum",
    "create operator = (leftarg = mood, rightarg = text, function = spy_mood)",
    "drop operator = (mood, text)"
  ],
  [
    "a sort order for a built-in type",
    `create operator #< (leftarg = json, rightarg = json, function = spy_json);
     create operator class spied_json default for type json using btree as operator 1 #<, function 1 order_json (json, json)`,
    "drop operator family spied_json using btree; drop operator #< (json, json)"
  ],
  [
    "an implicit cast between built-in types",
    "create cast (point as json) with function spy_point (point) as assignment",
    "drop cast (point as json)"
  ],
  [
    "an explicit cast between built-in types",
    "create cast (point as json) with function spy_point (point)",
    "drop cast (point as json)"
  ],
  [
    "an operator in pg_catalog",
    "create operator pg_catalog.= (leftarg = int, rightarg = text, function = spy_text)",
    "drop operator pg_catalog.= (int, text)"
  ],
  [
    "a negator of PostgreSQL's operator",
    "create operator #@> (leftarg = anyarray, rightarg = anyarray, function = spy_arrays, negator = operator(pg_catalog.@>))",
    "drop operator #@> (anyarray, anyarray)"
  ],
  [
    "a body in SQL of PostgreSQL's function of an operator",
    "create or replace function pg_catalog.textlike(text, text) returns bool immutable return public.spy(1)",
    "create or replace function pg_catalog.textlike(text, text) returns bool language internal immutable strict leakproof as 'textlike'"
  ],
  [
    "an overload in pg_catalog",
    "create function pg_catalog.row_to_json(a json) returns json language plpgsql as 'begin return null; end'",
    "drop function pg_catalog.row_to_json(json)"
  ],
  [
    "an aggregate in pg_catalog",
    "create aggregate pg_catalog.json_agg(date) (sfunc = date_larger, stype = date)",
    "drop aggregate pg_catalog.json_agg(date)"
  ]
]

const suite = layer(
  layerDatabase({
    name: "catalogue",
    before: [
      before,
      ...relations.map(([, make]) => `${make};`),
      ...functions.map(([, make]) => `${make};`),
      user("spy_var", "a varchar, b varchar", "boolean"),
      user("spy_pair", "a int, b pair", "boolean"),
      user("spy_arrays", "a anyarray, b anyarray", "boolean"),
      user("spy_mood", "a mood, b text", "boolean"),
      user("spy_json", "a json, b json", "boolean"),
      user("order_json", "a json, b json", "int"),
      user("spy_text", "a int, b text", "boolean"),
      user("spy_point", "a point", "json")
    ].join("\n")
  }),
  live
)

const cleanliness = (name: string) =>
  Effect.map(catalogue, (now) => {
    const relation = now.relation("public", name)
    if (relation === undefined) return "missing"
    const { clean_change, clean_insert, clean_read } = relation
    return `${clean_read ? "r" : ""}${clean_insert ? "i" : ""}${clean_change ? "c" : ""}`
  })

suite("clean statements", (it) => {
  describe("on", () => {
    it.effect.each(relations.map(([name, , clean]) => [name, clean] as const))("%s: %s", ([name, clean]) =>
      Effect.map(cleanliness(name), (found) => assert.strictEqual(found, clean))
    )
  })

  describe("calling", () => {
    it.effect.each(functions.map(([name, , clean]) => [name, clean] as const))("%s: %s", ([name, clean]) =>
      Effect.map(catalogue, (now) => assert.strictEqual(now.functions("public", name)[0]?.clean, clean))
    )
  })

  describe("do not exist with", () => {
    it.effect.each(everywhere)("%s", ([, make, unmake]) =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        assert.strictEqual(yield* cleanliness("plain"), "ric")
        yield* sql(make)
        yield* changed
        assert.strictEqual(yield* cleanliness("plain"), "")
        assert.strictEqual((yield* catalogue).functions("public", "f_pure")[0]?.clean, false)
        yield* sql(unmake)
        yield* changed
        assert.strictEqual(yield* cleanliness("plain"), "ric")
      })
    )
  })

  it.effect("exist with the extensions that PostgreSQL ships", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const there = yield* sql(
        "select name from pg_available_extensions where name in ('pg_trgm', 'citext', 'btree_gin', 'btree_gist', 'hstore', 'uuid-ossp')"
      )
      for (const { name } of there) yield* sql(`create extension if not exists "${String(name)}"`)
      yield* changed
      assert.strictEqual(yield* cleanliness("plain"), "ric")
    })
  )

  it.effect("the catalogue contains nothing of the service or of PostgreSQL", () =>
    Effect.gen(function* () {
      const now = yield* catalogue
      for (const [schema, name] of [
        ["svc", "api_keys"],
        ["pg_catalog", "pg_class"],
        ["information_schema", "tables"]
      ] as const) {
        assert.isUndefined(now.relation(schema, name))
      }
      assert.deepStrictEqual(now.functions("svc", "notify_keys"), [])
    })
  )

  it.effect("do not exist while the catalogue is being read, for which only requests for new names wait", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const catalogues = yield* Catalogues
      const { main } = yield* Db
      const found = (name: string) =>
        catalogues.find(main, "public", name, (now) => now.relation("public", name) && now)
      const before = yield* catalogue
      assert.isDefined(catalogues.epoch(main, before))
      yield* sql("create table made_now (id int)")
      while (catalogues.epoch(main, before) !== undefined) yield* Effect.sleep("1 millis")
      const meanwhile = yield* found("plain")
      assert.strictEqual(meanwhile, before)
      assert.isUndefined(catalogues.epoch(main, before))
      const after = yield* found("made_now")
      assert.notStrictEqual(after, before)
      assert.isDefined(after)
      assert.strictEqual(yield* found("plain"), yield* catalogue)
    })
  )
})
