import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { anon, get, patch, post, raw, refusal, remove, service, user } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({
    name: "rows",
    settings: { SVC_DB_MAX_ROWS: "50" },
    before: `
      create table notes (id serial primary key, title text not null, done boolean default false, n int);
      create table pairs (a int, b text, v text, primary key (a, b));
      create table keyless (v int);
      create view done_notes as select id, title from notes where done;
      create table numbers (n int);
      insert into numbers select generate_series(1, 120);
      create table base (id int primary key, v text);
      create view loud as select id, v, upper(v) as loud from base;
      create function both_write() returns trigger language plpgsql as $$
      begin
        if tg_op = 'DELETE' then delete from base where id = old.id; return old; end if;
        if tg_op = 'INSERT' then insert into base values (new.id, 'in ' || new.v); new.v = 'in ' || new.v; end if;
        if tg_op = 'UPDATE' then update base set v = 'up ' || new.v where id = old.id; new.v = 'up ' || new.v; end if;
        new.loud = upper(new.v);
        return new;
      end $$;
      create trigger both_write instead of insert or update or delete on loud for each row execute function both_write();
      create table parts (id int, region text, primary key (id, region)) partition by list (region);
      create table parts_eu partition of parts for values in ('eu');
      create table parts_rest partition of parts default;
      create materialized view sums as select count(*) as c from numbers;`
  }),
  live
)

suite("tables and views", (it) => {
  describe("rows", () => {
    it.effect("are inserted, read, updated and deleted", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* post("notes", { title: "one" }), [{ id: 1, title: "one", done: false, n: null }])
        assert.deepStrictEqual(yield* post("notes?select=id,n", [{ title: "two", n: 2 }]), [{ id: 2, n: 2 }])
        assert.deepStrictEqual(yield* get("notes?select=title&order=id.desc"), [{ title: "two" }, { title: "one" }])
        assert.deepStrictEqual(yield* patch("notes?id=eq.1&select=done", { done: true }), [{ done: true }])
        assert.deepStrictEqual(yield* get("done_notes"), [{ id: 1, title: "one" }])
        assert.deepStrictEqual(yield* remove("notes?id=eq.1&select=id"), [{ id: 1 }])
        assert.deepStrictEqual(yield* remove("notes?id=eq.1"), [])
        assert.deepStrictEqual(yield* patch("notes?id=eq.1", { done: true }), [])
        assert.deepStrictEqual(yield* get("notes?id=eq.1"), [])
      })
    )

    it.effect("are not changed if more rows match than the limit", () =>
      Effect.gen(function* () {
        yield* post(
          "notes",
          [1, 2, 3].map((n) => ({ title: `limited ${n}`, n: 777 }))
        )
        const [refused, done] = ["400 LIMIT_NOT_ALLOWED", "notes?n=eq.777&done=is.true&select=n"]
        assert.strictEqual(yield* refusal(patch("notes?n=eq.777&limit=2", { done: true })), refused)
        assert.strictEqual(yield* refusal(patch("notes?n=eq.777&limit=0", { done: true })), refused)
        assert.strictEqual(yield* refusal(patch("notes?n=eq.777&offset=1", { done: true })), refused)
        assert.deepStrictEqual(yield* get(done), [])
        assert.lengthOf(yield* patch("notes?n=eq.777&limit=3&offset=0", { done: true }), 3)
        assert.strictEqual(yield* refusal(remove("notes?n=eq.777&limit=1")), refused)
        assert.lengthOf(yield* get(done), 3)
        assert.lengthOf(yield* remove("notes?n=eq.777&limit=9&order=id"), 3)
      })
    )

    it.effect("are written through views", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* post("done_notes", { id: 100, title: "seen" }), [{ id: 100, title: "seen" }])
        assert.deepStrictEqual(yield* patch("notes?id=eq.100&select=done", { done: true }), [{ done: true }])
        assert.deepStrictEqual(yield* patch("done_notes?id=eq.100", { title: "new" }), [{ id: 100, title: "new" }])
        assert.deepStrictEqual(yield* remove("done_notes?id=eq.100"), [{ id: 100, title: "new" }])
      })
    )

    it.effect("are written through views with INSTEAD OF triggers", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* post("loud", { id: 1, v: "x" }), [{ id: 1, v: "in x", loud: "IN X" }])
        assert.deepStrictEqual(yield* post("loud", [{ id: 2 }, { id: 3, v: "y" }]), [
          { id: 2, v: null, loud: null },
          { id: 3, v: "in y", loud: "IN Y" }
        ])
        assert.deepStrictEqual(yield* patch("loud?id=eq.1", { v: "z" }), [{ id: 1, v: "up z", loud: "UP Z" }])
        assert.deepStrictEqual(yield* remove("loud?loud=eq.UP%20Z&select=id"), [{ id: 1 }])
        assert.deepStrictEqual(yield* get("base?select=id&order=id"), [{ id: 2 }, { id: 3 }])
      })
    )

    it.effect("of partitioned tables are found in every partition", () =>
      Effect.gen(function* () {
        yield* post("parts", [
          { id: 1, region: "eu" },
          { id: 2, region: "us" }
        ])
        const { sql } = yield* Outside
        assert.deepStrictEqual(yield* sql("select * from parts_eu"), [{ id: 1, region: "eu" }])
        assert.deepStrictEqual(yield* patch("parts?id=eq.1", { region: "asia" }), [{ id: 1, region: "asia" }])
        assert.deepStrictEqual(yield* sql("select id from parts_rest order by id"), [{ id: 1 }, { id: 2 }])
        assert.deepStrictEqual(yield* remove("parts?id=in.(1,2)&select=id"), [{ id: 2 }, { id: 1 }])
      })
    )

    it.effect("need no primary key, nor a single-column one", () =>
      Effect.gen(function* () {
        yield* post("keyless", [{ v: 1 }, { v: 1 }])
        assert.deepStrictEqual(yield* patch("keyless?v=eq.1", { v: 2 }), [{ v: 2 }, { v: 2 }])
        assert.deepStrictEqual(yield* remove("keyless?v=eq.2"), [{ v: 2 }, { v: 2 }])
        yield* post("pairs", [
          { a: 1, b: "x" },
          { a: 1, b: "y" }
        ])
        assert.deepStrictEqual(yield* patch("pairs?a=eq.1&b=eq.y", { v: "!" }), [{ a: 1, b: "y", v: "!" }])
      })
    )

    it.effect("materialized views are read, not written", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* get("sums"), [{ c: 120 }])
        assert.strictEqual(yield* refusal(post("sums", { c: 1 })), "400 42809")
      })
    )
  })

  describe("responses of writes", () => {
    it.effect("have only a count with return=minimal", () =>
      Effect.gen(function* () {
        const minimal = { returning: "minimal" } as const
        const some = [{ v: 7 }, { v: 7 }]
        assert.deepInclude(yield* raw.post("keyless", some, minimal), { body: "", count: 2, offset: 0 })
        assert.deepInclude(yield* raw.patch("keyless?v=eq.7", { v: 8 }, minimal), { body: "", count: 2, offset: 0 })
        assert.deepInclude(yield* raw.remove("keyless?v=eq.8", minimal), { body: "", count: 2, offset: 0 })
      })
    )

    it.effect("have all columns if `select` is empty", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* post("keyless?select=", [{ v: 1 }, { v: 2 }]), [{ v: 1 }, { v: 2 }])
        assert.deepStrictEqual(yield* get("keyless?select="), [{ v: 1 }, { v: 2 }])
        assert.deepStrictEqual(yield* patch("keyless?select=&v=eq.1", { v: 2 }), [{ v: 2 }])
        assert.deepStrictEqual(yield* remove("keyless?select=&v=eq.2"), [{ v: 2 }, { v: 2 }])
      })
    )

    it.effect("may repeat columns", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* raw.get("numbers?select=n,n&n=eq.5")).body, '[{"n":5,"n":5}]')
        assert.strictEqual((yield* raw.post("keyless?select=*,v", { v: 5 })).body, '[{"v":5,"v":5}]')
        assert.deepStrictEqual(yield* remove("keyless?v=eq.5&select=v"), [{ v: 5 }])
      })
    )
  })

  describe("pages", () => {
    it.effect.each([
      ["", 50, 0, 1],
      ["limit=3", 3, 0, 1],
      ["limit=3&offset=10", 3, 10, 11],
      ["offset=110", 10, 110, 111],
      ["offset=119&limit=5", 1, 119, 120],
      ["offset=120", 0, 120, undefined],
      ["offset=999999999999999", 0, 999_999_999_999_999, undefined],
      ["limit=0", 0, 0, undefined],
      ["limit=49", 49, 0, 1],
      ["limit=51", 50, 0, 1],
      ["limit=999999999999999999", 50, 0, 1],
      ["limit=007&offset=00", 7, 0, 1]
    ] as const)("%s", ([query, count, offset, first]) =>
      Effect.gen(function* () {
        const answer = yield* raw.get(`numbers?order=n&${query}`)
        assert.deepInclude(answer, { count, offset })
        const rows = JSON.parse(answer.body) as ReadonlyArray<{ readonly n: number }>
        assert.strictEqual(rows.length, count)
        assert.strictEqual(rows[0]?.n, first)
      })
    )

    it.effect("reject values that are not whole numbers", () =>
      Effect.gen(function* () {
        for (const query of ["limit=", "limit=1.5", "offset=x", "limit=1e3", "limit=٣"]) {
          assert.strictEqual(yield* refusal(get(`numbers?${query}`)), "400 PGRST100", query)
        }
        assert.strictEqual(yield* refusal(get("numbers?limit=-1")), "416 PGRST103")
        assert.deepStrictEqual(
          yield* get("numbers?offset=-4&select=n&order=n&limit=1"),
          yield* get("numbers?select=n&order=n&limit=1")
        )
      })
    )

    it.effect("are capped for reads, but not for responses of writes", () =>
      Effect.gen(function* () {
        const rows = Array.from({ length: 60 }, (_, v) => ({ v }))
        assert.strictEqual((yield* post("keyless", rows)).length, 60)
        assert.strictEqual((yield* remove("keyless?v=gte.0")).length, 60)
      })
    )
  })

  describe("writes", () => {
    it.effect("that update or delete require a filter", () =>
      Effect.gen(function* () {
        for (const query of ["", "?select=v", "?order=v&limit=1&offset=0", "?columns=v&on_conflict=v", "?=eq.1"]) {
          assert.strictEqual(yield* refusal(patch(`keyless${query}`, { v: 1 })), "400 FILTER_REQUIRED", query)
          assert.strictEqual(yield* refusal(remove(`keyless${query}`)), "400 FILTER_REQUIRED", query)
        }
      })
    )

    it.effect("may be empty", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* post("notes", []), [])
        assert.deepStrictEqual(yield* patch("notes?id=gt.0", {}), [])
      })
    )

    it.effect("use only the keys of the body that columns= names", () =>
      Effect.gen(function* () {
        const made = yield* post("notes?columns=title,n&select=title,n,done", { title: "t", n: 1, done: true, x: 1 })
        assert.deepStrictEqual(made, [{ title: "t", n: 1, done: false }])
        // Columns that are not in the body keep their value.
        const changed = yield* patch("notes?columns=title,n&title=eq.t&select=title,n,done", { title: "u", done: true })
        assert.deepStrictEqual(changed, [{ title: "u", n: 1, done: false }])
        assert.strictEqual(yield* refusal(post("notes?columns=title,nope", { title: "t" })), "400 PGRST204")
      })
    )

    it.effect("are rolled back when one of the rows is rejected", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* refusal(post("notes", [{ title: "half" }, { title: null }])), "400 23502")
        assert.deepStrictEqual(yield* get("notes?title=eq.half"), [])
      })
    )
  })

  describe("privileges", () => {
    it.effect("that are missing are 401 without a JWT, 403 with one", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql("create table secrets (id int); revoke all on secrets from anon, authenticated")
        for (const act of [get("secrets", { actor: anon }), post("secrets", { id: 1 }, { actor: anon })]) {
          assert.strictEqual(yield* refusal(act), "401 42501")
        }
        assert.strictEqual(yield* refusal(get("secrets", { actor: user("a") })), "403 42501")
        assert.strictEqual(yield* refusal(remove("secrets?id=eq.1", { actor: user("a") })), "403 42501")
        assert.strictEqual(yield* refusal(get("secrets", { actor: service })), "200")
      })
    )

    it.effect("include row-level security for reads and writes", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql(`
        create table own (id int generated always as identity, owner text default current_setting('request.jwt.sub'), v text);
        alter table own enable row level security;
        create policy own on own to authenticated using (owner = current_setting('request.jwt.sub'));
        create policy look on own for select to anon using (v = 'public')`)
        const [ann, bob] = [user("ann"), user("bob")]
        yield* post("own", [{ v: "public" }, { v: "private" }], { actor: ann })
        assert.deepStrictEqual(yield* get("own?select=owner,v&order=id", { actor: ann }), [
          { owner: "ann", v: "public" },
          { owner: "ann", v: "private" }
        ])
        assert.deepStrictEqual(yield* get("own", { actor: bob }), [])
        assert.deepStrictEqual(yield* get("own?select=v", { actor: anon }), [{ v: "public" }])
        assert.deepStrictEqual(yield* patch("own?id=gt.0", { v: "mine" }, { actor: bob }), [])
        assert.deepStrictEqual(yield* remove("own?id=gt.0", { actor: anon }), [])
        assert.strictEqual(yield* refusal(post("own", { owner: "ann" }, { actor: bob })), "403 42501")
        assert.strictEqual(yield* refusal(post("own", { v: "public" }, { actor: anon })), "401 42501")
        assert.strictEqual(yield* refusal(patch("own?v=eq.public", { owner: "bob" }, { actor: ann })), "403 42501")
        assert.strictEqual((yield* get("own")).length, 2)
      })
    )
  })
})
