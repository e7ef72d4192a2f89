import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { holds } from "../../support/properties.ts"
import { get, raw } from "../../support/requests.ts"

const cap = 25

const suite = layer(
  layerDatabase({
    name: "row_paging",
    settings: { SVC_DB_MAX_ROWS: String(cap) },
    before: `
      create table groups (id int primary key, name text, rank int);
      insert into groups values (1, 'b', 2), (2, 'a', null), (3, null, 1);
      create table things (id int primary key, n int, t text, doc jsonb, "group" int references groups);
      insert into things
        select i, nullif(i % 4, 0), (array['b', 'a', null, 'B', ''])[1 + i % 5],
          (array['{"k": 2}', '{"k": "1"}', null, '{}', '{"k": null}'])[1 + i % 5]::jsonb, nullif(i % 4, 0)
        from generate_series(1, 23) i;
      create table parts (id int primary key, thing int references things, size int);
      insert into parts select i, 1 + i * 7 % 23, nullif(i % 3, 0) from generate_series(1, 80) i;`
  }),
  live
)

/** A term of an order in the grammar, and in SQL. */
const term = fc
  .tuple(
    fc.constantFrom(
      ["n", "n"],
      ["t", "t"],
      ["doc->k", "doc->'k'"],
      ["doc->>k", "doc->>'k'"],
      ["groups(rank)", "rank"],
      ["groups(name)", "name"]
    ),
    fc.constantFrom("", ".asc", ".desc"),
    fc.constantFrom("", ".nullsfirst", ".nullslast")
  )
  .map(([[field = "", column = ""], direction, nulls]) => ({
    grammar: `${field}${direction}${nulls}`,
    sql: `${column} ${direction.slice(1)} ${nulls.replace(".nulls", "nulls ")}`
  }))
const order = fc.array(term, { maxLength: 3 }).chain((terms) =>
  fc.constantFrom("asc", "desc").map((last) => ({
    grammar: [...terms.map(({ grammar }) => grammar), `id.${last}`].join(),
    sql: [...terms.map(({ sql }) => sql), `things.id ${last}`].join()
  }))
)
const filter = fc.constantFrom<readonly [grammar: string, sql: string]>(
  ["", "true"],
  ["&n=gt.1", "n > 1"],
  ["&t=is.null", "t is null"],
  ["&id=lt.0", "false"],
  ["&or=(n.eq.1,t.eq.a)", "n = 1 or t = 'a'"]
)

const idsBySql = ([, where]: readonly [string, string], by: { readonly sql: string }) =>
  Effect.gen(function* () {
    const { sql } = yield* Outside
    const rows = yield* sql(
      `select things.id from things left join groups on groups.id = "group" where ${where} order by ${by.sql}`
    )
    return rows.map(({ id }) => Number(id))
  })
const ids = (text: string) => (JSON.parse(text) as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id)

suite("pages", (it) => {
  it.effect("with limit and offset add up to all rows, in order", () =>
    holds(fc.tuple(filter, order, fc.integer({ min: 1, max: 30 })), ([where, by, size]) =>
      Effect.gen(function* () {
        const all = yield* idsBySql(where, by)
        const line = `things?select=id,groups()${where[0]}&order=${by.grammar}`
        const pages: Array<number> = []
        for (let offset = 0; offset < all.length + size; offset += size) {
          const prefer = { count: "exact" } as const
          const page = yield* raw.get(`${line}&limit=${size}&offset=${offset}`, { prefer })
          assert.deepInclude(page, { total: all.length, offset })
          assert.strictEqual(page.count, ids(page.body).length)
          pages.push(...ids(page.body))
        }
        assert.deepStrictEqual(pages, all)
      })
    )
  )

  it.effect("with Range add up to the rows within limit and offset", () =>
    holds(
      fc.tuple(filter, order, fc.nat(26), fc.option(fc.integer({ min: 1, max: 26 }), { nil: undefined })),
      ([where, by, offset, limit]) =>
        Effect.gen(function* () {
          const all = yield* idsBySql(where, by)
          const line = `things?select=id,groups()${where[0]}&order=${by.grammar}`
          const range = { offset, limit }
          const page = yield* raw.get(line, { range })
          const end = limit === undefined ? undefined : offset + limit
          assert.deepStrictEqual(ids(page.body), all.slice(offset, end))
          // Both are offsets in the whole result, not relative to each other.
          const within = yield* raw.get(`${line}&limit=9&offset=3`, { range }).pipe(
            Effect.map(({ body }) => ids(body)),
            Effect.catchIf(
              ({ status }) => status === 416 && (offset >= 12 || (end ?? 99) <= 3),
              () => Effect.succeed([])
            )
          )
          assert.deepStrictEqual(
            within,
            all.slice(Math.max(3, offset), Math.max(0, Math.min(12, end ?? Number.POSITIVE_INFINITY)))
          )
        })
    )
  )

  it.effect("of embedded rows add up for each row around them", () =>
    holds(
      fc.tuple(
        fc.integer({ min: 1, max: 6 }),
        fc.constantFrom("size.desc,id", "id.desc", "size.asc.nullsfirst,id.desc")
      ),
      ([size, by]) =>
        Effect.gen(function* () {
          const line = `things?select=id,parts(id,size)&order=id&parts.order=${by}`
          interface Around {
            readonly id: number
            readonly parts: ReadonlyArray<{ readonly id: number }>
          }
          const all = (yield* get(line)) as unknown as ReadonlyArray<Around>
          assert.strictEqual(all.flatMap(({ parts }) => parts).length, 80)
          const pages = all.map((): Array<{ readonly id: number }> => [])
          for (let offset = 0; offset < 8; offset += size) {
            const page = (yield* get(`${line}&parts.limit=${size}&parts.offset=${offset}`)) as unknown as typeof all
            for (const [at, { parts }] of page.entries()) {
              assert.isAtMost(parts.length, size)
              pages[at]?.push(...parts)
            }
          }
          assert.deepStrictEqual(
            pages,
            all.map(({ parts }) => parts)
          )
          const spread = yield* get(`things?select=id,...parts(part:id)&order=id&parts.order=${by}&parts.limit=${size}`)
          assert.deepStrictEqual(
            spread as unknown,
            all.map(({ id, parts }) => ({ id, part: parts.slice(0, size).map((part) => part.id) }))
          )
        }),
      { runs: 30 }
    )
  )

  it.effect("hold at most the maximum, however they are requested, at every depth", () =>
    Effect.gen(function* () {
      for (const line of ["parts?limit=60", "parts", "parts?limit=26&offset=1"]) {
        assert.strictEqual((yield* get(line)).length, cap, line)
      }
      assert.strictEqual((yield* raw.get("parts", { range: { offset: 0, limit: 70 } })).count, cap)
      assert.strictEqual((yield* raw.get("parts", { prefer: { count: "exact" } })).total, 80)
      assert.deepStrictEqual(yield* get("parts?limit=0"), [])
    })
  )
})
