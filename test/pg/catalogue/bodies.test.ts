import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { catalogue, changed } from "../../support/catalogue/current.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const before = `
  set check_function_bodies = off;
  create schema own;
  create table members (id int primary key, owner uuid, title text, mood text);
  create table hidden (id int);
  alter table hidden enable row level security;
  create function spy() returns boolean language plpgsql as $$ begin perform set_config('leak.x', 'x', false); return true; end $$;
  create policy p on hidden using (spy());
  create view spying as select spy() as v;
  create function spy_on(int) returns boolean immutable language plpgsql as 'begin return spy(); end';
  create table checked_table (id int check (spy_on(1)));
  create view both_tables as select id from members union all select id from checked_table;
  create view checked_view as select id from checked_table;
  create table parted (id int) partition by range (id);
  create domain checked as int check (spy());
  create type pair as (a checked, b int);
  create type mood as enum ('sad');
  create type public.size as enum ('s', 'm');
  create function spy_two(int, int) returns boolean language plpgsql as 'begin return spy(); end';
  create operator own.### (leftarg = int, rightarg = int, function = spy_two);
  create function spy_pair(pair, pair) returns boolean language plpgsql as 'begin return spy(); end';
  create operator own.-|- (leftarg = pair, rightarg = pair, function = spy_pair);
  create operator own.@@@ (leftarg = int, rightarg = int, function = int4eq);
  create operator own.#-# (leftarg = int, rightarg = int, function = int4eq);
  create function computed(members) returns boolean language plpgsql as 'begin return spy(); end';
  create function own.helper(a int) returns int language sql as 'select a + 1';
  create function own.lower(a int) returns int language sql as 'select a';
  create function own.title(text) returns int language sql as 'select 1';
  create function own.mood(members) returns int language sql as 'select 1';
  create table lists (id int primary key generated always as identity, title text, done bool default false, made timestamptz default now());
  create table items (id int primary key, list int references lists on delete cascade);
  create table referring (id int references lists);
  create table spied (id int default length(spy()::text));
  create function spy_trigger() returns trigger language plpgsql as 'begin perform spy(); return new; end';
  create table triggered (id int);
  create trigger t before insert on triggered for each row execute function spy_trigger();
  create table own.lists (id int default length(spy()::text), named text);
  create sequence numbers;
  create function writes_items() returns void language sql as 'insert into public.items values (1)';
  create function own.noticed(text, int default 1) returns text language plpgsql as $$ begin return spy()::text; end $$;
  create function own.spied_list(variadic text[]) returns int language plpgsql as $$ begin return length(spy()::text); end $$;
  create function own.spied_any(anyelement) returns int language plpgsql as $$ begin return length(spy()::text); end $$;
  create function own.mine() returns int immutable language sql as $$ select length(current_setting('request.jwt.sub', true)) $$;
  create function own.moody() returns mood language plpgsql as $$ begin perform spy(); return 'sad'; end $$;
  create table keyed (id int) partition by list (spy_on(id));
  create table keyed_true partition of keyed for values in (true);
  create aggregate own.collected(int) (sfunc = int4pl, stype = int);`

/** Arguments and more of a function, its language and body, and whether it is clean. */
type Case = readonly [language: "sql" | "plpgsql", head: string, body: string, clean: boolean]

const cases: ReadonlyArray<Case> = [
  // PostgreSQL calls a function of one argument by a name behind a dot, for a value of any type.
  ["sql", "() returns text set search_path = own", "select (current_setting('role')).noticed", false],
  ["sql", "(v text) returns text set search_path = own", "select v.noticed", false],
  ["sql", "() returns text set search_path = own", "select x.noticed from pg_catalog.lower('A') x", false],
  ["sql", "() returns text set search_path = own", "select (select 'a'::text).noticed", false],
  ["sql", "() returns int set search_path = own", "select ('a'::text).spied_list", false],
  ["sql", "() returns int set search_path = own", "select (now()).spied_any", false],
  ["sql", "() returns int set search_path = own", "select (1::bigint).pg_advisory_lock is null::int", false],
  ["plpgsql", "(v text) returns text set search_path = own", "begin return v.noticed; end", false],
  ["plpgsql", "(v text) returns text set search_path = own", "begin return (v).noticed; end", false],
  ["plpgsql", "(v text) returns text set search_path = own", "declare s text = v; begin return s.noticed; end", false],
  // PostgreSQL keeps results of functions that are declared IMMUTABLE in plans.
  ["sql", "() returns text immutable", "select current_setting('request.jwt.sub', true)", false],
  ["plpgsql", "() returns text immutable", "begin return current_setting('request.jwt.sub', true); end", false],
  ["sql", "() returns uuid immutable", "select auth.uid()", false],
  ["sql", "() returns text immutable", "select current_user::text", false],
  ["sql", "() returns timestamptz immutable", "select current_timestamp", false],
  ["sql", "() returns bigint immutable", "select count(*) from public.members", false],
  ["sql", "() returns float8 immutable", "select random()", false],
  ["sql", "() returns int", "select own.mine()", false],
  ["plpgsql", "() returns int", "begin return own.mine(); end", false],
  ["sql", "(a text) returns text immutable", "select lower(a) || '-' || coalesce(a, 'x')", true],
  ["sql", "(a timestamptz) returns text immutable", "select to_char(a at time zone 'utc', 'YYYY') || a::text", true],
  [
    "plpgsql",
    "(a int) returns int immutable",
    "begin return case when a > 1 then own.helper(a) else -a end; end",
    true
  ],
  // The compiled function lacks the defaults of variables whose type is a row or one that the parser does not know.
  ["plpgsql", "() returns int", "declare r record := row(public.spy()); begin return 1; end", false],
  ["plpgsql", "() returns int", 'declare r record default row(public."spy"()); begin return 1; end', false],
  ["plpgsql", "() returns int", "declare r record := (select row(h) from public.hidden h); begin return 1; end", false],
  ["plpgsql", "() returns int", "declare r record := row('1'::public.checked); begin return 1; end", false],
  ["plpgsql", "() returns int", "declare r record := row(1 operator(own.###) 2); begin return 1; end", false],
  ["plpgsql", "() returns int", 'declare r record := row(public.U&"sp\\0079"()); begin return 1; end', false],
  ["plpgsql", "() returns text", "declare m public.mood := own.moody(); begin return m; end", false],
  ["plpgsql", "() returns text", "declare m public.mood := 'sad'; begin return m; end", true],
  ["plpgsql", "() returns int", "declare r record; /* spy */ begin raise notice 'spy'; return 1; -- spy\n end", true],
  ["plpgsql", "() returns int", "declare spy int = 1; begin return spy + 1; end", true],
  ["sql", "(v text default public.spy()::text) returns void", "insert into public.lists (title) values (v)", false],
  [
    "plpgsql",
    "(v text default public.spy()::text) returns int",
    "begin insert into public.lists (title) values (v); return 1; end",
    false
  ],
  ["sql", "(v int default length('A')) returns void", "insert into public.items values (v)", true],
  ["sql", "() returns void", "insert into public.keyed_true values (1)", false],
  ["sql", "() returns void", "delete from public.keyed_true", false],
  ["sql", "(a int, b int) returns int", "select a + b", true],
  ["sql", "(int) returns int", "select $1", true],
  ["sql", "() returns void", "select 1", true],
  ["sql", "() returns setof members", "select * from public.members", true],
  ["sql", "() returns table (x int, y text)", "select id, title from public.members", true],
  ["sql", "(out x int, out y text)", "select 1, 'a'", true],
  ["sql", "(a int default 1 + 1) returns int", "select a", true],
  ["sql", "() returns uuid security definer", "select owner from public.members limit 1", true],
  ["sql", "() returns uuid set search_path = public", "select owner from members limit 1", true],
  ["sql", "() returns uuid set search_path = ''", "select owner from public.members limit 1", true],
  ["sql", "() returns int", "select own.helper(1)", true],
  ["sql", "() returns text", "select current_setting('request.jwt.claims', true)::json ->> 'sub'", true],
  [
    "sql",
    "() returns bool",
    "select exists (select from public.members m where m.owner = auth.uid() and m.title like 'a%')",
    true
  ],
  ["sql", "() returns text", "select m.title from public.members m", true],
  ["sql", "(a public.size) returns bool", "select a = 's'", true],
  ["sql", "() returns int", "select count(*)::int from (values (1), (2)) v(x) where x between 1 and 2", true],
  ["sql", "() returns int", "with m as (select id from public.members) select id from m", true],
  ["sql", "() returns int set search_path = own", "select helper(1) from public.members where id @@@ 1", true],
  ["plpgsql", "() returns uuid", "begin return current_setting('request.jwt.claims', true)::json ->> 'sub'; end", true],
  [
    "plpgsql",
    "(a int) returns int",
    "declare x int := a; begin if x > 1 then x = own.helper(x); end if; return x; end",
    true
  ],
  [
    "plpgsql",
    "() returns text",
    "declare r record; begin select * into r from public.members; return r.title; end",
    true
  ],
  ["plpgsql", "() returns setof members", "begin return query select * from public.members; end", true],
  [
    "plpgsql",
    "(a int) returns int",
    "begin if a is null then raise exception 'none' using errcode = 'PT404'; end if; return a; end",
    true
  ],
  [
    "plpgsql",
    "() returns bool security definer set search_path = ''",
    "begin return exists (select 1 from public.members); end",
    true
  ],
  ["plpgsql", "() returns void", "declare x public.size = 's'; begin perform x; end", true],
  [
    "plpgsql",
    "(a int, out x int, inout y text, variadic \"the List\" int[] default '{}')",
    "begin x = a + \"the List\"[1]; y = y || '\\'; end",
    true
  ],
  ["plpgsql", "() returns table (x int, y text)", "begin x = 1; y = 'a'; return next; end", true],
  // What depends on the search path, which is that of the first schema.
  ["sql", "() returns uuid", "select owner from members limit 1", true],
  ["sql", "() returns int", "select helper(1)", true],
  ["sql", "() returns text", "select lower('A')", true],
  ["sql", "() returns bool", "select 1 #-# 1", true],
  ["sql", "() returns bool", "select 's'::size = 's'", true],
  ["sql", "() returns bool", "select size('s') = 's'", true],
  ["plpgsql", "() returns void", "declare x size; begin x = 's'; end", true],
  // What runs user code, or may.
  ["sql", "() returns text", "select m.mood from public.members m", false],
  ["sql", "() returns bool", "select public.spy()", false],
  ["sql", "() returns bool set search_path = public", "select spy()", false],
  ["sql", "() returns bool set search_path = public", "select x from spy() x", false],
  ["sql", "() returns bool", "select m.computed from public.members m", false],
  ["sql", "() returns bool", "select (m).computed from public.members m", false],
  ["sql", "() returns bool set search_path = own", "select 1 ### 2", false],
  ["sql", "() returns bool", "select 1 operator(own.###) 2", false],
  ["sql", "() returns bool set search_path = own", "select int4range(1, 2) -|- int4range(2, 3)", false],
  ["sql", "() returns int", "select 1::public.checked", false],
  ["sql", "() returns int set search_path = public", "select checked(1)", false],
  // A name behind a dot may be a cast as well.
  ["sql", "(a int) returns int set search_path = public", "select (a).checked", false],
  ["sql", "() returns int set search_path = public", "select (m.id).checked from public.members m", false],
  ["plpgsql", "(a int) returns int set search_path = public", "begin return (a).checked; end", false],
  ["sql", "() returns int", "select (row(1, 2)::public.pair).b", false],
  ["sql", "() returns int", "select id from public.hidden", false],
  ["sql", "() returns bool", "select v from public.spying", false],
  ["sql", "() returns int", "select id from public.both_tables where id > 0", false],
  ["sql", "() returns setof int", "select id from public.members union all select id from public.checked_view", false],
  ["sql", "() returns int", "select id from public.parted", false],
  ["sql", "() returns setof hidden", "select * from public.hidden", false],
  ["sql", "() returns int", "select own.collected(id) from public.members", false],
  ["sql", "() returns checked", "select 1", false],
  ["sql", "(a checked) returns int", "select 1", false],
  ["sql", "() returns pair", "select 1, 2", false],
  ["sql", "() returns table (x checked)", "select 1", false],
  ["sql", "(a bool default spy()) returns bool", "select a", false],
  ["sql", "(a anyelement) returns anyelement", "select a", false],
  ["sql", "() returns record", "select 1, 2", false],
  ["plpgsql", "() returns int", "declare x public.checked = 1; begin return x; end", false],
  ["plpgsql", "() returns int", "declare x public.pair; begin return 1; end", false],
  ["plpgsql", "() returns bool", "begin return public.spy(); end", false],
  // What writes, by a call from outside.
  ["sql", "() returns void", "insert into public.items values (1)", true],
  [
    "sql",
    "() returns setof int",
    "insert into items (id) select id from members on conflict do nothing returning id",
    true
  ],
  [
    "plpgsql",
    "(a int) returns int",
    "declare x int; begin insert into public.items values (a) returning id into x; return x; end",
    true
  ],
  [
    "plpgsql",
    "(a int) returns void",
    "begin update public.items set list = null where id = a; delete from items where id = a; end",
    true
  ],
  ["sql", "() returns bigint", "with gone as (delete from public.items returning id) select count(*) from gone", true],
  [
    "sql",
    "() returns void",
    "insert into public.items values (1) on conflict (id) do update set list = excluded.list",
    true
  ],
  ["sql", "() returns bigint", "select nextval('public.numbers')", true],
  ["sql", "() returns void stable", "insert into public.items values (1)", false],
  ["sql", "() returns void", "insert into public.spied values (default)", false],
  ["sql", "() returns void", "insert into public.triggered values (1)", false],
  ["sql", "() returns void", "insert into public.hidden values (1)", false],
  ["sql", "() returns void", "insert into public.items values (length(public.spy()::text))", false],
  ["sql", "() returns void", "insert into public.spying default values", false],
  ["sql", "() returns void", "insert into public.checked_table values (1)", false],
  ["sql", "() returns void", "insert into public.parted values (1)", false],
  // A table of the same name in another schema has user code.
  ["sql", "() returns void", "insert into public.lists (title) values ('a')", false],
  ["sql", "() returns void", "delete from lists", false],
  ["sql", "() returns void", "with gone as (delete from public.triggered returning id) select", false],
  ["sql", "() returns void", "select public.writes_items()", false],
  ["plpgsql", "() returns void", "begin lock table public.items; end", false],
  ["plpgsql", "() returns void", "begin truncate public.items; end", false],
  ["plpgsql", "() returns void", "begin create table public.made (); end", false],
  ["plpgsql", "() returns void", "begin perform 1 from public.items for update; end", false],
  // What changes the session or the server, or may.
  ["sql", "() returns text", "select set_config('a.b', 'c', false)", false],
  ["sql", "() returns text", "select current_setting('request.headers')", false],
  ["sql", "() returns void", "select pg_advisory_lock(1)", false],
  ["sql", "() returns bool", "select pg_cancel_backend(1)", false],
  ["sql", "() returns text", "select query_to_xml('select spy()', true, true, '')::text", false],
  ["sql", "() returns text", "select 'members'::regclass::text", false],
  ["sql", "() returns text", "select current_schema()::text", false],
  ["sql", "() returns text", "select rolname from pg_catalog.pg_roles", false],
  ["sql", "() returns text", "select table_name from information_schema.tables", false],
  ["sql", "() returns int set work_mem = '1MB'", "select 1", false],
  ["sql", "() returns int set search_path = public set work_mem = '1MB'", "select 1", false],
  ["plpgsql", "() returns int", "begin execute 'select 1'; return 1; end", false],
  ["plpgsql", "() returns void", "begin perform pg_notify('a', 'b'); end", false]
]

const suite = layer(
  layerDatabase({
    name: "bodies",
    before: [
      before,
      ...cases.map(
        ([language, head, body], n) => `create function f${n}${head} language ${language} as $body$${body}$body$;`
      ),
      "reset check_function_bodies;",
      "create table judged (id int, owner text); alter table judged enable row level security;",
      "create function current_owner() returns text language plpgsql stable as $$ begin return current_setting('request.jwt.sub', true); end $$;",
      "create policy own on judged using (owner = current_owner());"
    ].join("\n")
  }),
  live
)

const isClean = (name: string) =>
  Effect.map(catalogue, (now) => now.functions("public", name).map(({ clean }) => clean))

suite("a function whose body is text", (it) => {
  describe.each([true, false])("is clean: %s", (expected) => {
    const chosen = cases.flatMap(([language, head, body, clean], n) =>
      clean === expected ? [{ n, language, head, body }] : []
    )
    it.effect.each(chosen)("$language $head $body", ({ n }) =>
      Effect.map(isClean(`f${n}`), (found) => assert.deepStrictEqual(found, [expected]))
    )
  })

  it.effect("decides for the policies that call it", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const isRead = Effect.map(catalogue, (now) => now.relation("public", "judged")?.clean_read)
      assert.isTrue(yield* isRead)
      const body = (text: string) =>
        Effect.andThen(
          sql(
            `create or replace function current_owner() returns text language plpgsql stable as $$ begin ${text} end $$`
          ),
          changed
        )
      yield* body("perform set_config('a.b', 'c', false); return 'x';")
      assert.isFalse(yield* isRead)
      yield* body("return current_setting('request.jwt.sub', true);")
      assert.isTrue(yield* isRead)
    })
  )

  it.effect("is not clean once a name in it may mean something else", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const isSumClean = isClean("summed")
      yield* sql("create function summed() returns bigint language sql as 'select sum(id + 1) from public.members'")
      yield* changed
      assert.deepStrictEqual(yield* isSumClean, [true])
      yield* sql("create function spy_text(int, text) returns int language plpgsql as 'begin return 1; end'")
      yield* sql("create function int_text(int, text) returns int language sql return 1")
      yield* sql("create function spy_row(members) returns int language plpgsql as 'begin return 1; end'")
      for (const [make, unmake] of [
        [
          "create operator own.+ (leftarg = int, rightarg = text, function = spy_text)",
          "drop operator own.+ (int, text)"
        ],
        [
          "create operator own.+ (leftarg = int, rightarg = text, function = int_text)",
          "drop operator own.+ (int, text)"
        ],
        ["create cast (members as int) with function spy_row (members) as implicit", "drop cast (members as int)"]
      ] as const) {
        yield* sql(make)
        yield* changed
        assert.deepStrictEqual(yield* isSumClean, [false])
        yield* sql(unmake)
        yield* changed
        assert.deepStrictEqual(yield* isSumClean, [true])
      }
    })
  )
})
