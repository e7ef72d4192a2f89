/**
 * Objects whose expressions call functions, or use operators, by names without a schema: `sql` creates them, after
 * `namedSetup`, with rows for which they are evaluated. `proof` returns what has to be the same in a restored database. Each
 * case has a schema of its own; what a body names must be in `public` or `extensions`, the path of the database.
 */
export interface NamedCase {
  readonly sql: ReadonlyArray<string>
  readonly proof: string
}

export const namedSetup: ReadonlyArray<string> = [
  "create schema extensions",
  "create extension hstore with schema extensions",
  "create extension citext with schema extensions",
  "create extension btree_gist with schema extensions",
  "create table factors (n int primary key)",
  "insert into factors values (3)",
  "create function norm(text) returns text language plpgsql immutable as $$ begin return lower($1); end $$",
  "create function slug(v text) returns text language plpgsql immutable strict as $$ begin return replace(norm(v), ' ', '-'); end $$",
  "create function inlined(v text) returns text language sql immutable as $$ select norm(v) || '!' $$",
  "create function factor() returns int language plpgsql stable as $$ begin return (select max(n) from factors); end $$",
  "create function touch() returns trigger language plpgsql as $$ begin new.t := norm(new.t); return new; end $$"
]

const rows = "select md5(string_agg(x::text, ',' order by x::text)) || count(*) as proof from"

export const namedCases: Readonly<Record<string, NamedCase>> = {
  "a generated column": {
    sql: [
      "create table a (id int primary key, t text, s text generated always as (slug(t)) stored)",
      "insert into a values (1, 'Hello World')"
    ],
    proof: `${rows} a x`
  },
  "a generated column by an inlined function": {
    sql: ["create table a (t text, s text generated always as (inlined(t)) stored)", "insert into a values ('Hello')"],
    proof: `${rows} a x`
  },
  "an index on an expression": {
    // PostgreSQL 17 empties the path while it builds an index, not while it adds to one.
    sql: ["create table a (t text)", "create unique index i on a (slug(t))", "insert into a values ('B A')"],
    proof: "select pg_get_indexdef('i'::regclass) || (select count(*) from a where slug(t) = 'b-a') as proof"
  },
  "a partial index": {
    sql: ["create table a (t text)", "create index i on a (t) where slug(t) = 'b-a'", "insert into a values ('B A')"],
    proof: "select pg_get_indexdef('i'::regclass) as proof"
  },
  "an index on an implied operator": {
    sql: [
      "create table a (h hstore, c citext)",
      "insert into a values ('a=>1', 'X')",
      "create index i on a ((nullif(h, 'a=>1'))) where c is distinct from 'x'"
    ],
    proof: "select pg_get_indexdef('i'::regclass) as proof"
  },
  "a check": {
    sql: ["create table a (t text check (slug(t) <> 'no'))", "insert into a values ('B A')"],
    proof: `${rows} a x`
  },
  "a check with an implied operator": {
    sql: [
      "create table a (c citext, d citext, check (c is distinct from d), check (case c when 'x' then d = 'Y' else true end))",
      "insert into a values ('X', 'y')"
    ],
    proof:
      "select string_agg(pg_get_constraintdef(oid), ' ' order by oid) as proof from pg_constraint where conrelid = 'a'::regclass"
  },
  "an exclusion constraint": {
    sql: [
      "create table a (t text, exclude using gist (slug(t) with =) where (norm(t) <> 'x'))",
      "insert into a values ('B A')"
    ],
    proof:
      "select string_agg(pg_get_constraintdef(oid), ' ') as proof from pg_constraint where conrelid = 'a'::regclass"
  },
  "a materialized view with rows": {
    sql: [
      "create table a (c citext, d citext)",
      "insert into a values ('x', 'X')",
      "create materialized view m as select nullif(c, d) as n, case c when 'X' then slug(d::text) end as s from a with no data",
      "create unique index on m ((nullif(n, 'y'::citext)))",
      "create function keep() returns void language plpgsql as $$ begin end $$"
    ],
    proof:
      "select pg_get_viewdef('m'::regclass) || (select relispopulated from pg_class where oid = 'm'::regclass) as proof"
  },
  "a filled materialized view": {
    sql: [
      "create table a (id int primary key, c citext, d citext)",
      "insert into a values (1, 'x', 'X')",
      "create materialized view m as select id, nullif(c, d) as n, case c when 'X' then 1 end as s from a group by id",
      "create unique index on m ((nullif(n, 'y'::citext)))"
    ],
    proof: `${rows} m x`
  },
  "a default": {
    sql: ["create table a (id int, n int default factor())", "insert into a values (1)"],
    proof: `with added as (insert into a values (2) returning n) select n::text as proof from added`
  },
  "a trigger": {
    sql: [
      "create table a (t text, h hstore)",
      "create trigger t before insert or update on a for each row execute function touch()",
      "create trigger u before update on a for each row when (old.h is distinct from new.h) execute function touch()",
      "insert into a values ('X', 'a=>1')"
    ],
    proof:
      "select string_agg(pg_get_triggerdef(oid), ' ' order by tgname) as proof from pg_trigger where tgrelid = 'a'::regclass"
  },
  "a policy": {
    sql: [
      "create table a (t text, c citext)",
      "alter table a enable row level security",
      "create policy p on a using (nullif(c, 'X') is distinct from 'y'::citext and factor() > 1) with check (slug(t) = t)"
    ],
    proof: "select qual || with_check as proof from pg_policies where tablename = 'a'"
  },
  "a rule": {
    sql: [
      "create table a (t text, h hstore)",
      "create table b (t text)",
      "create rule r as on update to a where old.h is distinct from new.h do also insert into b values (slug(new.t))"
    ],
    proof: "select pg_get_ruledef(oid) as proof from pg_rewrite where rulename = 'r'"
  },
  "a view": {
    sql: [
      "create table a (c citext, d citext)",
      "create table b (c citext, e int)",
      "insert into a values ('x', 'X')",
      "insert into b values ('X', 1)",
      "create view v as select a.d, nullif(c, d) as n, case c when 'X' then e end as e from a join b using (c)"
    ],
    proof: "select pg_get_viewdef('v'::regclass) || (select row_to_json(v) from v) as proof"
  },
  "a domain": {
    sql: [
      "create domain word as text default norm('X') check (slug(value) <> 'no')",
      "create table a (w word, ws word[])",
      "insert into a values ('Yes', '{a,b}')"
    ],
    proof: `${rows} a x`
  },
  "a composite type and an array of domains in a key": {
    sql: [
      "create domain word as citext check (nullif(value, 'no') is not null)",
      "create type pair as (a word, b hstore)",
      "create table a (p pair, w word primary key)",
      "insert into a values (row('x', 'a=>1'), 'Y')"
    ],
    proof: `${rows} a x`
  },
  "a partition key": {
    sql: [
      "create table a (t text) partition by list (slug(t))",
      "create table a1 partition of a for values in ('b-a')",
      "create table a2 partition of a default",
      "insert into a values ('B A'), ('c')",
      "create index on a (norm(t))"
    ],
    proof: "select pg_get_partkeydef('a'::regclass) || (select count(*) from a1) || (select count(*) from a2) as proof"
  },
  "extended statistics": {
    sql: ["create table a (t text, u text)", "create statistics s on (slug(t)), (norm(u)) from a"],
    proof: "select pg_get_statisticsobjdef(oid) as proof from pg_statistic_ext where stxname = 's'"
  },
  "bodies in standard SQL": {
    sql: [
      "create table a (c citext)",
      "create function f(c citext, d citext) returns boolean immutable return c is distinct from d",
      "create function g() returns bigint begin atomic select count(*) from a where slug(c::text) = case c when 'X' then 'x' end; end",
      "insert into a values ('x')"
    ],
    proof: "select (f('x', 'X'), g())::text as proof"
  },
  "a foreign key on a generated column": {
    sql: [
      "create table a (t text, s text generated always as (slug(t)) stored primary key)",
      "create table b (t text, s text generated always as (slug(t)) stored references a (s))",
      "insert into a values ('B A')",
      "insert into b values ('b a')"
    ],
    proof: `${rows} (select a.*, b.t as u from a join b using (s)) x`
  },
  "a cast in a check": {
    sql: [
      "create type public.boxed as (a text)",
      "create function box_it(text) returns boxed language plpgsql immutable as $$ begin return row(norm($1))::boxed; end $$",
      "create cast (text as boxed) with function box_it(text) as assignment",
      "create table a (t text check ((t::boxed).a <> 'blue'))",
      "insert into a values ('RED')"
    ],
    proof: `${rows} a x`
  }
}
