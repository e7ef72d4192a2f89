import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { brief, watching } from "../../support/realtime/notifications.ts"
import { anon, get, post, rpc } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "realtime_trigger",
    settings: { SVC_DB_POOL_SIZE: "1" },
    before: `
      create table notes (id int primary key, note text);
      create table plain (v int);
      create table parts (id int, v text, primary key (id, v)) partition by list (v);
      create table parts_a partition of parts for values in ('a');
      create table parts_b partition of parts for values in ('b') partition by range (id);
      create table parts_b1 partition of parts_b for values from (0) to (100);
      create table parent (v int);
      create table child (w int) inherits (parent);
      create table opened (id int generated always as identity primary key, note text);
      grant insert, select on opened to anon;
      create function setting() returns text language sql as $$ select current_setting('svc.realtime_told', true) $$;
      create function silence() returns text language sql as
        $$ select set_config('svc.realtime_told', '20000', false) $$;`
  }),
  live
)

const rowsOf = (all: ReadonlyArray<{ readonly row: unknown; readonly old_row: unknown }>) =>
  all.map(({ old_row, row }) => [row, old_row])

suite("the trigger of a watched table", (it) => {
  it.effect("notifies of each written row, in order, with its previous values", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("notes")
      const before = Date.now()
      const all =
        yield* notified(`insert into notes values (1, 'a'), (2, 'b'); update notes set note = 'c' where id = 1;
        delete from notes where id = 2`)
      assert.deepStrictEqual(
        all.map(({ old_row, operation, row, schema, table }) => ({ schema, table, operation, row, old_row })),
        [
          { schema: "public", table: "notes", operation: "INSERT", row: { id: 1, note: "a" }, old_row: null },
          { schema: "public", table: "notes", operation: "INSERT", row: { id: 2, note: "b" }, old_row: null },
          {
            schema: "public",
            table: "notes",
            operation: "UPDATE",
            row: { id: 1, note: "c" },
            old_row: { id: 1, note: "a" }
          },
          { schema: "public", table: "notes", operation: "DELETE", row: null, old_row: { id: 2, note: "b" } }
        ]
      )
      for (const { channel, id, timestamp } of all) {
        assert.strictEqual(channel, "svc_rt_public_notes")
        assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.strictEqual(Math.floor(id / 1000), Date.parse(timestamp))
        assert.isAtLeast(id, (before - 1) * 1000)
      }
    })
  )

  it.effect("notifies of every one of several equal rows of a transaction", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("plain")
      const all = yield* notified("insert into plain select 7 from generate_series(1, 500); update plain set v = 7")
      assert.strictEqual(all.length, 1000)
      assert.strictEqual(new Set(all.map(({ payload }) => payload)).size, 1000)
      const ids = all.map(({ id }) => id)
      assert.deepStrictEqual(
        ids,
        ids.toSorted((a, b) => a - b)
      )
      assert.strictEqual((yield* notified("truncate plain")).length, 0)
    })
  )

  it.effect("reports upserts, MERGE and COPY by the operations they performed", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("notes")
      yield* notified("truncate notes")
      const upsert = "insert into notes values (1, 'a') on conflict (id) do update set note = 'b'"
      const merge = `merge into notes n using (values (1), (2), (3)) s (id) on n.id = s.id
        when matched and n.id = 1 then update set note = 'm' when matched then delete
        when not matched then insert values (s.id, 'new')`
      const operations = (text: string) => Effect.map(notified(text), (all) => all.map(({ operation }) => operation))
      assert.deepStrictEqual(yield* operations(upsert), ["INSERT"])
      assert.deepStrictEqual(yield* operations(upsert), ["UPDATE"])
      assert.deepStrictEqual(yield* operations("insert into notes values (1, '') on conflict do nothing"), [])
      assert.deepStrictEqual(yield* operations("insert into notes values (2, '')"), ["INSERT"])
      assert.deepStrictEqual((yield* operations(merge)).sort(), ["DELETE", "INSERT", "UPDATE"])
      const copied = yield* notified(`copy notes from program 'printf "8\\tcopied\\n9\\t\\\\\\\\N\\n"'`)
      assert.deepStrictEqual(rowsOf(copied), [
        [{ id: 8, note: "copied" }, null],
        [{ id: 9, note: null }, null]
      ])
    })
  )

  it.effect("sends nothing for rolled-back changes", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("plain")
      assert.deepStrictEqual(yield* notified("begin; insert into plain values (1); rollback"), [])
      const all = yield* notified(`begin; insert into plain values (1); savepoint s; insert into plain values (2);
        rollback to s; insert into plain values (3); savepoint t; insert into plain values (4); release t; commit`)
      assert.deepStrictEqual(
        all.map(({ row }) => row?.["v"]),
        [1, 3, 4]
      )
      const caught = yield* notified(`do $$ begin insert into plain values (5);
        begin insert into plain values (6), (1 / (select 0)); exception when division_by_zero then null; end; end $$`)
      assert.deepStrictEqual(
        caught.map(({ row }) => row?.["v"]),
        [5]
      )
    })
  )

  it.effect("reports rows of partitions under the name of the watched table, wherever they are written", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("parts")
      const all = yield* notified(`insert into parts values (1, 'a'), (2, 'b'); insert into parts_a values (3, 'a');
        insert into parts_b1 values (4, 'b'); update parts_b set id = 5 where id = 4`)
      assert.deepStrictEqual(brief(all), [
        ...Array.from({ length: 4 }, () => "INSERT public.parts"),
        "UPDATE public.parts"
      ])
      assert.deepStrictEqual(new Set(all.map(({ channel }) => channel)), new Set(["svc_rt_public_parts"]))
      // A row that moves between partitions is deleted in one and inserted in the other.
      const moved = yield* notified("update parts set v = 'b' where id = 1")
      assert.deepStrictEqual(rowsOf(moved), [
        [null, { id: 1, v: "a" }],
        [{ id: 1, v: "b" }, null]
      ])
      // A partition with a different column order.
      yield* sql("create table parts_c (v text not null, id int not null, primary key (id, v))")
      yield* sql("alter table parts attach partition parts_c for values in ('c')")
      assert.deepStrictEqual(brief(yield* notified("insert into parts_c values ('c', 6)")), ["INSERT public.parts"])
      yield* sql("alter table parts detach partition parts_a")
      assert.deepStrictEqual(yield* notified("insert into parts_a values (9, 'a')"), [])
    })
  )

  it.effect("reports a partition under its own name if it is watched itself", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("parts")
      yield* watch("parts_b1")
      const all = yield* notified("insert into parts values (50, 'b')")
      assert.sameMembers(brief(all), ["INSERT public.parts", "INSERT public.parts_b1"])
    })
  )

  it.effect("ignores inheriting tables", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("parent")
      assert.deepStrictEqual(
        rowsOf(yield* notified("insert into child values (1, 2); insert into parent values (3)")),
        [[{ v: 3 }, null]]
      )
    })
  )

  it.effect("reports 10,000 rows of a transaction, then one gap; the write succeeds", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("plain")
      yield* watch("notes")
      yield* sql("truncate plain, notes")
      const all = yield* notified(`begin; insert into plain select 1 from generate_series(1, 9999);
        insert into notes select n from generate_series(1, 10001) n; update plain set v = 2; commit`)
      const names = brief(all)
      assert.strictEqual(names.length, 10_001)
      assert.deepStrictEqual(names.slice(-3), ["INSERT public.plain", "INSERT public.notes", "gap public.notes"])
      assert.isTrue(names.slice(0, 9999).every((name) => name === "INSERT public.plain"))
      const [counted] = yield* sql("select (select count(*) from plain where v = 2) || ' ' || count(*) as n from notes")
      assert.deepStrictEqual(counted, { n: "9999 10001" })
      // The next transaction starts counting from zero.
      assert.deepStrictEqual(brief(yield* notified("insert into plain values (1)")), ["INSERT public.plain"])
    })
  )

  it.effect("does not count rows that were rolled back", () =>
    Effect.gen(function* () {
      const { notified, watch } = yield* watching
      yield* watch("plain")
      const all = yield* notified(`begin; savepoint s; insert into plain select 1 from generate_series(1, 12000);
        rollback to s; insert into plain values (2); commit`)
      assert.deepStrictEqual(rowsOf(all), [[{ v: 2 }, null]])
    })
  )

  it.effect("runs as the writer, and leaves no state on the connection", () =>
    Effect.gen(function* () {
      const { notifiedBy, watch } = yield* watching
      yield* watch("opened")
      const setting = rpc("setting", {}, { actor: anon })
      const all = yield* notifiedBy(post("opened", [{ note: "one" }, { note: "two" }], { actor: anon }))
      assert.deepStrictEqual(
        all.map(({ row }) => row),
        [
          { id: 1, note: "one" },
          { id: 2, note: "two" }
        ]
      )
      assert.oneOf(yield* setting, [null, ""])
      assert.strictEqual((yield* notifiedBy(post("opened", { note: "three" }, { actor: anon }))).length, 1)
      assert.strictEqual((yield* get("opened", { actor: anon })).length, 3)
      // A setting that one caller leaves behind does not affect the next.
      assert.strictEqual(yield* rpc("silence", {}, { actor: anon }), "20000")
      assert.strictEqual((yield* notifiedBy(post("opened", { note: "four" }, { actor: anon }))).length, 1)
    })
  )
})
