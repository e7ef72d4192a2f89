import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schedule, Stream } from "effect"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { Listener } from "../../../src/services/ports/Listener.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"
import { anon, rpc } from "../../support/requests.ts"

const epochSql = "select coalesce(sum(n), 0)::int as n, count(*)::int as rows from svc_ddl.changes"

const state = Effect.gen(function* () {
  const { sql } = yield* Outside
  const [row] = yield* sql(epochSql)
  return row as { readonly n: number; readonly rows: number }
})
const epoch = Effect.map(state, ({ n }) => n)

/** Statements in order; each must be recorded. */
const recorded = `
create schema kinds
create role kinds_role -- not of the database
grant create on schema kinds to anon
revoke create on schema kinds from anon
create table kinds.t (id int primary key, v text default 'a')
create table kinds.child (id int references kinds.t)
alter table kinds.t add w int
alter table kinds.t rename w to x
alter table kinds.t rename to u
alter table kinds.u set schema public
alter table public.u set schema kinds
alter table kinds.u rename to t
alter table kinds.t alter v set default 'b'
alter table kinds.t alter x type bigint
alter table kinds.t add constraint positive check (x > 0)
alter table kinds.t rename constraint positive to more
alter table kinds.t drop constraint more
alter table kinds.t enable row level security
alter table kinds.t force row level security
create policy p on kinds.t using (true)
alter policy p on kinds.t using (false)
alter policy p on kinds.t rename to q
drop policy q on kinds.t
create function kinds.f() returns int language sql as 'select 1'
create or replace function kinds.f() returns int language sql as 'select 2'
alter function kinds.f() stable
alter function kinds.f() rename to g
grant execute on function kinds.g() to anon
create function kinds.told() returns trigger language plpgsql as 'begin return new; end'
create trigger tr before insert on kinds.t for each row execute function kinds.told()
alter trigger tr on kinds.t rename to ts
alter table kinds.t disable trigger ts
drop trigger ts on kinds.t
create rule r as on insert to kinds.child do also select 1
alter table kinds.child disable rule r
drop rule r on kinds.child
create view kinds.v as select id from kinds.t
create or replace view kinds.v as select id from kinds.t where id > 1
alter view kinds.v set (security_invoker = true)
alter view kinds.v alter id set default 1
drop view kinds.v
create materialized view kinds.m as select 1 as one
drop materialized view kinds.m
create table kinds.whole (id int) partition by range (id)
create table kinds.part (id int)
alter table kinds.whole attach partition kinds.part for values from (1) to (2)
alter table kinds.whole detach partition kinds.part
alter table kinds.part inherit kinds.child
create type kinds.e as enum ('a')
alter type kinds.e add value 'b'
alter type kinds.e rename value 'b' to 'c'
alter type kinds.e rename to e2
create type kinds.c as (a int)
alter type kinds.c add attribute b int
create domain kinds.d as int
alter domain kinds.d add constraint positive check (value > 0)
alter domain kinds.d drop constraint positive
create cast (kinds.c as kinds.e2) with inout
drop cast (kinds.c as kinds.e2)
create function kinds.lt(kinds.c, kinds.c) returns boolean language sql as 'select true'
create function kinds.cmp(kinds.c, kinds.c) returns int language sql immutable as 'select 0'
create operator kinds.<< (leftarg = kinds.c, rightarg = kinds.c, function = kinds.lt)
alter operator kinds.<< (kinds.c, kinds.c) set (restrict = scalarltsel)
create operator family kinds.fam using btree
alter operator family kinds.fam using btree add function 1 (kinds.c, kinds.c) kinds.cmp(kinds.c, kinds.c)
alter operator family kinds.fam using btree drop function 1 (kinds.c, kinds.c)
create operator class kinds.cls for type kinds.c using btree family kinds.fam as operator 1 kinds.<<
alter operator class kinds.cls using btree rename to cls2
drop operator class kinds.cls2 using btree
drop operator family kinds.fam using btree
drop operator kinds.<< (kinds.c, kinds.c)
drop type kinds.e2
create aggregate kinds.agg (int) (sfunc = int4pl, stype = int)
drop aggregate kinds.agg (int)
create procedure kinds.pr() language sql as 'select 1'
drop procedure kinds.pr()
create collation kinds.co from "C"
drop collation kinds.co
create conversion kinds.cv for 'UTF8' to 'LATIN1' from utf8_to_iso8859_1
drop conversion kinds.cv
create text search configuration kinds.ts (copy = simple)
drop text search configuration kinds.ts
create statistics kinds.st on id, x from kinds.t
drop statistics kinds.st
create sequence kinds.s
alter sequence kinds.s owned by kinds.t.id
drop sequence kinds.s
create index i on kinds.t (x)
create index concurrently j on kinds.t (v)
alter index kinds.i rename to k
drop index concurrently kinds.j
drop index kinds.k
alter default privileges in schema kinds grant select on tables to anon
comment on table kinds.t is 'told'
select 1 as one into kinds.made
create table kinds.made2 as select 1 as one
create extension pg_trgm
alter extension pg_trgm set schema kinds
alter extension pg_trgm drop function kinds.show_limit()
drop extension pg_trgm cascade
create extension postgres_fdw
create server here foreign data wrapper postgres_fdw options (host '127.0.0.1', port '@port', dbname '@database')
create user mapping for public server here options (user '@user', password '@password')
create schema imported
import foreign schema kinds limit to (made) from server here into imported
drop foreign table imported.made
drop extension postgres_fdw cascade
create publication pub for table kinds.t
drop publication pub
alter table kinds.t owner to kinds_role
alter table kinds.t owner to postgres
grant select on kinds.t to kinds_role
drop owned by kinds_role
do $$ begin execute 'alter table kinds.t add y int'; end $$
create temp table passing (id int); create table kinds.lasting (id int)
create table kinds.of_temp (); create temp table passing2 (id kinds.c)
create function kinds.takes(passing) returns int language sql as 'select 1'
drop table passing cascade
drop table kinds.made, kinds.made2
drop schema kinds cascade`

/** Statements that change no definition that outlives the session. */
const unrecorded = `
create temp table a (id serial primary key, v text default 'x' check (v <> ''))
create temp table if not exists a (id int)
create table if not exists kept (id int)
create temp table b as select 1 as id
create index on a (v)
create index if not exists a_v_idx on a (v)
create temp view c as select * from a
create temp sequence d
create function pg_temp.told() returns trigger language plpgsql as 'begin return new; end'
create trigger tr before insert on a for each row execute function pg_temp.told()
create policy p on a using (true)
create rule r as on insert to b do also select 1
alter table a enable row level security
alter table a add w int default 5
alter table a rename w to y
alter table a drop y
comment on table a is 'x'
alter policy p on a using (false)
drop policy p on a
drop trigger tr on a
drop rule r on b
select 1 as one into temp e
drop index a_v_idx
drop view c
drop sequence d
truncate a
drop table a, b, e
drop function pg_temp.told()
drop table if exists nothing
create temp table f (id int) on commit drop
refresh materialized view kept_view
reindex table kept
begin read only; reindex table kept; commit
begin; create table undone (); rollback
begin; savepoint s; create table undone (); rollback to s; commit
vacuum kept
analyze kept
insert into kept values (1)
truncate kept
discard all`

const lines = (text: string) => text.trim().split("\n")

layer(layerDatabase({ name: "ddl" }), live)("DDL", (it) => {
  it.effect("of every kind is recorded", () =>
    Effect.gen(function* () {
      const { login } = yield* Outside
      const run = yield* session
      yield* Effect.addFinalizer(() => run("drop owned by kinds_role; drop role kinds_role"))
      const given: Record<string, unknown> = { ...login.at, ...login, password: Redacted.value(login.password) }
      const missed: Array<string> = []
      for (const line of lines(recorded)) {
        const before = yield* epoch
        yield* run(line.replaceAll(/@(\w+)/g, (_, name: string) => String(given[name])))
        if ((yield* epoch) <= before && !line.startsWith("create role")) missed.push(line)
        assert.isBelow((yield* state).rows, 20)
      }
      assert.deepStrictEqual(missed, [])
    })
  )

  it.effect("of temporary objects, and what changes no definition, is neither recorded nor notified", () =>
    Effect.gen(function* () {
      const run = yield* session
      yield* run("create table kept (id int); create materialized view kept_view as select 1 as one")
      const { messages } = yield* (yield* Listener).listen("svc_ddl")
      const received: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(messages, (message) =>
          Effect.sync(() => void (message._tag === "Notification" && received.push(message.payload)))
        )
      )
      const notified = Effect.gen(function* () {
        yield* run("comment on table kept is 'notified'")
        yield* Effect.repeat(
          Effect.sync(() => received.at(-1)),
          { until: (last) => last === "COMMENT", schedule: Schedule.spaced("10 millis"), times: 200 }
        )
        return received.splice(0)
      })
      yield* notified
      const counted: Array<string> = []
      for (const line of lines(unrecorded)) {
        const before = yield* epoch
        yield* run(line)
        if ((yield* epoch) !== before) counted.push(line)
      }
      assert.deepStrictEqual(counted, [])
      assert.deepStrictEqual(yield* notified, ["COMMENT"])
    })
  )

  it.effect("in one transaction is one row, also in savepoints", () =>
    Effect.gen(function* () {
      const run = yield* session
      for (const level of ["read committed", "repeatable read"]) {
        const before = yield* epoch
        yield* run(
          `begin isolation level ${level}; create table one (); savepoint s; alter table one add a int; release s`
        )
        yield* run("savepoint s; drop table one; rollback to s; alter table one add b int; commit; drop table one")
        assert.strictEqual(yield* epoch, before + 2, level)
      }
      const before = yield* epoch
      yield* run(`do $$ begin
        for i in 1..500 loop begin execute 'create table many_' || i || ' ()'; exception when others then raise; end; end loop;
      end $$`)
      assert.strictEqual(yield* epoch, before + 1)
      // Undone in a savepoint, and then done again.
      yield* run("begin; savepoint s; create table later (); rollback to s; create table later (); commit")
      assert.strictEqual(yield* epoch, before + 2)
    })
  )

  it.effect("of concurrent transactions neither waits nor fails, at any isolation level", () =>
    Effect.gen(function* () {
      const levels = ["read committed", "repeatable read", "serializable", "serializable"]
      const runs = yield* Effect.all(Array.from({ length: 8 }, () => session))
      let committed = yield* epoch
      for (let round = 0; round < 12; round++) {
        yield* Effect.forEach(runs, (run, i) =>
          run(`begin isolation level ${levels[i % 4]}; set local lock_timeout = 300; select 1`)
        )
        yield* Effect.forEach(runs, (run, i) =>
          run(`create table together_${round}_${i} (id int); alter table together_${round}_${i} add v int`)
        )
        const committing = yield* Effect.forEach(runs, (run, i) =>
          Effect.forkChild(run(i === round % 8 ? "rollback" : "commit"))
        )
        for (const fiber of committing) yield* Fiber.join(fiber)
        const now = yield* epoch
        assert.isAtLeast(now, committed + 7)
        committed = now
      }
      // A transaction that compacts and stays open makes no other wait.
      const [first, second] = runs as [(typeof runs)[0] & object, (typeof runs)[0] & object]
      yield* first("begin; create table compacting ()")
      for (let i = 0; i < 40; i++) yield* second(`set lock_timeout = 300; create table beside_${i} ()`)
      yield* first("rollback")
      assert.isAtLeast(yield* epoch, committed + 40)
      yield* second("create table last ()")
      const { rows } = yield* state
      assert.isBelow(rows, 20)
    })
  )

  it.effect("never lowers the sum that others see", () =>
    Effect.gen(function* () {
      const writers = yield* Effect.all(Array.from({ length: 4 }, () => session))
      const reader = yield* session
      let last = 0
      let reads = 0
      const reading = yield* Effect.forkChild(
        Effect.forever(
          Effect.map(reader(epochSql), ([row]) => {
            const n = Number(row?.["n"])
            assert.isAtLeast(n, last)
            last = n
            reads++
          })
        )
      )
      const before = yield* epoch
      yield* Effect.forEach(
        writers,
        (run, w) =>
          Effect.forEach(
            Array.from({ length: 60 }, (_, i) => i),
            (i) => run(`create table falls_${w}_${i} ()`)
          ),
        { concurrency: "unbounded" }
      )
      yield* Fiber.interrupt(reading)
      assert.isAtLeast(yield* epoch, before + 240)
      assert.isAtLeast(reads, 20)
    })
  )

  it.effect("by an anonymous caller's function is recorded unless it is temporary", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(`create function passing() returns int language plpgsql as $$ begin
          create temp table if not exists told (id serial, v text default 'x');
          insert into told default values;
          drop table told;
          return 1;
        end $$;
        create function lasting() returns int language plpgsql as $$ begin create table made_by_anon (); return 1; end $$;
        grant create on schema public to anon`)
      const before = yield* epoch
      assert.strictEqual(yield* rpc("passing", {}, { actor: anon }), 1)
      assert.strictEqual(yield* epoch, before)
      assert.strictEqual(yield* rpc("lasting", {}, { actor: anon }), 1)
      assert.strictEqual(yield* epoch, before + 1)
    })
  )

  it.effect("is recorded in a place that no other role can write or call", () =>
    Effect.gen(function* () {
      const run = yield* session
      yield* run("create role ddl_nobody; set role ddl_nobody")
      yield* Effect.addFinalizer(() => run("reset role; drop role ddl_nobody"))
      for (const text of [
        "insert into svc_ddl.changes values (1)",
        "update svc_ddl.changes set n = 0",
        "delete from svc_ddl.changes",
        "truncate svc_ddl.changes",
        "select from svc_ddl.changes for update",
        "do $$ begin lock table svc_ddl.changes in row exclusive mode; end $$",
        "create table svc_ddl.mine ()",
        "select svc_ddl.record()"
      ]) {
        const failure = yield* Effect.flip(Effect.catchDefect(run(text), Effect.fail))
        assert.match(String(failure), /permission denied|must be owner/, text)
      }
      assert.deepStrictEqual(yield* run(epochSql), [yield* state])
    })
  )

  it.effect("is no longer watched once an event trigger is disabled", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const catalogues = yield* Catalogues
      const { main } = yield* Db
      const watched = Effect.andThen(
        catalogues.changed(main),
        Effect.map(catalogues.get(main), (catalogue) => catalogue.watched)
      )
      assert.isTrue(yield* watched)
      for (const trigger of ["svc_ddl", "svc_ddl_drop"]) {
        for (const how of ["disable", "enable", "enable replica"]) {
          yield* sql(`alter event trigger ${trigger} ${how}`)
          assert.isFalse(yield* watched)
        }
        yield* sql(`alter event trigger ${trigger} enable always`)
        assert.isTrue(yield* watched)
      }
    })
  )

  it.effect("makes requests wait for the new catalogue only if what they name has changed", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const catalogues = yield* Catalogues
      const { main } = yield* Db
      yield* sql("create domain waits_domain as text")
      yield* sql("create table waits (id int primary key, kind waits_domain)")
      yield* sql("create view waits_view as select id from waits")
      yield* Effect.addFinalizer(() =>
        sql("drop table waits cascade; drop table if exists waits_other; drop domain waits_domain cascade")
      )
      /** The columns of a relation after DDL through the service, and whether it comes from the catalogue before. */
      const after = (ddl: string, name: string, alone: boolean) =>
        Effect.gen(function* () {
          yield* catalogues.changed(main)
          yield* catalogues.get(main)
          yield* sql(ddl)
          yield* catalogues.changed(main)
          const found = yield* catalogues.find(
            main,
            "public",
            name,
            (all) => {
              const columns = all.relation("public", name)?.columns.map((column) => column.name)
              return columns && { columns: columns.join(), former: catalogues.epoch(main, all) === undefined }
            },
            { alone: () => alone }
          )
          return found && `${found.columns} ${found.former ? "before" : "now"}`
        })
      assert.strictEqual(yield* after("create table waits_other (id int primary key)", "waits", true), "id,kind before")
      assert.strictEqual(yield* after("create index on waits_other (id)", "waits", true), "id,kind before")
      assert.strictEqual(
        yield* after("alter table waits_other add of int references waits", "waits", false),
        "id,kind now"
      )
      assert.strictEqual(yield* after("alter table waits_other add b int", "waits_other", true), "id,of,b now")
      assert.strictEqual(yield* after("alter table waits add c int", "waits_view", true), "id now")
      assert.strictEqual(yield* after("create table waits_third (id int)", "waits_third", true), "id now")
      assert.strictEqual(yield* after("drop table waits_third", "waits_third", true), undefined)
      const cast = `create function waits_json(waits_domain) returns json language sql immutable return to_json('x'::text);
        create cast (waits_domain as json) with function waits_json(waits_domain) as implicit`
      assert.strictEqual(yield* after(cast, "waits", true), "id,kind,c now")
    })
  )
})
