import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ApiDescriptions } from "../../../src/services/schema/ApiDescriptions.ts"
import { DatabaseSchemas } from "../../../src/services/schema/DatabaseSchemas.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, get, post, refusal, rpc, service } from "../../support/requests.ts"

/** Only the table's policies hide its rows: the partition, and what references it, has none. */
const partitioned = `
create table owners (id int primary key);
create table events (id int, owner int references owners, primary key (id)) partition by range (id);
create table events_1 partition of events for values from (0) to (10) partition by range (id);
create table events_1_a partition of events_1 for values from (0) to (5);
create table notes (id int primary key, event int references events, part int constraint notes_part references events_1_a);
create table parents (id int primary key);
create table children () inherits (parents);
create function of_part() returns setof events_1_a language sql stable as $$ select * from events_1_a $$;
alter table events enable row level security;
insert into owners values (1);
insert into events values (1, 1);
insert into notes values (1, 1, 1);
grant select on all tables in schema public to anon;
grant execute on all functions in schema public to anon`

const suite = layer(layerDatabase({ name: "row_partitions", before: partitioned }), live)

suite("partitions", (it) => {
  it.effect("are not tables of the API", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* get("events", { actor: anon }), [])
      for (const name of ["events_1", "events_1_a"]) {
        assert.strictEqual(yield* refusal(get(name, { actor: anon })), "404 PGRST205")
        assert.strictEqual(yield* refusal(get(name)), "404 PGRST205")
        assert.strictEqual(yield* refusal(post(name, { id: 2 })), "404 PGRST205")
      }
      assert.deepStrictEqual(yield* get("children"), [])
    })
  )

  it.effect.each([
    "notes?select=id,events_1_a(id)",
    "notes?select=id,notes_part(id)",
    "owners?select=id,events_1(id)",
    "notes?select=id,part(*)"
  ])("are not embedded: %s", (line) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* refusal(get(line, { actor: anon })), "400 PGRST200")
      // Their table is.
      assert.deepStrictEqual(yield* get("notes?select=id,events(id)"), [{ id: 1, events: { id: 1 } }])
      assert.deepStrictEqual(yield* get("owners?select=events(id)"), [{ events: [{ id: 1 }] }])
    })
  )

  it.effect("are rows that functions may return", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* rpc("of_part"), [{ id: 1, owner: 1 }])
    })
  )

  it.effect("are tables while they are detached", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create table events_2 partition of events for values from (10) to (20)")
      const asked = refusal(get("events_2"))
      assert.strictEqual(yield* asked, "404 PGRST205")
      yield* sql("alter table events detach partition events_2")
      assert.strictEqual(yield* asked, "200")
      yield* sql("alter table events attach partition events_2 for values from (10) to (20)")
      for (let turn = 0; turn < 100 && (yield* asked) === "200"; turn++) yield* Effect.sleep("20 millis")
      assert.strictEqual(yield* asked, "404 PGRST205")
    })
  )

  it.effect("are not in the descriptions", () =>
    Effect.gen(function* () {
      const { main } = yield* Db
      const document = (yield* (yield* ApiDescriptions).describe(main, service, "public")).toString()
      const types = yield* (yield* DatabaseSchemas).types(main, [])
      for (const text of [document, types]) {
        assert.include(text, "notes")
        assert.notInclude(text, "events_1")
      }
    })
  )
})
