import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Db } from "../../../src/services/ports/Db.ts"
import { DatabaseSchemas } from "../../../src/services/schema/DatabaseSchemas.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { get, patch, post, put, raw, rawRpc, refusal, remove, rpc } from "../../support/requests.ts"

/** A colour is stored as a number, and shown and read as `#rrggbb`. */
const colours = `
create domain colour as int check (value between 0 and 16777215);
create function colour_json(colour) returns json language sql immutable as
  $$ select to_json('#' || lpad(to_hex($1), 6, '0')) $$;
create function colour_text(text) returns colour language sql immutable as
  $$ select ('x' || lpad(ltrim($1, '#'), 8, '0'))::bit(32)::int $$;
create function colour_of_json(json) returns colour language sql immutable as $$ select colour_text($1 #>> '{}') $$;
create cast (colour as json) with function colour_json(colour) as implicit;
create cast (json as colour) with function colour_of_json(json) as implicit;
create cast (text as colour) with function colour_text(text) as implicit;
create domain shade as int;
create function shade_json(shade) returns json language sql immutable as $$ select to_json(-1) $$;
create cast (shade as json) with function shade_json(shade);
create table makers (id int primary key, brand colour);
create table paints (
  id int primary key, name text not null, tint colour default 255, maker int references makers, dark shade default 7
);
create table keyed (id colour primary key, name text);
create view shown as select id, tint from paints;
create function everything() returns setof paints language sql stable as $$ select * from paints order by id $$;
create function first() returns paints language sql stable as $$ select * from paints where id = 1 $$;
insert into makers values (1, 16711680), (2, null);
insert into paints values (1, 'red', 16711680, 1), (2, 'blue', 255, 1), (3, 'none', null, 2), (4, 'green', 65280, null);
insert into keyed values (255, 'blue');`

const suite = layer(
  layerDatabase({ name: "row_domains", settings: { SVC_DB_AGGREGATES: "true" }, before: colours }),
  live
)

suite("casts of domains", (it) => {
  it.effect.each([
    ["paints?id=eq.1", [{ id: 1, name: "red", tint: "#ff0000", maker: 1, dark: 7 }]],
    ["paints?select=t:tint&id=in.(2,3)&order=id", [{ t: "#0000ff" }, { t: null }]],
    ["shown?id=eq.2", [{ id: 2, tint: "#0000ff" }]],
    ["paints?select=tint::text&id=eq.1", [{ tint: '"#ff0000"' }]],
    ["paints?select=id,makers(*)&id=eq.1", [{ id: 1, makers: { id: 1, brand: "#ff0000" } }]],
    [
      "makers?select=brand,paints(tint)&id=eq.1&paints.order=id",
      [{ brand: "#ff0000", paints: [{ tint: "#ff0000" }, { tint: "#0000ff" }] }]
    ],
    [
      "paints?select=id,...makers(brand)&id=lt.3&order=id",
      [
        { id: 1, brand: "#ff0000" },
        { id: 2, brand: "#ff0000" }
      ]
    ],
    // Filters.
    ["paints?select=id&tint=eq.%23ff0000", [{ id: 1 }]],
    ["paints?select=id&tint=eq.ff0000", [{ id: 1 }]],
    ["paints?select=id&tint=not.eq.0000ff&order=id", [{ id: 1 }, { id: 4 }]],
    ["paints?select=id&tint=gt.00ff00", [{ id: 1 }]],
    ["paints?select=id&tint=in.(ff0000,0000ff)&order=id", [{ id: 1 }, { id: 2 }]],
    ["paints?select=id&tint=not.in.(ff0000)&order=id", [{ id: 2 }, { id: 4 }]],
    ["paints?select=id&tint=eq(any).{ff0000,0000ff}&order=id", [{ id: 1 }, { id: 2 }]],
    ["paints?select=id&tint=gte(all).{00ff00,ff0000}", [{ id: 1 }]],
    ["paints?select=id&tint=isdistinct.ff0000&order=id", [{ id: 2 }, { id: 3 }, { id: 4 }]],
    ["paints?select=id&tint=is.null", [{ id: 3 }]],
    ["paints?select=id&or=(tint.eq.ff0000,and(tint.eq.0000ff,id.gt.1))&order=id", [{ id: 1 }, { id: 2 }]],
    ["paints?select=id,makers!inner()&makers.brand=eq.ff0000&order=id", [{ id: 1 }, { id: 2 }]],
    // Order and groups are by value.
    ["paints?select=id&order=tint.desc.nullslast&limit=2", [{ id: 1 }, { id: 4 }]],
    [
      "paints?select=tint,count()&order=tint.nullsfirst&limit=2",
      [
        { tint: null, count: 1 },
        { tint: "#0000ff", count: 1 }
      ]
    ],
    ["paints?select=tint.max()", [{ max: 16711680 }]],
    ["paints?select=...makers(brand),count()&maker=eq.1", [{ brand: "#ff0000", count: 2 }]],
    ["paints?select=...makers(brand.max())", [{ max: 16711680 }]],
    // A cast that is not implicit, as in PostgREST.
    ["paints?select=dark&dark=eq.7&id=eq.1", [{ dark: 7 }]]
  ] as const)("%s", ([line, rows]) =>
    Effect.gen(function* () {
      // Once planned, once with the shape known, once from the cache.
      for (let turn = 0; turn < 3; turn++)
        assert.deepStrictEqual(
          yield* get(line),
          rows as unknown as typeof rows & ReadonlyArray<Record<string, unknown>>
        )
    })
  )

  it.effect("read what is written, and show it", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      assert.deepStrictEqual(yield* post("paints?select=id,tint", { id: 10, name: "a", tint: "#00000a" }), [
        { id: 10, tint: "#00000a" }
      ])
      assert.deepStrictEqual(
        yield* post("paints?select=tint", [
          { id: 11, name: "b", tint: "#00000b" },
          { id: 12, name: "c" },
          { id: 13, name: "d", tint: null }
        ]),
        [{ tint: "#00000b" }, { tint: "#0000ff" }, { tint: null }]
      )
      assert.deepStrictEqual(
        yield* post("paints?select=tint", [
          { id: 14, name: "e", tint: "#00000e" },
          { id: 15, name: "f", tint: "#00000f" }
        ]),
        [{ tint: "#00000e" }, { tint: "#00000f" }]
      )
      assert.deepStrictEqual(yield* patch("paints?id=eq.10&select=tint", { tint: "#0000aa" }), [{ tint: "#0000aa" }])
      assert.deepStrictEqual(yield* sql("select tint::int from paints where id = 10"), [{ tint: 170 }])
      assert.deepStrictEqual(yield* put("keyed?id=eq.0000aa", { id: "#0000aa", name: "dim" }), [
        { id: "#0000aa", name: "dim" }
      ])
      assert.deepStrictEqual(
        yield* post("keyed", { id: "#0000aa", name: "again" }, { prefer: { resolution: "merge-duplicates" } }),
        [{ id: "#0000aa", name: "again" }]
      )
      assert.deepStrictEqual(yield* remove("paints?tint=in.(00000e,00000f)&select=id"), [{ id: 14 }, { id: 15 }])
      assert.strictEqual(yield* refusal(raw.post("paints", { id: 20, name: "g", tint: "#fffffff" })), "400 23514")
      assert.strictEqual(yield* refusal(get("paints?tint=eq.none")), "400 22P02")
    })
  )

  it.effect("show rows that functions return", () =>
    Effect.gen(function* () {
      const row = { id: 1, name: "red", tint: "#ff0000", maker: 1, dark: 7 }
      assert.deepStrictEqual(yield* rpc("first"), row)
      assert.deepStrictEqual(JSON.parse((yield* rawRpc("everything?id=eq.1")).body ?? ""), [row])
      const all = (yield* rpc("everything")) as ReadonlyArray<typeof row>
      assert.deepStrictEqual(all[0], row)
    })
  )

  it.effect("are JSON in the types of the database", () =>
    Effect.gen(function* () {
      const types = yield* (yield* DatabaseSchemas).types((yield* Db).main, [])
      assert.match(types, /tint\?: Json/)
      assert.match(types, /dark\?: number/)
    })
  )

  it.effect("apply from the moment that they are made", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("create domain late as int")
      yield* sql("create table lates (at late)")
      yield* sql("insert into lates values (5)")
      assert.deepStrictEqual(yield* get("lates"), [{ at: 5 }])
      yield* sql("create function late_json(late) returns json language sql as $$ select '\"late\"'::json $$")
      yield* sql("create cast (late as json) with function late_json(late) as implicit")
      for (let turn = 0; turn < 50; turn++) {
        if (JSON.stringify(yield* get("lates")) === '[{"at":"late"}]') return
        yield* Effect.sleep("20 millis")
      }
      assert.deepStrictEqual(yield* get("lates"), [{ at: "late" }])
    })
  )
})
