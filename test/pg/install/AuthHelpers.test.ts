import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { type Actor, Db } from "../../../src/services/ports/Db.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, get, post, refusal, rpc, service, user } from "../../support/requests.ts"

const ann = "11111111-1111-4111-8111-11111111111A"
const bob = "22222222-2222-4222-8222-222222222222"
const claimed = (claims: Readonly<Record<string, unknown>>, role: Actor["role"] = "authenticated"): Actor => ({
  role,
  claims: JSON.stringify(claims),
  sub: typeof claims["sub"] === "string" ? claims["sub"] : ""
})

const suite = layer(
  layerDatabase({
    name: "auth_helpers",
    before: `
      create table notes (id int generated always as identity primary key, owner uuid default auth.uid(), body text);
      insert into notes (owner, body) values ('${ann}', 'a'), ('${bob}', 'b'), (null, 'c');
      insert into notes (owner, body) select gen_random_uuid(), 'x' from generate_series(1, 2000);
      create index on notes (owner);
      analyze notes;
      alter table notes enable row level security;
      create policy own on notes using (owner = auth.uid());
      create table chosen (owner uuid);
      insert into chosen values ('${ann}');
      alter table chosen enable row level security;
      create policy own on chosen using ((select auth.uid()) = owner and auth.role() = 'authenticated');
      create table mails (email text, sub text, team text);
      insert into mails values ('a@x', '7', 'red'), ('b@x', '8', 'blue');
      alter table mails enable row level security;
      create policy own on mails using (email = auth.email() or sub = auth.sub() or team = auth.jwt() ->> 'team');
      create function who() returns jsonb stable return
        jsonb_build_object('uid', auth.uid(), 'sub', auth.sub(), 'role', auth.role(), 'jwt', auth.jwt(), 'email', auth.email());
      grant all on all tables in schema public to anon, authenticated;`
  }),
  live
)

suite("the helpers of schema auth", (it) => {
  it.effect("identify the caller", () =>
    Effect.gen(function* () {
      const who = (actor: Actor) => rpc("who", {}, { actor })
      const nobody = { uid: null, sub: null, jwt: {}, email: null }
      assert.deepStrictEqual(yield* who(anon), { ...nobody, jwt: { role: "anon" }, role: "anon" })
      assert.deepStrictEqual(yield* who(service), { ...nobody, jwt: { role: "service_role" }, role: "service_role" })
      const claims = { sub: ann, email: "ann@example.com", role: "postgres" }
      const known = { uid: ann.toLowerCase(), sub: ann, jwt: claims, email: "ann@example.com" }
      assert.deepStrictEqual(yield* who(claimed(claims)), { ...known, role: "authenticated" })
      assert.deepStrictEqual(yield* who(claimed(claims, "service_role")), { ...known, role: "service_role" })
      for (const sub of [
        "ann",
        `${ann}0`,
        ` ${ann}`,
        ann.replaceAll("-", ""),
        `{${ann}}`,
        "é".repeat(36),
        `${ann}\n`
      ]) {
        assert.deepStrictEqual(yield* who(claimed({ sub })), {
          ...nobody,
          role: "authenticated",
          sub,
          jwt: { sub }
        })
      }
    })
  )

  it.effect("make policies and defaults that run no user code", () =>
    Effect.gen(function* () {
      const catalogue = yield* (yield* Catalogues).get((yield* Db).main)
      for (const name of ["notes", "chosen", "mails"]) {
        const { clean_read, clean_insert, clean_change } = catalogue.relation("public", name) ?? {}
        assert.deepStrictEqual([name, clean_read, clean_insert, clean_change], [name, true, true, true])
      }
      assert.deepStrictEqual(
        catalogue.functions("public", "who").map(({ clean }) => clean),
        [true]
      )
    })
  )

  it.effect("select and own the caller's rows", () =>
    Effect.gen(function* () {
      const texts = (actor: Actor) =>
        Effect.map(get("notes?select=body", { actor }), (rows) => rows.map(({ body }) => body))
      assert.deepStrictEqual(yield* texts(user(ann)), ["a"])
      assert.deepStrictEqual(yield* texts(user(bob)), ["b"])
      assert.deepStrictEqual(yield* texts(user("no-uuid")), [])
      assert.deepStrictEqual(yield* texts(anon), [])
      const [made] = yield* post("notes", { body: "new" }, { actor: user(bob), returning: "representation" })
      assert.strictEqual(made?.["owner"], bob)
      assert.strictEqual(yield* refusal(post("notes", { body: "n", owner: ann }, { actor: user(bob) })), "403 42501")
      assert.deepStrictEqual(yield* get("chosen", { actor: user(ann) }), [{ owner: ann.toLowerCase() }])
      assert.deepStrictEqual(yield* get("chosen", { actor: user(bob) }), [])
      const mails = (claims: Readonly<Record<string, unknown>>) =>
        Effect.map(get("mails?order=email", { actor: claimed(claims) }), (rows) => rows.map(({ email }) => email))
      assert.deepStrictEqual(yield* mails({ email: "a@x" }), ["a@x"])
      assert.deepStrictEqual(yield* mails({ sub: "8" }), ["b@x"])
      assert.deepStrictEqual(yield* mails({ sub: "8", team: "red" }), ["a@x", "b@x"])
    })
  )

  it.effect("are inlined, so that an index is used", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql("set role authenticated")
      const lines = yield* sql("explain (costs off) select * from notes")
      yield* sql("reset role")
      const plan = lines.map((line) => line["QUERY PLAN"]).join("\n")
      assert.match(plan, /Index Cond: \(owner = CASE WHEN \(COALESCE\(NULLIF\(current_setting/)
    })
  )
})

const theirs = layer(
  layerDatabase({
    name: "auth_of_others",
    before: `
      drop schema auth cascade;
      create schema auth;
      create function auth.uid() returns text return 'mine';`
  }),
  live
)

theirs("a schema auth of someone else", (it) => {
  describe("stays as it is", () => {
    it.effect("without our functions", () =>
      Effect.gen(function* () {
        yield* Db
        const { sql } = yield* Outside
        const found = yield* sql(
          "select proname, auth.uid() as uid from pg_proc where pronamespace = 'auth'::regnamespace"
        )
        assert.deepStrictEqual(found, [{ proname: "uid", uid: "mine" }])
      })
    )
  })
})
