import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { WebhookId } from "../../../src/domain/webhooks/Webhook.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import { live, Outside } from "../../support/database.ts"
import { anon, post } from "../../support/requests.ts"
import { eventually } from "../../support/eventually.ts"
import { hook, layerWebhooks, outbox, triggersOf } from "../../support/webhooks/webhooks.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
const fresh = sql("delete from svc.webhook_messages")
const statement = ["svc_wh_delete", "svc_wh_insert", "svc_wh_update"]
const update = (id: number, change: Parameters<Webhooks["Service"]["update"]>[1]) =>
  Effect.flatMap(Webhooks, (webhooks) => webhooks.update(WebhookId.make(id), change))
const remove = (id: number) => Effect.flatMap(Webhooks, (webhooks) => webhooks.remove(WebhookId.make(id)))

layer(layerWebhooks({ name: "webhook_tables" }), live)("watched tables", (it) => {
  it.effect("have triggers exactly while they have a webhook, active or not", () =>
    Effect.gen(function* () {
      yield* sql("create table t1 (id int)")
      assert.deepStrictEqual(yield* triggersOf("t1"), [])
      const [first, second] = [yield* hook("t1"), yield* hook("t1", { active: false })]
      assert.deepStrictEqual(yield* triggersOf("t1"), statement)
      yield* remove(first.id)
      assert.deepStrictEqual(yield* triggersOf("t1"), statement)
      yield* remove(second.id)
      assert.deepStrictEqual(yield* triggersOf("t1"), [])
      yield* sql("insert into t1 values (1)")
      assert.deepStrictEqual(yield* outbox(), [])
    })
  )

  it.effect("are switched on and off without DDL, even while a transaction locks the table", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table t2 (id int)")
      const { id } = yield* hook("t2")
      yield* sql("begin; lock table t2 in exclusive mode")
      try {
        assert.isFalse((yield* update(id, { active: false })).active)
        yield* sql("insert into t2 values (1)")
        assert.isTrue((yield* update(id, { active: true })).active)
        yield* sql("insert into t2 values (2)")
      } finally {
        yield* sql("commit")
      }
      assert.deepStrictEqual(yield* outbox(), ['INSERT {"id":2}|-'])
    })
  )

  it.effect("change with the webhook", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table t3 (id int); create schema t3; create table t3.b (id int)")
      const { id } = yield* hook("t3")
      const moved = yield* update(id, { table_schema: "t3", table_name: "b" })
      assert.deepInclude(moved, { table_schema: "t3", table_name: "b", table_exists: true })
      assert.deepStrictEqual([yield* triggersOf("t3"), yield* triggersOf("t3.b")], [[], statement])
      yield* sql("insert into t3 values (1); insert into t3.b values (2)")
      assert.deepStrictEqual(yield* outbox(), ['INSERT {"id":2}|-'])
    })
  )

  it.effect("may have any name: quotes, Unicode, 63 bytes; each is distinct", () =>
    Effect.gen(function* () {
      yield* fresh
      const names = ['a"b', "Ünï 🎉", "x".repeat(63), "a_b_c", "'; drop table t1; --", "TABLE", " "]
      yield* sql(`create schema "s""ch"`)
      for (const name of names) {
        yield* sql(`create table "s""ch"."${name.replaceAll('"', '""')}" (id int)`)
        yield* hook(name, { table_schema: 's"ch' })
        yield* sql(`insert into "s""ch"."${name.replaceAll('"', '""')}" values (1)`)
      }
      const rows = yield* sql(
        "select payload::json->>'schema' as s, payload::json->>'table' as t from svc.webhook_messages order by id"
      )
      assert.deepStrictEqual(
        rows,
        names.map((t) => ({ s: 's"ch', t }))
      )
    })
  )

  it.effect("may be partitioned: writes through the parent, to a partition, between partitions, into new ones", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql(`create table p (id int, t text) partition by range (id);
        create table p_low partition of p for values from (0) to (100);
        create table p_mid partition of p for values from (100) to (200) partition by list (t);
        create table p_mid_x partition of p_mid for values in ('x')`)
      yield* hook("p")
      assert.deepStrictEqual(yield* triggersOf("p"), ["svc_wh_row_N"])
      yield* sql("create table p_high partition of p for values from (200) to (300)")
      yield* sql("insert into p values (1, 'a'), (101, 'x')")
      yield* sql("insert into p_low values (2, 'b')")
      yield* sql("insert into p_mid_x values (102, 'x')")
      yield* sql("insert into p_high values (201, 'c')")
      yield* sql("update p set t = 'z' where id = 1")
      yield* sql("update p set id = 202 where id = 2")
      yield* sql("delete from p_mid")
      assert.deepStrictEqual(yield* outbox("public.p"), [
        'INSERT {"id":1,"t":"a"}|-',
        'INSERT {"id":101,"t":"x"}|-',
        'INSERT {"id":2,"t":"b"}|-',
        'INSERT {"id":102,"t":"x"}|-',
        'INSERT {"id":201,"t":"c"}|-',
        'UPDATE {"id":1,"t":"z"}|{"id":1,"t":"a"}',
        'DELETE -|{"id":2,"t":"b"}',
        'INSERT {"id":202,"t":"b"}|-',
        'DELETE -|{"id":101,"t":"x"}',
        'DELETE -|{"id":102,"t":"x"}'
      ])
      yield* sql("alter table p detach partition p_high")
      yield* sql("insert into p_high values (203, 'd')")
      assert.lengthOf(yield* outbox(), 10)
    })
  )

  it.effect("may be one partition or an inheriting table, beside its parent", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql(`create table q (id int) partition by range (id);
        create table q_1 partition of q for values from (0) to (10);
        create table parent (id int); create table child (extra int) inherits (parent)`)
      for (const table of ["q_1", "q", "parent", "child"]) yield* hook(table)
      assert.deepStrictEqual(yield* triggersOf("q_1"), ["svc_wh_row_N"])
      assert.deepStrictEqual(yield* triggersOf("child"), ["svc_wh_row_N"])
      yield* sql("insert into q values (1)")
      yield* sql("insert into q_1 values (2)")
      assert.deepStrictEqual(
        [yield* outbox("public.q"), yield* outbox("public.q_1")],
        [
          ['INSERT {"id":1}|-', 'INSERT {"id":2}|-'],
          ['INSERT {"id":1}|-', 'INSERT {"id":2}|-']
        ]
      )
      yield* sql("insert into child values (3, 4)")
      yield* sql("update parent set id = 5")
      assert.deepStrictEqual(yield* outbox("public.child"), [
        'INSERT {"id":3,"extra":4}|-',
        'UPDATE {"id":5,"extra":4}|{"id":3,"extra":4}'
      ])
      assert.deepStrictEqual(yield* outbox("public.parent"), ['UPDATE {"id":5}|{"id":3}'])
    })
  )

  it.effect("that are dropped, renamed or recreated are detected", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table d1 (id int)")
      const { id } = yield* hook("d1")
      const exists = Effect.map(
        Effect.flatMap(Webhooks, (webhooks) => webhooks.find(id)),
        (found) => found.table_exists
      )
      yield* sql("alter table d1 rename to d2")
      assert.isFalse(yield* exists)
      yield* sql("insert into d2 values (1)")
      yield* eventually(triggersOf("d2"), (names) => names.length === 0)
      yield* sql("alter table d2 rename to d1")
      assert.isTrue(yield* exists)
      yield* eventually(triggersOf("d1"), (names) => names.length === 3)
      yield* sql("drop table d1")
      assert.isFalse(yield* exists)
      yield* update(id, { name: "still there" })
      yield* sql("create table d1 (other text) partition by list (other)")
      yield* eventually(triggersOf("d1"), (names) => names[0] === "svc_wh_row_N")
      yield* sql("create table d1_x partition of d1 for values in ('x')")
      yield* sql("insert into d1 values ('x')")
      assert.deepStrictEqual(yield* outbox(), ['INSERT {"other":"x"}|-'])
      yield* sql("drop table d1")
      yield* remove(id)
    })
  )

  it.effect("regain dropped triggers, but disabled ones stay disabled", () =>
    Effect.gen(function* () {
      yield* sql("create table r1 (id int)")
      yield* hook("r1")
      yield* sql("alter table r1 disable trigger svc_wh_update")
      yield* sql("drop trigger svc_wh_insert on r1")
      yield* eventually(triggersOf("r1"), (names) => names.length === 3)
      const [row] = yield* sql(
        "select tgenabled::text as e from pg_trigger where tgrelid = 'r1'::regclass and tgname = 'svc_wh_update'"
      )
      assert.strictEqual(row?.["e"], "D")
    })
  )

  it.effect("are rejected if they are missing, of the service or of the system", () =>
    Effect.gen(function* () {
      yield* sql("create view v as select 1 as n")
      const code = (table: string, schema = "public") =>
        Effect.map(Effect.flip(hook(table, { table_schema: schema })), (error) => error.code)
      assert.strictEqual(yield* code("nothing"), "TABLE_NOT_FOUND")
      assert.strictEqual(yield* code("t1", "nowhere"), "TABLE_NOT_FOUND")
      assert.strictEqual(yield* code("v"), "TABLE_NOT_WATCHABLE")
      assert.strictEqual(yield* code("webhook_messages", "svc"), "TABLE_NOT_WATCHABLE")
      assert.strictEqual(yield* code("pg_class", "pg_catalog"), "TABLE_NOT_WATCHABLE")
    })
  )

  it.effect("that are locked reject a new webhook after 2 s, but not its deletion", () =>
    Effect.gen(function* () {
      yield* sql("create table busy (id int); create table busy_too (id int)")
      const { id } = yield* hook("busy")
      yield* sql("begin; lock table busy, busy_too in row exclusive mode")
      try {
        const from = Date.now()
        assert.strictEqual((yield* Effect.flip(hook("busy_too"))).code, "TABLE_BUSY")
        assert.isBelow(Date.now() - from, 6_000)
        yield* remove(id)
      } finally {
        yield* sql("commit")
      }
      const webhooks = yield* Effect.flatMap(Webhooks, ({ list }) => list)
      assert.deepStrictEqual(
        webhooks.filter(({ table_name }) => table_name.startsWith("busy")),
        []
      )
      yield* sql("create table any_ddl ()")
      yield* eventually(triggersOf("busy"), (names) => names.length === 0)
    })
  )

  it.effect("keep their triggers when webhooks are created and deleted concurrently", () =>
    Effect.gen(function* () {
      yield* sql("create table race (id int)")
      for (let round = 0; round < 5; round++) {
        const { id } = yield* hook("race")
        yield* Effect.all([remove(id), hook("race"), hook("race")], { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* triggersOf("race"), statement)
        const all = yield* Effect.flatMap(Webhooks, ({ list }) => list)
        yield* Effect.forEach(
          all.filter(({ table_name }) => table_name === "race"),
          (one) => remove(one.id),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(yield* triggersOf("race"), [])
      }
    })
  )
})

layer(layerWebhooks({ name: "webhook_damage" }), live)("a write never fails because of webhooks", (it) => {
  const writes = Effect.gen(function* () {
    yield* sql("insert into w values (1)")
    yield* sql("update w set id = id + 1")
    yield* sql("delete from w")
    yield* sql("insert into wp values (1)")
    yield* post("w", [{ id: 7 }], { actor: anon })
    const [row] = yield* sql("select (select count(*) from w) + (select count(*) from wp) as n")
    yield* sql("truncate w, wp")
    return Number(row?.["n"])
  })

  it.effect("and code of a column's type runs without the privileges of the service", () =>
    Effect.gen(function* () {
      // row_to_json calls the cast to json of any type that is not built in.
      yield* sql(`create type mood as enum ('fine'); create table casts (m mood);
        create function mood_json(mood) returns json language sql as $$
          select json_build_object('as', current_user,
            'sees', has_column_privilege('svc.webhooks', 'secret', 'select')) $$;
        create cast (mood as json) with function mood_json(mood)`)
      yield* hook("casts")
      yield* sql("insert into casts values ('fine')")
      const [line] = yield* outbox()
      assert.match(line ?? "", /^INSERT \{"m":\{"as" : "svc_events\w*", "sees" : false\}\}\|-$/)
      const [row] = yield* sql(`select r.rolsuper, r.rolcanlogin,
          has_table_privilege(r.oid, 'svc.api_keys', 'select') as keys,
          has_table_privilege(r.oid, 'svc.webhook_messages', 'select') as messages,
          has_schema_privilege(r.oid, 'svc', 'create') as makes
        from pg_proc p join pg_roles r on r.oid = p.proowner where p.oid = 'svc.enqueue_webhooks()'::regprocedure`)
      assert.deepStrictEqual(row, { rolsuper: false, rolcanlogin: false, keys: false, messages: false, makes: false })
      yield* sql("delete from svc.webhook_messages")
    })
  )

  it.effect("if the outbox is damaged, the function fails, or the role has lost its privileges", () =>
    Effect.gen(function* () {
      yield* sql(`create table w (id int); grant all on w to anon;
        create table wp (id int) partition by list (id); create table wp_1 partition of wp default`)
      yield* hook("w")
      yield* hook("wp")
      assert.strictEqual(yield* writes, 2)
      const sent = (yield* outbox()).length
      assert.strictEqual(sent, 5)
      for (const [damage, repair] of [
        ["alter table svc.webhook_messages rename to gone", "alter table svc.gone rename to webhook_messages"],
        ["alter table svc.webhooks rename column events to es", "alter table svc.webhooks rename column es to events"],
        [
          "alter table svc.webhook_messages add constraint no check (false) not valid",
          "alter table svc.webhook_messages drop constraint no"
        ],
        ["revoke insert on svc.webhook_messages from svc_events", "grant insert on svc.webhook_messages to svc_events"],
        ["revoke usage on schema svc from svc_events", "grant usage on schema svc to svc_events"]
      ] as const) {
        yield* sql(damage)
        assert.strictEqual(yield* writes, 2, damage)
        yield* sql(repair)
      }
      assert.strictEqual(yield* writes, 2)
      assert.strictEqual((yield* outbox()).length, sent + 5)
      yield* sql("drop function svc.enqueue_webhooks() cascade")
      assert.strictEqual(yield* writes, 2)
    })
  )
})
