import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { connect, live, Outside } from "../../support/database.ts"
import { anon, post } from "../../support/requests.ts"
import { hook, layerWebhooks, outbox } from "../../support/webhooks/webhooks.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))
const fresh = sql("delete from svc.webhook_messages")

/** A separate connection, for session settings. */
const session = Effect.flatMap(Outside, ({ login }) => connect(login))

layer(layerWebhooks({ name: "webhook_outbox" }), live)("the outbox", (it) => {
  it.effect("has a message for each row of an INSERT, UPDATE and DELETE", () =>
    Effect.gen(function* () {
      yield* sql("create table a1 (id int primary key, t text)")
      yield* hook("a1")
      yield* sql("insert into a1 values (1, 'one'), (2, 'two')")
      yield* sql("update a1 set t = upper(t), id = id + 10")
      yield* sql("delete from a1 where id = 11")
      yield* sql("update a1 set t = 'none' where false")
      assert.deepStrictEqual(yield* outbox("public.a1"), [
        'INSERT {"id":1,"t":"one"}|-',
        'INSERT {"id":2,"t":"two"}|-',
        'UPDATE {"id":11,"t":"ONE"}|{"id":1,"t":"one"}',
        'UPDATE {"id":12,"t":"TWO"}|{"id":2,"t":"two"}',
        'DELETE -|{"id":11,"t":"ONE"}'
      ])
      const [first] = yield* sql(
        "select payload, next_attempt_at <= now() as due from svc.webhook_messages order by id limit 1"
      )
      assert.match(
        String(first?.["payload"]),
        /^\{"event":"INSERT","schema":"public","table":"a1","row":\{"id":1,"t":"one"\},"old_row":null,"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"\}$/
      )
      assert.isTrue(first?.["due"])
    })
  )

  it.effect("contains virtual columns as they are read, and survives a failed assertion", () =>
    Effect.gen(function* () {
      const [server] = yield* sql("select current_setting('server_version_num')::int as version")
      if (Number(server?.["version"]) < 180_000) return
      yield* fresh
      yield* sql(`create table virtual (id int primary key, n int, twice int generated always as (n * 2) virtual);
        create table parted (like virtual including all) partition by range (id);
        create table part partition of parted for values from (0) to (9)`)
      yield* hook("virtual")
      yield* hook("parted")
      yield* sql("insert into virtual values (1, 5); update virtual set n = 6; insert into part values (1, 2)")
      assert.deepStrictEqual(yield* outbox(), [
        'INSERT {"id":1,"n":5,"twice":10}|-',
        'UPDATE {"id":1,"n":6,"twice":12}|{"id":1,"n":5,"twice":10}',
        'INSERT {"id":1,"n":2,"twice":4}|-'
      ])
      yield* sql(`create type picky as (n int);
        create function picky_json(picky) returns json language plpgsql as 'begin assert false; return null; end';
        create cast (picky as json) with function picky_json(picky);
        create table picky_rows (p picky)`)
      yield* hook("picky_rows")
      yield* sql("insert into picky_rows values (row(1)::picky)")
      assert.strictEqual((yield* sql("select from picky_rows")).length, 1)
    })
  )

  it.effect("pairs old and new rows of a bulk update, even without a primary key", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table a2 (n int)")
      yield* hook("a2")
      yield* sql("insert into a2 select g from generate_series(1, 2000) g")
      yield* sql("update a2 set n = n + 100000 where n % 2 = 0")
      yield* sql("delete from a2 where n <= 1000")
      const [counts] = yield* sql(`select
        count(*) filter (where event_type = 'INSERT')::int as i, count(*) filter (where event_type = 'DELETE')::int as d,
        count(*) filter (where event_type = 'UPDATE'
          and (payload::json->'row'->>'n')::int = (payload::json->'old_row'->>'n')::int + 100000)::int as u
        from svc.webhook_messages`)
      assert.deepStrictEqual(counts, { i: 2000, u: 1000, d: 500 })
    })
  )

  it.effect("captures upserts, MERGE, COPY, and writes inside CTEs and functions", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table a3 (id int primary key, t text)")
      yield* hook("a3")
      yield* sql("insert into a3 values (1, 'a')")
      yield* sql("insert into a3 values (1, 'b'), (2, 'c') on conflict (id) do update set t = excluded.t")
      yield* sql("insert into a3 values (2, 'x') on conflict do nothing")
      yield* sql(`merge into a3 using (values (2, 'm'), (3, 'n')) s(id, t) on s.id = a3.id
        when matched then update set t = s.t when not matched then insert values (s.id, s.t)`)
      yield* sql("with gone as (delete from a3 where id = 1 returning *) insert into a3 select 4, t from gone")
      yield* sql("do $$ begin insert into a3 values (5, 'f'); end $$")
      yield* sql("copy a3 from program 'printf ''6\\tp\\n7\\tq\\n'''")
      assert.sameMembers(
        (yield* outbox("public.a3")).map((line) => line.replaceAll(/[{}"]/g, "").replaceAll(/id:|t:/g, "")),
        [
          "INSERT 1,a|-",
          "INSERT 2,c|-",
          "UPDATE 1,b|1,a",
          "UPDATE 2,m|2,c",
          "INSERT 3,n|-",
          "DELETE -|1,b",
          "INSERT 4,b|-",
          "INSERT 5,f|-",
          "INSERT 6,p|-",
          "INSERT 7,q|-"
        ]
      )
    })
  )

  it.effect("formats values independently of the session's settings", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql(`create table a4 (big bigint, num numeric, f float8, ts timestamptz, b bytea, j json, jb jsonb,
        r tstzrange, i interval, nan numeric, a int[], t text)`)
      yield* hook("a4")
      const client = yield* session
      yield* Effect.promise(async () => {
        for (const set of [
          "timezone = 'Asia/Kathmandu'",
          "bytea_output = escape",
          "datestyle = 'SQL, DMY'",
          "extra_float_digits = -5",
          "intervalstyle = iso_8601"
        ]) {
          await client.query(`set ${set}`)
        }
        await client.query(`insert into a4 values (9223372036854775807, 12345678901234567890.12345678901234567890,
          0.30000000000000004, '2026-01-02T03:04:05.123456Z', '\\x00ff', '{"b": 1, "b":  2.50}', '{"z": 1e400}',
          '[2026-01-01T00:00:00Z,)', '1 day 2 hours', 'NaN', '{1,null}', E'é🎉 "q" \\\\ \\n \\u2028')`)
      })
      const [row] = yield* sql("select payload::json->>'row' as text from svc.webhook_messages")
      assert.strictEqual(
        row?.["text"],
        `{"big":9223372036854775807,"num":12345678901234567890.12345678901234567890,"f":0.30000000000000004,` +
          `"ts":"2026-01-02T03:04:05.123456+00:00","b":"\\\\x00ff","j":{"b": 1, "b":  2.50},"jb":{"z": 1${"0".repeat(400)}},` +
          `"r":"[\\"2026-01-01 00:00:00+00\\",)","i":"1 day 02:00:00","nan":"NaN","a":[1,null],"t":"é🎉 \\"q\\" \\\\ \\n \u2028"}`
      )
      const [timezone] = yield* Effect.promise(
        async () => (await client.query<{ TimeZone: string }>("show timezone")).rows
      )
      assert.strictEqual(timezone?.TimeZone, "Asia/Kathmandu", "the session's settings are unchanged")
    })
  )

  it.effect("accepts columns of any name, even those of the function's variables", () =>
    Effect.gen(function* () {
      yield* fresh
      const columns = [
        "n",
        "head",
        "tail",
        "w",
        "i",
        "j",
        "o",
        "id",
        "new_rows",
        "old_rows",
        "new",
        "old",
        "tg_op",
        "active",
        "events",
        "source_table",
        "ümläut 🎉",
        'a"b'
      ]
      yield* sql(`create table a5 (${columns.map((name) => `"${name.replaceAll('"', '""')}" int`).join(", ")})`)
      yield* hook("a5")
      yield* sql(`insert into a5 values (${columns.map((_, i) => i).join(", ")})`)
      yield* sql("update a5 set n = 100")
      yield* sql("delete from a5")
      const row = JSON.stringify(Object.fromEntries(columns.map((name, i) => [name, i])))
      const after = row.replace('"n":0', '"n":100')
      assert.deepStrictEqual(yield* outbox(), [`INSERT ${row}|-`, `UPDATE ${after}|${row}`, `DELETE -|${after}`])
    })
  )

  it.effect("has one message for each active webhook that subscribes to the event", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table a6 (id int)")
      yield* sql("create table a6_other (id int)")
      const made = [
        yield* hook("a6", { events: ["INSERT"] }),
        yield* hook("a6", { events: ["INSERT", "DELETE"] }),
        yield* hook("a6", { active: false })
      ]
      yield* hook("a6_other")
      yield* sql("insert into a6 values (1), (2)")
      yield* sql("update a6 set id = id")
      yield* sql("delete from a6 where id = 1")
      yield* sql("truncate a6")
      const rows = yield* sql(
        "select webhook_id, string_agg(event_type, ',' order by id) as events from svc.webhook_messages group by 1 order by 1"
      )
      assert.deepStrictEqual(rows, [
        { webhook_id: made[0]?.id, events: "INSERT,INSERT" },
        { webhook_id: made[1]?.id, events: "INSERT,INSERT,DELETE" }
      ])
    })
  )

  it.effect("commits and rolls back with the write, savepoints too", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table a7 (id int)")
      yield* hook("a7")
      const client = yield* session
      yield* Effect.promise(async () => {
        for (const text of [
          "begin",
          "insert into a7 values (1)",
          "savepoint s",
          "insert into a7 values (2)",
          "rollback to s",
          "insert into a7 values (3)",
          "commit",
          "begin",
          "insert into a7 values (4)",
          "rollback"
        ]) {
          await client.query(text)
        }
      })
      assert.deepStrictEqual(yield* outbox(), ['INSERT {"id":1}|-', 'INSERT {"id":3}|-'])
    })
  )

  it.effect("captures writes of roles without privileges on the outbox, as through /v1/db", () =>
    Effect.gen(function* () {
      yield* fresh
      yield* sql("create table a8 (id int primary key, t text)")
      yield* sql("grant all on a8 to anon")
      yield* hook("a8")
      yield* post("a8", { id: 1, t: "by anon" }, { actor: anon })
      assert.deepStrictEqual(yield* outbox(), ['INSERT {"id":1,"t":"by anon"}|-'])
    })
  )
})
