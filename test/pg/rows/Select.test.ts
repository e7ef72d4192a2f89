import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { library } from "../../support/docs/library.ts"
import { get, post, raw, refusal } from "../../support/requests.ts"

const suite = layer(layerDatabase({ name: "row_select", settings: { SVC_DB_MAX_ROWS: "4" }, before: library }), live)

const answers = (line: string, expected: unknown) =>
  Effect.map(get(line), (found) => assert.deepStrictEqual(found as unknown, expected))

suite("select", (it) => {
  describe("returns", () => {
    it.effect.each([
      ["books?select=n:title,title&id=eq.1", [{ n: "Alpha", title: "Alpha" }]],
      ["books?select=id::text,p:price::int,price::numeric&id=eq.1", [{ id: "1", p: 6, price: 5.5 }]],
      ["books?select=price::double precision,id::char varying,id::VARCHAR&id=eq.1", undefined],
      [
        "books?select=meta->k->n,first:meta->k->n->0,last:meta->k->n->>-1&id=eq.1",
        [{ n: [10, 20, 30], first: 10, last: "30" }]
      ],
      ["books?select=meta->k->n->1,raw->>r,meta->>s&id=eq.1", [{ n: 20, r: "1", s: "x" }]],
      ["books?select=meta->1->z,meta->0&id=eq.4", [{ z: true, meta: 1 }]],
      ["books?select=meta->nope->deep,meta->99&id=eq.1", [{ deep: null, meta: null }]],
      ["books?select=tags->0,tags->>1&id=eq.1", [{ tags: "a" }]],
      ["books?select=n:meta->>s::text,k:meta->k->n->0::int&id=eq.1", [{ n: "x", k: 10 }]],
      ["books?select=loud,l:loud&id=eq.2", [{ loud: "BETA", l: "BETA" }]],
      ["books?select=publishers()&id=eq.2", [{}]],
      ["books?select=id&loud=eq.GAMMA", [{ id: 3 }]],
      ["books?select=id&order=loud.desc&limit=1", [{ id: 3 }]]
    ] as ReadonlyArray<readonly [string, unknown]>)("%s", ([line, expected]) =>
      expected === undefined
        ? Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, "200"))
        : line.includes("tags->0")
          ? Effect.map(raw.get(line), ({ body }) => assert.strictEqual(body, '[{"tags":"a","tags":"b"}]'))
          : answers(line, expected)
    )

    it.effect.each([
      ["books?select=id::nope", "400 42704"],
      ["books?select=id::select", "400 42704"],
      ["books?select=id::int4 x", "400 42704"],
      ["books?select=id::1x", "400 42704"],
      ["books?select=title::int", "400 22P02"],
      ["books?select=nope", "400 42703"],
      ["books?select=nope->a", "400 42703"],
      ["books?select=*,nope:id::text::int", "400 PGRST100"],
      [`books?select=${"reviews(books(".repeat(5)}reviews(id)${"))".repeat(5)}`, "400 EMBEDS_TOO_DEEP"],
      [`books?select=${Array.from({ length: 51 }, (_, n) => `e${n}:reviews(id)`).join()}`, "400 TOO_MANY_EMBEDS"]
    ] as const)("%s", ([line, expected]) =>
      Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, expected))
    )
  })

  describe("filters within JSON and other values", () => {
    it.effect.each([
      ["meta->k->n->0=eq.10", [1]],
      ["meta->>s=in.(x,y)", [1, 2]],
      ["meta->>s=like.*&order=id", [1, 2]],
      ["meta->k=is.null&meta=not.is.null", [4]],
      ["meta->k->>n=is.null&meta->>s=not.is.null", [2]],
      ["meta->1->>z=eq.true", [4]],
      ['meta=cs.{"s":"x"}', [1]],
      ["raw->>r=gt.1", [2]],
      ["tags=cs.{b}", [1, 2]],
      ["tags=cd.{b,c}", [2, 4]],
      ["tags=ov.{a,z}", [1]],
      ["tags->>0=eq.b", [2]],
      ["words=fts.dog", [1, 4]],
      ["words=fts(english).run %26 dog", [1]],
      ["words=plfts(english).running dogs", [1]],
      ["words=phfts(english).sleeping cats", [2]],
      ["words=wfts(english).cats or run", [1, 2]],
      ["words=not.wfts(english).cats", [1, 4]],
      ["title=fts.alpha", [1]],
      ["title=wfts(simple).alpha or beta", [1, 2]],
      ["meta->>s=plfts(simple).y", [2]],
      ["loud=fts(simple).delta", [4]],
      ["title=eq(any).{Alpha,Beta}", [1, 2]],
      ["title=like(any).{*lph*,*amm*}", [1, 3]],
      ["title=like(all).{*a,A*}", [1]],
      ["id=gt(all).{1,2}", [3, 4]],
      ["title=not.ilike(any).{a*,b*}", [3, 4]],
      ["title=match.^[AB]", [1, 2]],
      ["title=imatch.^[ab].*", [1, 2]],
      ["title=match(any).{^A,^G}", [1, 3]],
      ["price=isdistinct.7", [1, 2, 3]],
      ["price=not.isdistinct.7", [4]]
    ] as const)("%s", ([query, expected]) =>
      Effect.map(get(`books?select=id&${query}${query.includes("order") ? "" : "&order=id"}`), (rows) =>
        assert.deepStrictEqual(
          rows.map((row) => row["id"]),
          [...expected]
        )
      )
    )

    it.effect.each([
      ["title=fts(nope).x", "400 42704"],
      ["words=fts.%26", "400 42601"],
      ["id=fts.1", "404 42883"],
      ["id=eq(any).1", "400 22P02"],
      ["title=match.[", "400 2201B"],
      ["id=cs.{1}", "400 42883"]
    ] as const)("%s", ([query, expected]) =>
      Effect.map(refusal(get(`books?select=id&${query}`)), (found) => assert.strictEqual(found, expected))
    )
  })

  describe("sorts by", () => {
    it.effect.each([
      ["meta->>s.desc.nullslast,id", [2, 1, 3, 4]],
      ["meta->k->n->0.nullsfirst,id.desc", [4, 3, 2, 1]],
      ["raw->>r.desc.nullslast,id.desc", [2, 1, 4, 3]]
    ] as const)("%s", ([order, expected]) =>
      Effect.map(get(`books?select=id&order=${order}`), (rows) =>
        assert.deepStrictEqual(
          rows.map((row) => row["id"]),
          [...expected]
        )
      )
    )
  })

  it.effect("supports media types", () =>
    Effect.gen(function* () {
      const object = { form: { media: "object" } } as const
      assert.strictEqual((yield* raw.get("books?select=id,price&id=eq.3", object)).body, '{"id":3,"price":null}')
      assert.strictEqual(
        (yield* raw.get("books?select=id,price&id=eq.3", { form: { media: "object", stripNulls: true } })).body,
        '{"id":3}'
      )
      assert.deepStrictEqual(
        JSON.parse((yield* raw.get("books?select=id,price&order=id&id=gt.2", { form: { stripNulls: true } })).body),
        [{ id: 3 }, { id: 4, price: 7 }]
      )
      assert.strictEqual(yield* refusal(raw.get("books?id=lt.0", object)), "406 PGRST116")
      assert.deepInclude(yield* Effect.flip(raw.get("books?id=lt.3", object)), {
        error: "Cannot coerce the result to a single JSON object",
        details: "The result contains 2 rows"
      })
      const csv = { form: { media: "csv" } } as const
      assert.strictEqual(
        (yield* raw.get('books?select=id,title,t:tags,"a,b":price&order=id&id=lt.4', csv)).body,
        'id,title,t,"a,b"\n1,Alpha,"{a,b}",5.50\n2,Beta,{b},15\n3,Gamma,,'
      )
      assert.strictEqual((yield* raw.get("books?id=lt.0&select=id,title", csv)).body, "id,title\n")
      assert.deepInclude(yield* raw.get("books", { method: "HEAD" }), { body: "", count: 4 })
    })
  )

  it.effect("returns plans", () =>
    Effect.gen(function* () {
      const text = yield* raw.get("books?select=id,reviews(id)&id=eq.1", { form: { media: "plan-text" } })
      assert.match(text.body, /^Aggregate .*\n.*reviews_1/s)
      const json = yield* raw.get("books?id=eq.1", { form: { media: "plan-json", options: ["analyze", "verbose"] } })
      assert.hasAllKeys((JSON.parse(json.body) as ReadonlyArray<object>)[0], [
        "Plan",
        "Planning",
        "Planning Time",
        "Triggers",
        "Execution Time"
      ])
      const written = yield* raw.post("publishers", { id: 77, name: "x" }, { form: { media: "plan-text" } })
      assert.include(written.body, "Insert on publishers")
      assert.deepStrictEqual(yield* get("publishers?id=eq.77"), [])
    })
  )

  it.effect("honours the preferences timezone and tx=rollback", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(
        "create table moments (id int primary key, at timestamptz); insert into moments values (1, '2026-01-01T12:00Z')"
      )
      const oslo = yield* get("moments?select=at", { prefer: { timezone: "Europe/Oslo" } })
      assert.deepStrictEqual(oslo, [{ at: "2026-01-01T13:00:00+01:00" }])
      assert.strictEqual(yield* refusal(get("moments", { prefer: { timezone: "Nowhere" } })), "400 22023")
      const rolled = yield* post("moments?select=id", { id: 2 }, { prefer: { tx: "rollback" } })
      assert.deepStrictEqual(rolled, [{ id: 2 }])
      assert.deepStrictEqual(yield* get("moments?select=id"), [{ id: 1 }])
    })
  )

  it.effect("counts rows", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(
        "create table many (id int primary key, book int references books); insert into many select n, n % 3 from generate_series(3, 12) n where n % 3 <> 0"
      )
      yield* sql("analyze many")
      const total = (line: string, count: "exact" | "planned" | "estimated" = "exact") =>
        Effect.map(raw.get(line, { prefer: { count } }), (answer) => [answer.count, answer.total])
      assert.deepStrictEqual(yield* total("many"), [4, 6])
      assert.deepStrictEqual(yield* total("many?limit=2"), [2, 6])
      assert.deepStrictEqual(yield* total("many?limit=3&offset=4"), [2, 6])
      assert.deepStrictEqual(yield* total("many?offset=9"), [0, 6])
      assert.deepStrictEqual(yield* total("many?limit=0"), [0, 6])
      assert.deepStrictEqual(yield* total("many?id=gt.6"), [4, 4])
      assert.deepStrictEqual(yield* total("many?id=gt.9"), [2, 2])
      assert.deepStrictEqual(yield* total("many?id=gt.5&limit=1&select=id,books!inner(id)&books.id=eq.1"), [1, 2])
      assert.deepStrictEqual(yield* total("books?select=id,many()&many=is.null&limit=1"), [1, 2])
      assert.deepStrictEqual(yield* total("books?select=id,many()&or=(many.not.is.null,id.eq.3)&limit=1"), [1, 3])
      assert.deepStrictEqual(yield* total("many", "planned"), [4, 6])
      assert.deepStrictEqual(yield* total("many?id=gt.9", "estimated"), [2, 2])
      assert.deepStrictEqual(yield* total("many", "estimated"), [4, 6])
      assert.strictEqual((yield* raw.get("many")).total, undefined)
      const written = yield* raw.patch("many?id=gt.9", { book: 2 }, { prefer: { count: "exact" } })
      assert.deepInclude(written, { count: 2, total: 2 })
    })
  )

  it.effect("combines Range with limit and offset", () =>
    Effect.gen(function* () {
      const ids = (line: string, offset: number, limit?: number) =>
        Effect.map(raw.get(line, { range: { offset, limit } }), ({ body, offset }) => [
          ...(JSON.parse(body) as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id),
          offset
        ])
      assert.deepStrictEqual(yield* ids("books?select=id&order=id", 1, 2), [2, 3, 1])
      assert.deepStrictEqual(yield* ids("books?select=id&order=id", 2), [3, 4, 2])
      assert.deepStrictEqual(yield* ids("books?select=id&order=id&limit=2", 1, 9), [2, 1])
      assert.deepStrictEqual(yield* ids("books?select=id&order=id&offset=2&limit=2", 0, 3), [3, 2])
      assert.deepStrictEqual(yield* ids("books?select=id&order=id&limit=0", 0, 3), [0])
      assert.strictEqual(yield* refusal(raw.get("books", { range: { offset: 5, limit: 0 } })), "416 PGRST103")
      assert.strictEqual(yield* refusal(raw.get("books?limit=2", { range: { offset: 5, limit: 2 } })), "416 PGRST103")
    })
  )

  it.effect("finds a table and a foreign key that were just created", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      assert.strictEqual(yield* refusal(get("books?select=id,fresh(id)")), "400 PGRST200")
      yield* sql("create table fresh (id int primary key, book int references books)")
      yield* post("fresh", { id: 1, book: 1 })
      assert.deepStrictEqual(yield* get("books?select=id,fresh(id)&id=eq.1"), [{ id: 1, fresh: [{ id: 1 }] }])
    })
  )
})
