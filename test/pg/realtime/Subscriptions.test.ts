import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { describe } from "vitest"
import { Realtime } from "../../../src/services/realtime/Realtime.ts"
import { RealtimeSubscriptions } from "../../../src/services/realtime/Subscriptions.ts"
import { layerDatabase, live, Outside, session } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { brief, watching } from "../../support/realtime/notifications.ts"
import { refusal } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "realtime_subscriptions",
    before: `
      create table notes (id int primary key);
      create table ${"n".repeat(63)} (id int);
      create view notes_view as select * from notes;
      create materialized view notes_kept as select * from notes;
      create sequence counting;
      create type pair as (a int);
      create extension file_fdw; create server files foreign data wrapper file_fdw;
      create foreign table outside (a text) server files options (filename '/dev/null');
      create schema a; create schema a_b; create table a.b_c (v int); create table a_b.c (v int);
      create table parts (v int) partition by list (v); create table parts_1 partition of parts for values in (1);
      create unlogged table unlogged (v int);`
  }),
  live
)

const subscribe = (table: string, schema = "public") =>
  Effect.flatMap(RealtimeSubscriptions, ({ subscribe }) => subscribe(schema, table))
const unsubscribe = (table: string, schema = "public") =>
  Effect.flatMap(RealtimeSubscriptions, ({ unsubscribe }) => unsubscribe(schema, table))
const find = (table: string) =>
  Effect.flatMap(RealtimeSubscriptions, ({ list }) => Effect.map(list, (all) => all.find((one) => one.table === table)))
const becomes = (table: string, status: string) => eventually(find(table), (one) => one?.status === status)
/** `table:trigger` of every trigger of the service that is not inherited by a partition. */
const triggers = Effect.gen(function* () {
  const { sql } = yield* Outside
  const rows = yield* sql(`select tgrelid::regclass || ':' || tgname as name from pg_trigger
    where tgfoid = 'svc.notify_row_change'::regproc and tgparentid = 0 order by 1`)
  return rows.map(({ name }) => String(name))
})

suite("subscriptions", (it) => {
  it.effect("are created once, even concurrently, and return the same record", () =>
    Effect.gen(function* () {
      const [one, two] = yield* Effect.all([subscribe("notes"), subscribe("notes")], { concurrency: 2 })
      assert.sameMembers([one.created, two.created], [true, false])
      assert.deepStrictEqual(one.subscription, two.subscription)
      assert.deepStrictEqual(yield* subscribe("notes"), { created: false, subscription: one.subscription })
      const { created_at, id, ...rest } = one.subscription
      assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.isTrue(Number.isInteger(id))
      assert.deepStrictEqual(rest, {
        schema: "public",
        table: "notes",
        channel: "svc_rt_public_notes",
        status: "active",
        renamed_to: null,
        warning: null
      })
      const { status } = yield* Realtime
      assert.include((yield* status).active_channels, "svc_rt_public_notes")
    })
  )

  it.effect("warn that a table with row-level security has few receivers", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create table guarded (id int)")
      assert.isNull((yield* subscribe("guarded")).subscription.warning)
      yield* sql("alter table guarded enable row level security")
      const { subscription } = yield* subscribe("guarded")
      assert.match(String(subscription.warning), /no grant and policy let authenticated select/)
      const warning = Effect.map(subscribe("guarded"), (made) => String(made.subscription.warning))
      yield* sql("create policy mine on guarded for select using (true)")
      assert.match(yield* warning, /no primary key: only service_role keys/)
      yield* sql("alter table guarded add primary key (id)")
      assert.match(yield* warning, /clients with a JWT receive only the rows/)
      yield* sql("revoke select on guarded from authenticated")
      assert.match(yield* warning, /no grant and policy let authenticated select/)
      yield* unsubscribe("guarded")
    })
  )

  it.effect("are rejected for missing tables and tables that can't be watched", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create temp table passing (v int)")
      const [temporary] = yield* sql("select nspname from pg_namespace where oid = pg_my_temp_schema()")
      const missing = [
        ["public", "none"],
        ["none", "notes"],
        ["public", "NOTES"],
        ["public", "n".repeat(64)],
        ["public", `${"n".repeat(63)}x`],
        ["public", `${"n".repeat(62)}é`],
        ["public", "notes\0"],
        ["", ""],
        ["public", 'notes"; drop table notes; --']
      ] as const
      for (const [schema, table] of missing)
        assert.strictEqual(yield* refusal(subscribe(table, schema)), "404 TABLE_NOT_FOUND", `${schema}.${table}`)
      const unfit = [
        ...["notes_view", "notes_kept", "counting", "pair", "outside", "notes_pkey"].map((name) => ["public", name]),
        ["svc", "api_keys"],
        ["svc", "realtime_subscriptions"],
        ["pg_catalog", "pg_class"],
        ["information_schema", "tables"],
        [String(temporary?.["nspname"]), "passing"]
      ]
      for (const [schema, table = ""] of unfit)
        assert.strictEqual(yield* refusal(subscribe(table, schema)), "400 TABLE_NOT_WATCHABLE", `${schema}.${table}`)
      const { tables } = yield* RealtimeSubscriptions
      const listed = (yield* tables).map(({ schema, table }) => `${schema}.${table}`)
      assert.includeMembers(listed, ["a.b_c", "a_b.c", "public.notes", "public.parts", "public.parts_1"])
      for (const [schema, table] of unfit) assert.notInclude(listed, `${schema}.${table}`)
      const subscribed = (yield* tables).filter(({ subscribed }) => subscribed).map(({ table }) => table)
      assert.deepStrictEqual(subscribed, ["notes"])
    })
  )

  it.effect("are deleted with their trigger, without affecting another table on the same channel", () =>
    Effect.gen(function* () {
      yield* subscribe("b_c", "a")
      yield* subscribe("c", "a_b")
      yield* subscribe("parts")
      yield* unsubscribe("b_c", "a")
      assert.strictEqual(yield* refusal(unsubscribe("b_c", "a")), "404 SUBSCRIPTION_NOT_FOUND")
      assert.deepInclude(yield* find("c"), { status: "active" })
      assert.deepStrictEqual(yield* triggers, [
        "a_b.c:svc_rt_a_b_c",
        "notes:svc_rt_public_notes",
        "parts:svc_rt_public_parts"
      ])
      const { status } = yield* Realtime
      assert.include((yield* status).active_channels, "svc_rt_a_b_c")
      yield* unsubscribe("c", "a_b")
      yield* unsubscribe("parts")
      assert.deepStrictEqual(yield* triggers, ["notes:svc_rt_public_notes"])
      assert.deepStrictEqual((yield* status).active_channels, ["svc_rt_public_notes"])
    })
  )

  it.effect(
    "survive their table: a dropped one is missing, a recreated one is active, a renamed one is reported under its new name",
    () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        const { notified, watch } = yield* watching
        yield* sql("create table come_and_go (id int)")
        const first = yield* watch("come_and_go")
        yield* sql("drop table come_and_go")
        assert.deepInclude(yield* find("come_and_go"), {
          id: first.id,
          status: "table_missing",
          renamed_to: null,
          warning: null
        })
        assert.strictEqual(yield* refusal(subscribe("come_and_go")), "404 TABLE_NOT_FOUND")
        yield* sql("create table come_and_go (id int)")
        assert.deepInclude(yield* becomes("come_and_go", "active"), { id: first.id })
        assert.deepStrictEqual(brief(yield* notified("insert into come_and_go values (1)")), [
          "INSERT public.come_and_go"
        ])

        yield* sql('alter table come_and_go rename to "Gone"; alter table "Gone" set schema a')
        assert.deepInclude(yield* find("come_and_go"), {
          id: first.id,
          status: "table_renamed",
          renamed_to: 'a."Gone"'
        })
        assert.deepStrictEqual(brief(yield* notified('insert into a."Gone" values (1)')), ["INSERT a.Gone"])
        // A new table under the old name is watched instead of the first.
        yield* sql("create table come_and_go (id int)")
        yield* becomes("come_and_go", "active")
        const left = yield* eventually(triggers, (all) => all.every((one) => !one.includes("Gone")))
        assert.include(left, "come_and_go:svc_rt_public_come_and_go")
        assert.deepStrictEqual(
          brief(yield* notified('insert into a."Gone" values (1); insert into come_and_go values (2)')),
          ["INSERT public.come_and_go"]
        )
        yield* unsubscribe("come_and_go")
      })
  )

  it.effect("are repaired if their trigger was dropped or redefined, and reported if it was disabled", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* sql("create table fixed (id int)")
      const { channel } = yield* watch("fixed")
      const damages = [
        `drop trigger ${channel} on fixed`,
        `create or replace trigger ${channel} after insert on fixed for each row
          execute function svc.notify_row_change('elsewhere', '1')`,
        `alter trigger ${channel} on fixed rename to other`,
        `update svc.realtime_subscriptions set channel = 'elsewhere' where table_name = 'fixed'`,
        `update svc.realtime_subscriptions set table_oid = 1 where table_name = 'fixed'`,
        "delete from svc.realtime_subscriptions where table_name = 'fixed'",
        "truncate svc.realtime_subscriptions; create table by_the_way (v int); drop table by_the_way"
      ]
      for (const damage of damages) {
        yield* sql(damage)
        if (/^(delete|truncate)/.test(damage)) {
          yield* eventually(triggers, (all) => all.every((one) => !one.startsWith("fixed:")))
          yield* watch("fixed")
        }
        yield* becomes("fixed", "active")
        const all = yield* eventually(triggers, (all) => all.filter((one) => one.startsWith("fixed:")).length === 1)
        assert.include(all, `fixed:${channel}`, damage)
        assert.strictEqual((yield* notified("insert into fixed values (1)")).length, 1, damage)
      }
      for (const how of ["disable trigger", "enable replica trigger"]) {
        yield* sql(`alter table fixed ${how} ${channel}`)
        assert.deepInclude(yield* find("fixed"), { status: "trigger_disabled" }, how)
        assert.deepStrictEqual(yield* notified("insert into fixed values (2)"), [])
        assert.deepInclude(yield* subscribe("fixed"), { created: false })
        assert.deepInclude(yield* find("fixed"), { status: "active" })
        assert.strictEqual((yield* notified("insert into fixed values (3)")).length, 1)
      }
      yield* unsubscribe("fixed")
    })
  )

  it.effect("cause no further changes once repaired", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create table resting (id int)")
      yield* subscribe("resting")
      yield* sql("update svc.realtime_subscriptions set channel = 'elsewhere' where table_name = 'resting'")
      yield* becomes("resting", "active")
      const touched = sql("select xmin::text from svc.realtime_subscriptions where table_name = 'resting'")
      const before = yield* touched
      yield* Effect.sleep("600 millis")
      assert.deepStrictEqual(yield* touched, before)
      yield* unsubscribe("resting")
    })
  )

  it.effect("handle virtual columns that are added later (PostgreSQL 18)", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const [version] = yield* sql("select current_setting('server_version_num')::int >= 180000 as virtual")
      if (version?.["virtual"] !== true) return
      const { notified, watch } = yield* watching
      yield* sql("create table growing (id int)")
      yield* watch("growing")
      yield* sql("alter table growing add twice int generated always as (id * 2)")
      const all = yield* eventually(notified("insert into growing values (4)"), ([one]) => one?.row?.["twice"] === 8)
      assert.deepInclude(all[0], { row: { id: 4, twice: 8 } })
      yield* unsubscribe("growing")
    })
  )

  it.effect("drop the service's triggers that belong to no subscription", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(`create table stray (id int); create trigger "Odd one" after insert on stray for each row
        execute function svc.notify_row_change('x', '1')`)
      yield* eventually(triggers, (all) => all.every((one) => !one.startsWith("stray:")))
      assert.deepStrictEqual(yield* triggers, [])
    })
  )
})

describe("a busy table", () => {
  suite("while a transaction has written to it", (it) => {
    it.effect(
      "can't be subscribed to, and can be unsubscribed from; its trigger is dropped later, and writers never wait",
      () =>
        Effect.gen(function* () {
          const { sql } = yield* Outside
          yield* sql("create table busy (v int); create table leaving (v int)")
          yield* subscribe("leaving")
          const [holder, writer] = yield* Effect.all([session, session])
          yield* holder("begin; insert into busy values (1); insert into leaving values (1)")
          const from = Date.now()
          const subscribing = yield* Effect.forkChild(refusal(subscribe("busy")))
          const left = yield* Effect.forkChild(refusal(unsubscribe("leaving")))
          const waiting = sql(`select from pg_locks where not granted and locktype = 'relation'
            and database = (select oid from pg_database where datname = current_database())`)
          yield* eventually(waiting, (rows) => rows.length === 2)
          yield* writer("insert into busy values (2); insert into leaving values (2)")
          assert.isBelow(Date.now() - from, 3_500)
          assert.strictEqual(yield* Fiber.join(subscribing), "503 TABLE_BUSY")
          assert.isBelow(Date.now() - from, 3_500)
          assert.strictEqual(yield* Fiber.join(left), "200")
          assert.isUndefined(yield* find("busy"))
          assert.isUndefined(yield* find("leaving"))
          assert.include(yield* triggers, "leaving:svc_rt_public_leaving")
          yield* holder("rollback; create table another (v int)")
          const after = yield* eventually(triggers, (all) => !all.includes("leaving:svc_rt_public_leaving"))
          assert.notInclude(after, "leaving:svc_rt_public_leaving")
          assert.deepInclude(yield* subscribe("busy"), { created: true })
        })
    )
  })
})
