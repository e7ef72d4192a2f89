import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { recordUnreportedSql } from "../../../src/domain/catalogue/FingerprintSql.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"

/** Whether the fingerprint had changed. */
const unreported = Effect.gen(function* () {
  const { sql } = yield* Outside
  const before = yield* sql("select sum(n)::int as n from svc_ddl.changes")
  const recorded = (yield* sql(recordUnreportedSql))[0]?.["recorded"] === true
  const after = yield* sql("select sum(n)::int as n from svc_ddl.changes")
  assert.strictEqual(Number(after[0]?.["n"]) > Number(before[0]?.["n"]), recorded)
  return recorded
})

/** What all databases of the server share: tests of other databases change it meanwhile. */
const shared = Effect.gen(function* () {
  const { sql } = yield* Outside
  const sum = (name: string) => `select concat(count(*), ':', sum(xmin::text::bigint)) from ${name}`
  return (yield* sql(`select (${sum("pg_auth_members")}) || ' ' || (${sum("pg_db_role_setting")}) as stamp`))[0]?.[
    "stamp"
  ]
})

/** Each changes what statements do, in a session without event triggers. */
const changes = `
create table t (id int primary key, v text default 'a', w int)
alter table t enable row level security
create policy p on t using (true)
alter policy p on t using (id > 0)
alter table t rename v to u
alter table t alter u set default 'b'
alter table t add constraint positive check (id > 0)
grant truncate on t to anon
alter table t owner to anon
reassign owned by anon to postgres
create function f() returns int language sql as 'select 1'
create or replace function f() returns int language sql as 'select 2'
create function tell() returns trigger language plpgsql as 'begin return new; end'
create trigger tr before insert on t for each row execute function tell()
alter table t disable trigger tr
create rule r as on insert to t do also select 1
drop rule r on t
create view v as select 1 as one
create or replace view v as select 2 as one
create index i on t ((f2(id)))
create type e as enum ('a')
alter type e add value 'b'
create domain d as int
alter domain d add check (value > 0)
create cast (d as text) with inout as assignment
create operator @#@ (rightarg = int, function = f3)
drop operator @#@ (none, int)
create schema s
alter schema s rename to s2
alter event trigger svc_ddl disable
alter event trigger svc_ddl enable always
update pg_proc set provolatile = 's' where proname = 'f'
update pg_policy set polpermissive = false
update pg_class set relforcerowsecurity = true where relname = 't'
update pg_operator set oprcode = 'int4pl'::regproc where oid = '+(int,int)'::regoperator
create function pg_catalog.evil() returns int language sql stable as 'select 1'
drop function pg_catalog.evil()
alter database @database set event_triggers = off
alter database @database reset event_triggers`

const noChanges = `
create temp table passing (id serial primary key, v text default 'x' check (v <> '')); drop table passing
create temp table staying (id int)
create function pg_temp.f() returns int language sql as 'select 1'
insert into t values (1)
truncate t
truncate t
refresh materialized view m
vacuum full t
cluster t using t_pkey
reindex table t
analyze t
vacuum freeze t`

layer(layerDatabase({ name: "unreported" }), live)("a change that no event trigger reports", (it) => {
  it.effect("is recorded when the catalogue is compared, and what changes no definition is not", () =>
    Effect.gen(function* () {
      const { login } = yield* Outside
      const run = yield* session
      yield* run("create function f2(int) returns int language sql immutable as 'select 1'")
      yield* run("create function f3(int) returns int language sql immutable as 'select 1'")
      yield* run("create materialized view m as select 1 as one")
      yield* run("set event_triggers = off; set allow_system_table_mods = on")
      yield* unreported
      assert.isFalse(yield* unreported)
      const missed: Array<string> = []
      for (const line of changes.trim().split("\n")) {
        yield* run(line.replace("@database", login.database))
        if (!(yield* unreported)) missed.push(line)
      }
      const wrong: Array<string> = []
      for (const line of noChanges.trim().split("\n")) {
        const before = yield* shared
        yield* unreported
        yield* run(line)
        if ((yield* unreported) && before === (yield* shared)) wrong.push(line)
      }
      assert.deepStrictEqual({ missed, wrong }, { missed: [], wrong: [] })
    })
  )

  it.effect("is recorded once by replicas that compare at the same time", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const runs = yield* Effect.all(Array.from({ length: 4 }, () => session))
      yield* unreported
      for (let i = 0; i < 10; i++) {
        const before = yield* shared
        yield* unreported
        yield* sql(`set event_triggers = off; create table once_${i} ()`)
        const found = yield* Effect.forEach(runs, (run) => run(recordUnreportedSql), { concurrency: "unbounded" })
        const recorded = found.filter(([row]) => row?.["recorded"] === true).length
        if (before === (yield* shared)) assert.strictEqual(recorded, 1)
      }
    })
  )

  it.effect("makes the catalogue known again, and unwatched while a trigger is disabled", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { main } = yield* Db
      const { get } = yield* Catalogues
      yield* sql("reset event_triggers; create table seen (id int)")
      yield* sql(recordUnreportedSql)
      const current = get(main)
      yield* eventually(current, (now) => now.watched && now.relation("public", "seen") !== undefined)
      yield* sql("set event_triggers = off; alter table seen add later int; reset event_triggers")
      yield* sql(recordUnreportedSql)
      yield* eventually(current, (now) => JSON.stringify(now.relation("public", "seen")).includes("later"))
      yield* sql("alter event trigger svc_ddl_drop disable")
      yield* sql(recordUnreportedSql)
      yield* eventually(current, (now) => !now.watched)
    })
  )
})
