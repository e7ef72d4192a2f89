import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerDatabase, live } from "../../support/database.ts"
import { library } from "../../support/docs/library.ts"
import { get, raw } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({ name: "row_embed_orders", settings: { SVC_DB_AGGREGATES: "true" }, before: library }),
  live
)

suite("orders by an embed", (it) => {
  it.effect.each([
    // With aggregates.
    [
      "books?select=price.sum(),publishers(name)&order=publishers(name).desc.nullslast",
      [
        { sum: null, publishers: { name: "South" } },
        { sum: 20.5, publishers: { name: "North" } },
        { sum: 7, publishers: null }
      ]
    ],
    [
      "books?select=price.sum(),...publishers(house:name)&order=publishers(house).nullsfirst&limit=2",
      [
        { sum: 7, house: null },
        { sum: 20.5, house: "North" }
      ]
    ],
    // What the rows are ordered by distinguishes groups, also if it is not returned.
    ["books?select=count(),publishers()&order=publishers(name).nullslast", [{ count: 2 }, { count: 1 }, { count: 1 }]],
    [
      "publishers?select=name,books(count(),details())&books.order=details(pages)&id=eq.1",
      [{ name: "North", books: [{ count: 1 }, { count: 1 }] }]
    ],
    // By a name that the embed's select gives.
    [
      "books?select=id,publishers(n:name)&order=publishers(n).desc.nullslast,id&limit=2",
      [
        { id: 3, publishers: { n: "South" } },
        { id: 1, publishers: { n: "North" } }
      ]
    ],
    ["books?select=id,p:publishers(name:id)&order=p(name).desc.nullslast,id&limit=1", [{ id: 3, p: { name: 2 } }]],
    ["details?select=pages,books(meta->>s)&order=books(s).desc.nullslast&limit=1", [{ pages: 100, books: { s: "x" } }]],
    [
      "details?select=pages,books(k:meta->k)&order=books(k->n).nullsfirst&limit=1",
      [{ pages: 300, books: { k: null } }]
    ],
    ["details?select=pages,books(t:id::text)&order=books(t).desc&limit=1", [{ pages: 300, books: { t: "3" } }]],
    // Aggregates beside an embed inside of a spread.
    [
      "details?select=count(),...books(publishers(name))&order=books(publisher_id)",
      [
        { count: 1, publishers: { name: "North" } },
        { count: 1, publishers: { name: "South" } }
      ]
    ],
    [
      "details?select=pages.sum(),...books(authors(name))&books.authors.order=id&order=books(id)",
      [
        { sum: 100, authors: [{ name: "Ann" }, { name: "Bob" }] },
        { sum: 300, authors: [{ name: "Cid" }] }
      ]
    ],
    [
      "details?select=count(),...books(...publishers(books(id)))&books.publishers.books.order=id&order=books(id).desc",
      [
        { count: 1, books: [{ id: 3 }] },
        { count: 1, books: [{ id: 1 }, { id: 2 }] }
      ]
    ]
  ] as const)("%s", ([line, rows]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* get(line), rows as unknown as ReadonlyArray<Record<string, unknown>>)
    })
  )

  it.effect("count the same groups", () =>
    Effect.gen(function* () {
      const line = "books?select=count(),publishers()&order=publishers(name)&limit=1"
      assert.strictEqual((yield* raw.get(line, { prefer: { count: "exact" } })).total, 3)
    })
  )
})
