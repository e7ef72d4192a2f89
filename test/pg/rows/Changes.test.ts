import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import {
  anon,
  refusal,
  get as sendGet,
  patch as sendPatch,
  post as sendPost,
  remove as sendRemove,
  rpc as sendRpc
} from "../../support/requests.ts"

const soon = { times: 200, schedule: Schedule.spaced("10 millis") }

/** Sends a request again, as its response asks, when definitions changed so that it may have run user code. */
const again =
  <Args extends ReadonlyArray<unknown>, A, E extends { readonly code: string }, R>(
    send: (...args: Args) => Effect.Effect<A, E, R>
  ) =>
  (...args: Args) =>
    Effect.retry(send(...args), { while: ({ code }) => code === "EXECUTION_IN_DOUBT", ...soon })
const get = again(sendGet)
const patch = again(sendPatch)
const post = again(sendPost)
const remove = again(sendRemove)
const rpc = again(sendRpc)

for (const reported of [true, false]) {
  layer(layerDatabase({ name: reported ? "row_changes" : "row_changes_unheard" }), live)(
    reported ? "changes that the event trigger reports" : "changes without the event trigger",
    (it) => {
      const prepare = Effect.gen(function* () {
        const { sql } = yield* Outside
        const catalogues = yield* Catalogues
        const { main } = yield* Db
        if (!reported) {
          yield* sql("drop event trigger if exists svc_ddl")
          yield* catalogues.changed(main)
        }
        const catalogue = yield* Effect.repeat(catalogues.get(main), {
          until: (now) => (catalogues.epoch(main, now) !== undefined) === reported,
          ...soon
        })
        assert.strictEqual(catalogues.epoch(main, catalogue) !== undefined, reported)
        return sql
      })

      it.effect("apply to a table just created, altered, renamed, dropped and recreated", () =>
        Effect.gen(function* () {
          const sql = yield* prepare
          assert.strictEqual(yield* refusal(get("fresh")), "404 PGRST205")
          yield* sql("create table fresh (id int)")
          assert.deepStrictEqual(yield* get("fresh"), [])
          yield* sql("alter table fresh add v text default 'd'")
          assert.deepStrictEqual(yield* post("fresh", { id: 1, v: "x" }), [{ id: 1, v: "x" }])
          assert.deepStrictEqual(yield* post("fresh", [{ id: 2 }, { v: "y" }]), [
            { id: 2, v: "d" },
            { id: null, v: "y" }
          ])
          yield* sql("alter table fresh rename v to w")
          assert.deepStrictEqual(yield* get("fresh?w=eq.x"), [{ id: 1, w: "x" }])
          assert.deepStrictEqual(yield* patch("fresh?w=eq.x", { w: "z" }), [{ id: 1, w: "z" }])
          assert.strictEqual(yield* refusal(get("fresh?v=eq.x")), "400 42703")
          assert.strictEqual(yield* refusal(post("fresh", { v: "x" })), "400 PGRST204")
          yield* sql("alter table fresh drop w")
          assert.deepStrictEqual(yield* get("fresh?id=eq.1"), [{ id: 1 }])
          yield* sql("alter table fresh rename to older")
          assert.match(yield* refusal(get("fresh")), /^404 (42P01|PGRST205)$/)
          assert.deepStrictEqual(yield* remove("older?id=eq.1"), [{ id: 1 }])
          yield* sql("drop table older; create view older as select 7 as seven")
          assert.deepStrictEqual(yield* get("older"), [{ seven: 7 }])
          yield* sql("drop view older")
          assert.match(yield* refusal(get("older")), /^404 (42P01|PGRST205)$/)
        })
      )

      it.effect("apply to a column whose type changes", () =>
        Effect.gen(function* () {
          const sql = yield* prepare
          yield* sql("create table retyped (v int); insert into retyped values (1)")
          // Repeated until the statement is prepared on every connection.
          for (let i = 0; i < 30; i++) assert.deepStrictEqual(yield* get("retyped?v=eq.1"), [{ v: 1 }])
          for (const [type, text, value] of [
            ["text", "1", "1"],
            ["numeric using v::numeric", "1.0", 1],
            ["bigint", "1", 1],
            ["date using '2026-01-01'", "2026-01-01", "2026-01-01"],
            ["timestamptz using '2026-01-01T12:00Z'", "2026-01-01T14:00:00%2B02", "2026-01-01T12:00:00+00:00"],
            ["int using 1", "1", 1]
          ] as const) {
            yield* sql(`alter table retyped alter v type ${type}`)
            // A type that parses the same text differently is known once the change is reported.
            // Until then the result of a connection depends on its prepared statements.
            const known = { until: (rows: ReadonlyArray<unknown>) => rows.length > 0, ...soon }
            const found = yield* Effect.repeat(get(`retyped?v=eq.${text}`), known)
            assert.deepStrictEqual(found, [{ v: value }], type)
            const changed = yield* Effect.repeat(patch(`retyped?v=eq.${text}`, { v: value }), known)
            assert.deepStrictEqual(changed, [{ v: value }], type)
          }
          yield* sql("create type hue as enum ('red'); alter table retyped alter v type hue using 'red'")
          assert.deepStrictEqual(yield* get("retyped?v=eq.red"), [{ v: "red" }])
          yield* sql("alter table retyped alter v type text; drop type hue; create type hue as enum ('red')")
          yield* sql("alter table retyped alter v type hue using 'red'")
          assert.deepStrictEqual(yield* get("retyped?v=eq.red"), [{ v: "red" }])
          assert.deepStrictEqual(yield* remove("retyped?v=eq.red"), [{ v: "red" }])
        })
      )

      it.effect("apply to privileges and policies", () =>
        Effect.gen(function* () {
          const sql = yield* prepare
          yield* sql("create table guarded (v int); insert into guarded values (1)")
          assert.deepStrictEqual(yield* get("guarded", { actor: anon }), [{ v: 1 }])
          yield* sql("alter table guarded enable row level security")
          assert.deepStrictEqual(yield* get("guarded", { actor: anon }), [])
          yield* sql("create policy all_of_it on guarded using (true)")
          assert.deepStrictEqual(yield* get("guarded", { actor: anon }), [{ v: 1 }])
          yield* sql("revoke select on guarded from anon")
          assert.strictEqual(yield* refusal(get("guarded", { actor: anon })), "401 42501")
        })
      )

      it.effect("apply to a function created, replaced, overloaded and dropped", () =>
        Effect.gen(function* () {
          const sql = yield* prepare
          const answers = (name: string, body: unknown, expected: unknown) =>
            Effect.gen(function* () {
              const last = yield* Effect.repeat(Effect.result(rpc(name, body)), {
                // Notifications arrive with a delay; a lookup finds the change at once.
                until: (now) =>
                  !reported || (now._tag === "Success" && JSON.stringify(now.success) === JSON.stringify(expected)),
                ...soon
              })
              assert.deepStrictEqual(last._tag === "Success" ? last.success : last.failure, expected)
            })
          assert.strictEqual(yield* refusal(rpc("made", { a: 1 })), "404 PGRST202")
          yield* sql("create function made(a int) returns int language sql as 'select a + 1'")
          assert.strictEqual(yield* rpc("made", { a: 1 }), 2)
          yield* sql("create or replace function made(a int) returns int language sql as 'select a + 2'")
          assert.strictEqual(yield* rpc("made", { a: 1 }), 3)
          yield* sql(
            "drop function made; create function made(a text) returns text language sql as $$ select a || '!' $$"
          )
          yield* answers("made", { a: "x" }, "x!")
          yield* sql(
            "drop function made; create function made(a text) returns setof text language sql as $$ values (a), (a) $$"
          )
          yield* answers("made", { a: "x" }, ["x", "x"])
          yield* sql("drop function made; create function made(a text, out b text) language sql as $$ select a $$")
          yield* answers("made", { a: "x" }, { b: "x" })
          yield* sql("create function made(a text, c int) returns text language sql as $$ select a || c $$")
          assert.strictEqual(yield* rpc("made", { a: "x", c: 1 }), "x1")
          yield* sql("drop function made(text)")
          assert.match(yield* refusal(rpc("made", { a: "x" })), /^404 (PGRST202|42883)$/)
        })
      )
    }
  )
}
