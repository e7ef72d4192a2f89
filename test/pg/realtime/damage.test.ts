import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { RealtimeSubscriptions } from "../../../src/services/realtime/Subscriptions.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { brief, watching } from "../../support/realtime/notifications.ts"

const suite = layer(
  layerDatabase({
    name: "realtime_damage",
    before: `
      create type odd as enum ('raise', 'assert', 'recurse', 'x', 'y');
      create function odd_json(how odd) returns json language plpgsql as $$ begin
        if how = 'raise' then raise exception 'no'; end if;
        if how = 'assert' then assert false; end if;
        if how = 'recurse' then return odd_json(how); end if;
        return '"fine"';
      end $$;
      create cast (odd as json) with function odd_json(odd);
      create table odds (id int primary key, v odd);
      create table open_notes (id int primary key, v text);
      create table secrets (id int primary key, v text);`
  }),
  live
)

suite("a write to a watched table", (it) => {
  it.effect("succeeds even if its row can't be converted to JSON", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("odds")
      for (const [id, how] of ["raise", "assert", "recurse"].entries()) {
        assert.deepStrictEqual(yield* notified("insert into odds values ($1, $2)", [id, how]), [], how)
      }
      // Only that row is not reported.
      const all = yield* notified("insert into odds values (7, 'x'), (8, 'raise'), (9, 'y')")
      assert.deepStrictEqual(
        all.map(({ row }) => row?.["id"]),
        [7, 9]
      )
      assert.strictEqual((yield* notified("update odds set v = 'x' where id >= 7")).length, 2)
      assert.deepStrictEqual(yield* sql("select count(*)::int as n from odds"), [{ n: 6 }])
    })
  )

  it.effect("succeeds, and is reported correctly or not at all, if a user created the trigger", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      const { channel } = yield* watch("open_notes")
      const [of] = yield* sql("select 'open_notes'::regclass::oid::int as oid")
      const attempts: ReadonlyArray<readonly [given: string, notified: ReadonlyArray<string>]> = [
        ["", []],
        ["''", []],
        [`'${channel}'`, ["INSERT public.secrets"]],
        [`'${channel}', ''`, []],
        [`'${channel}', 'x'`, []],
        [`'${"x".repeat(64)}', '1'`, []],
        // With the oid of an unrelated or missing table, its own name is used.
        [`'${channel}', '${String(of?.["oid"])}'`, ["INSERT public.secrets"]],
        [`'${channel}', '1'`, ["INSERT public.secrets"]],
        [`'${channel}', '1', 'virtual'`, ["INSERT public.secrets"]]
      ]
      for (const [given, expected] of attempts) {
        // In one transaction, because stray triggers are soon dropped.
        const all = yield* notified(`truncate secrets; create trigger own after insert or update or delete on secrets
          for each row execute function svc.notify_row_change(${given}); insert into secrets values (1, 'hidden');
          drop trigger own on secrets`)
        assert.deepStrictEqual(brief(all), expected, given)
        assert.deepStrictEqual(yield* sql("select id from secrets"), [{ id: 1 }])
      }
      // A statement-level trigger has no row.
      const [none] = yield* notified(`create trigger own after delete on secrets execute function
        svc.notify_row_change('${channel}', '1'); delete from secrets; drop trigger own on secrets`)
      assert.deepInclude(none, { row: null, old_row: null })
    })
  )

  it.effect("is reported correctly regardless of the writer's objects and settings", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("open_notes")
      const all = yield* notified(`set local search_path = pg_temp, public, pg_catalog;
        create temp table pg_index as select 1 as indrelid; create temp table pg_class (relname text);
        create function pg_temp.to_json(text) returns json language sql as $$ select '"stolen"'::json $$;
        create function public.row_to_json(open_notes) returns json language sql as $$ select '{}'::json $$;
        create function public.octet_length(text) returns int language sql as $$ select 1 $$;
        insert into open_notes values (1, repeat('x', 9000)); discard temp`)
      assert.deepStrictEqual(brief(all), ["INSERT public.open_notes"])
      assert.deepInclude(all[0], { row: { id: 1 }, truncated: true })
      for (const value of ["abc", "-5", "99999999999", " "]) {
        yield* sql(`set svc.realtime_told = '${value}'`)
        yield* notified("insert into open_notes values (2)")
        yield* sql("reset svc.realtime_told; delete from open_notes where id = 2")
      }
      assert.strictEqual((yield* notified("insert into open_notes values (3)")).length, 1)
    })
  )

  it.effect("succeeds without the service's own tables", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const { notified, watch } = yield* watching
      yield* watch("open_notes")
      yield* sql("alter table svc.realtime_subscriptions rename to elsewhere")
      assert.strictEqual((yield* notified("insert into open_notes values (10)")).length, 1)
      yield* sql("alter table svc.elsewhere rename to realtime_subscriptions")
      const { list } = yield* RealtimeSubscriptions
      assert.deepInclude(
        (yield* list).find(({ table }) => table === "open_notes"),
        { status: "active" }
      )
    })
  )
})
