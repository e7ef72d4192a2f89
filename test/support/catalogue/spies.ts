/**
 * User code whose execution is seen: it advances the sequence `spy.ran`, which a rollback does not undo, by EXECUTE, so that
 * reading its body does not prove it clean. Everything else here leads to it in one of the ways in which PostgreSQL finds code by a name, a type or an operator.
 */

const types = ["int", "text", "bool", "jsonb"]

/** It runs, and returns its argument. Declared immutable, so that indexes accept it and the planner evaluates it. */
const pass = types
  .map(
    (type) => `
  create function spy.pass(a ${type}) returns ${type} language plpgsql immutable as
    $$ begin execute 'select nextval(''spy.ran'')'; return a; end $$;
  create function spy.through(a ${type}) returns ${type} immutable return spy.pass(a);
  create function spy.deep(a ${type}) returns ${type} immutable return spy.through(spy.through(a));
  create function spy.both(a ${type}, b ${type}) returns ${type} language plpgsql immutable as
    $$ begin execute 'select nextval(''spy.ran'')'; return b; end $$;
  create operator spy.||| (leftarg = ${type}, rightarg = ${type}, function = spy.both);
  create operator spy.!!! (rightarg = ${type}, function = spy.pass);
  create aggregate spy.last(${type}) (sfunc = spy.both, stype = ${type});
  create function spy.omitted(a ${type} default null, b ${type} default spy.pass(null::${type})) returns ${type} immutable
    return coalesce(a, b);
  create function spy.many(a ${type}) returns setof ${type} immutable begin atomic select spy.pass(a) union all select a; end;
  create function plain.through(a ${type}) returns ${type} immutable return a;
  create function plain.given(a ${type}, b ${type} default null) returns ${type} immutable
    begin atomic select coalesce(x, b) from (values (a)) v (x); end;`
  )
  .join("\n")

/** A composite type with an order of its own, by which arrays, ranges, records and grouping compare it. */
const tiny = `
  create type spy.tiny as (i int);
  create function spy.tiny_order(a spy.tiny, b spy.tiny) returns int language plpgsql immutable as
    $$ begin execute 'select nextval(''spy.ran'')'; return pg_catalog.btint4cmp(a.i, b.i); end $$;
  create function spy.tiny_hash(a spy.tiny) returns int language plpgsql immutable as
    $$ begin execute 'select nextval(''spy.ran'')'; return a.i; end $$;
  ${(
    [
      ["<", "lt"],
      ["<=", "le"],
      ["=", "eq"],
      [">=", "ge"],
      [">", "gt"]
    ] as const
  )
    .map(
      ([sign, name]) => `
  create function spy.tiny_${name}(a spy.tiny, b spy.tiny) returns bool language plpgsql immutable as
    $$ begin return spy.tiny_order(a, b) ${sign} 0; end $$;
  create operator spy.#${sign} (leftarg = spy.tiny, rightarg = spy.tiny, function = spy.tiny_${name}
    ${name === "eq" ? ", hashes, merges" : ""});`
    )
    .join("\n")}
  create operator class spy.tiny_btree default for type spy.tiny using btree as operator 1 spy.#<, operator 2 spy.#<=,
    operator 3 spy.#=, operator 4 spy.#>=, operator 5 spy.#>, function 1 spy.tiny_order (spy.tiny, spy.tiny);
  create operator class spy.tiny_hash default for type spy.tiny using hash as operator 1 spy.#=, function 1 spy.tiny_hash (spy.tiny);
  create type spy.span as range (subtype = spy.tiny);
  create function spy.tiny_int(a spy.tiny) returns int language plpgsql immutable as $$ begin return spy.pass(a.i); end $$;
  create cast (spy.tiny as int) with function spy.tiny_int (spy.tiny);`

export const spiesSql = `
  do $$ begin create role spied_owner nologin; exception when duplicate_object then null; end $$;
  create schema spy;
  create schema plain;
  create sequence spy.ran;
  grant usage on schema spy, plain to public;
  grant usage on sequence spy.ran to public;
  ${pass}
  ${tiny}
  create domain spy.odd_int as int check (spy.pass(value) is not null or value is null);
  create domain spy.odd_text as text check (spy.pass(value) is not null or value is null);
  create domain spy.odd_json as jsonb check (spy.pass(value) is not null or value is null);
  create domain spy.odder_int as spy.odd_int;
  create domain spy.odd_list as int[] check (spy.pass(cardinality(value)) is not null or value is null);
  create type spy.pair as (i spy.odd_int, t text);
  create type spy.nested as (p spy.pair, i int);
  create type plain.mood as enum ('sad', 'glad');
  create type spy.mood as enum ('sad', 'glad');
  create function spy.mood_json(a spy.mood) returns json language plpgsql immutable as
    $$ begin execute 'select nextval(''spy.ran'')'; return '"mood"'::json; end $$;
  create cast (spy.mood as json) with function spy.mood_json (spy.mood);
  create function spy.mood_int(a spy.mood) returns int language plpgsql immutable as $$ begin return spy.pass(1); end $$;
  create cast (spy.mood as int) with function spy.mood_int (spy.mood) as assignment;

  create table spy.row_cast (i int, t text);
  insert into spy.row_cast values (1, 'a');
  create function spy.row_json(a spy.row_cast) returns json language plpgsql stable as
    $$ begin execute 'select nextval(''spy.ran'')'; return '{}'::json; end $$;
  create cast (spy.row_cast as json) with function spy.row_json (spy.row_cast);
  create function spy.computed(spy.row_cast) returns int language plpgsql stable as $$ begin return spy.pass(1); end $$;
  create view spy.seen as select spy.pass(1) as i, 'a' as t;
  create view spy.seen_again as select i + 1 as i from spy.seen;
  create table spy.guarded as select 1 as i, 'a' as t;
  alter table spy.guarded enable row level security;
  create policy p on spy.guarded using (spy.pass(i) > 0);
  create view spy.guarded_view with (security_invoker) as select * from spy.guarded;
  create table spy.listed (i int) partition by list (i);
  create table spy.listed_1 partition of spy.listed for values in (1);
  create table spy.moods (m spy.mood);
  insert into spy.moods values ('sad');
  create function spy.rows_of(a int) returns setof spy.guarded begin atomic select * from spy.guarded where i = a; end;
  create function spy.columns_of(a int) returns table (i spy.odd_int, t text) begin atomic select a, 'a'; end;
  create function spy.defining(a int) returns int security definer stable return spy.pass(a);
  create function spy.quoted(a int) returns int language sql immutable as 'select spy.pass($1)';
  create table plain.listed as select 1 as i, 'a' as t;
  create view plain.seen as select i, t from plain.listed;
  create table plain.owned as select 1 as i, 'ann' as owner;
  alter table plain.owned enable row level security;
  create policy p on plain.owned using (i > 0 or owner = current_setting('request.jwt.sub', true));
  grant all on all tables in schema spy, plain to public;`
