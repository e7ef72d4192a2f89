import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live } from "../../support/database.ts"
import { library } from "../../support/docs/library.ts"
import { get, post, raw, refusal, remove } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({ name: "row_spread", settings: { SVC_DB_AGGREGATES: "true" }, before: library }),
  live
)

suite("spreads", (it) => {
  it.effect.each([
    // A single row becomes columns.
    [
      "books?select=id,...publishers(house:name)&id=in.(1,4)&order=id",
      [
        { id: 1, house: "North" },
        { id: 4, house: null }
      ]
    ],
    [
      "details?select=pages,...books(title,...publishers(name))&order=book_id",
      [
        { pages: 100, title: "Alpha", name: "North" },
        { pages: 300, title: "Gamma", name: "South" }
      ]
    ],
    [
      "details?select=...books(title,publishers(name))&book_id=eq.1",
      [{ title: "Alpha", publishers: { name: "North" } }]
    ],
    ["details?select=pages,...books(...publishers(*))&book_id=eq.1", [{ pages: 100, id: 1, name: "North" }]],
    ["books?select=id,...publishers!inner(name)&publishers.name=eq.South", [{ id: 3, name: "South" }]],
    ["books?select=id,...publishers()&id=eq.1", [{ id: 1 }]],
    ["reviews?select=id,books(id,...publishers(name))&id=eq.4", [{ id: 4, books: { id: 2, name: "North" } }]],
    // Many rows become an array for each column.
    [
      "publishers?select=name,...books(ids:id,titles:title)&books.order=id.desc&order=id",
      [
        { name: "North", ids: [2, 1], titles: ["Beta", "Alpha"] },
        { name: "South", ids: [3], titles: ["Gamma"] },
        { name: "Empty", ids: [], titles: [] }
      ]
    ],
    [
      "publishers?select=name,...books(price)&books.order=price.nullsfirst&id=in.(1,2)&order=id",
      [
        { name: "North", price: [5.5, 15] },
        { name: "South", price: [null] }
      ]
    ],
    ["publishers?select=...books(id)&books.order=id.desc&books.limit=1&id=eq.1", [{ id: [2] }]],
    ["authors?select=name,...books(title)&id=eq.2&books.order=title", [{ name: "Bob", title: ["Alpha", "Beta"] }]],
    ["publishers?select=id,...books!inner(title)&books.title=eq.Gamma", [{ id: 2, title: ["Gamma"] }]],
    // Nested spreads.
    [
      "publishers?select=id,...books(id,...reviews(stars))&id=eq.1&books.order=id&books.reviews.order=stars",
      [{ id: [1, 2], stars: [[3, 4, 5], [1]] }]
    ],
    [
      "authors?select=name,...books(...publishers(house:name))&id=eq.2&books.order=id",
      [{ name: "Bob", house: ["North", "North"] }]
    ],
    [
      "publishers?select=id,...books(reviews(stars))&id=eq.1&books.order=id&books.reviews.stars=lt.4",
      [{ id: 1, reviews: [[{ stars: 3 }], [{ stars: 1 }]] }]
    ],
    [
      "books?select=...publishers(...books(titles:title))&id=eq.1&publishers.books.order=id",
      [{ titles: ["Alpha", "Beta"] }]
    ],
    ["publishers?select=...rooms_of_none:books(*)&id=eq.3", undefined],
    // Names that collide.
    ["publishers?select=id,...books(a:id,b:id)&id=eq.2", [{ id: 2, a: [3], b: [3] }]]
  ] as ReadonlyArray<readonly [string, unknown]>)("%s", ([line, expected]) =>
    expected === undefined
      ? Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, "400 PGRST100"))
      : Effect.map(get(line), (found) => {
          // If a name is repeated, the last column wins.
          assert.deepStrictEqual(found as unknown, expected)
        })
  )

  it.effect("are returned with written rows", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* post("reviews?select=stars,...books(title,...authors(name))&books.authors.order=name", {
          book_id: 1,
          stars: 1
        }),
        [{ stars: 1, title: "Alpha", name: ["Ann", "Bob"] }]
      )
      assert.deepStrictEqual(yield* remove("reviews?said=is.null&select=...books(title)"), [{ title: "Alpha" }])
    })
  )

  describe("with aggregates", () => {
    it.effect.each([
      [
        "books?select=...publishers(name),id.count()&order=publishers(name)",
        [
          { name: "North", count: 2 },
          { name: "South", count: 1 },
          { name: null, count: 1 }
        ]
      ],
      [
        "books?select=publisher_id,...details(pages.sum())&order=publisher_id",
        [
          { publisher_id: 1, sum: 100 },
          { publisher_id: 2, sum: 300 },
          { publisher_id: null, sum: null }
        ]
      ],
      ["books?select=...details(n:count())", [{ n: 2 }]],
      ["reviews?select=...books(...publishers(name,p:id.max()))&book_id=not.is.null", [{ name: "North", p: 1 }]],
      ["publishers?select=name,books(...details(pages.sum()))&id=eq.1", [{ name: "North", books: [{ sum: 100 }] }]]
    ] as ReadonlyArray<readonly [string, unknown]>)("%s", ([line, expected]) =>
      Effect.map(get(line), (found) => assert.deepStrictEqual(found as unknown, expected))
    )

    it.effect("are rejected for many rows", () =>
      Effect.gen(function* () {
        for (const line of [
          "publishers?select=name,...books(price.sum())",
          "publishers?select=name,...books(count())",
          "authors?select=...books(...details(pages.max()))"
        ]) {
          assert.strictEqual(yield* refusal(get(line)), "400 PGRST127", line)
        }
        assert.deepInclude(yield* Effect.flip(get("publishers?select=...books(count())")), {
          error: "Feature not implemented",
          details: "Aggregates are not implemented for one-to-many or many-to-many spreads."
        })
      })
    )
  })

  describe("aggregates", () => {
    it.effect.each([
      [
        "reviews?select=stars.sum(),stars.avg(),stars.min(),stars.max(),stars.count(),count()",
        '[{"sum":15,"avg":3.0000000000000000,"min":1,"max":5,"count":5,"count":5}]'
      ],
      [
        "reviews?select=book_id,n:count()&order=book_id",
        '[{"book_id":1,"n":3}, \n {"book_id":2,"n":1}, \n {"book_id":null,"n":1}]'
      ],
      [
        "reviews?select=b:book_id,stars.avg()::int&order=book_id&book_id=not.is.null",
        '[{"b":1,"avg":4}, \n {"b":2,"avg":1}]'
      ],
      ["reviews?select=total:stars::numeric.sum()::text", '[{"total":"15"}]'],
      [
        "books?select=meta->>s,count()&order=meta->>s",
        '[{"s":"x","count":1}, \n {"s":"y","count":1}, \n {"s":null,"count":2}]'
      ],
      ["books?select=n:meta->k->n->0::int.sum()", '[{"n":10}]'],
      ["reviews?select=count()&stars=gt.3", '[{"count":2}]'],
      ["reviews?select=count()&stars=gt.30", '[{"count":0}]'],
      ["reviews?select=book_id,count()&stars=gt.30", "[]"],
      ["reviews?select=count()::text", '[{"count":"5"}]'],
      ["publishers?select=*,count()&id=eq.1", '[{"id":1,"name":"North","count":1}]'],
      ["reviews?select=books(title),count()&book_id=eq.1", '[{"count":3,"books":{"title": "Alpha"}}]'],
      ["reviews?select=...books(title),stars.sum()&stars=gt.2", '[{"sum":12,"title":"Alpha"}]'],
      ["books?select=publisher_id,price.max(),reviews(stars)&id=in.(3,4)&order=publisher_id", undefined]
    ] as ReadonlyArray<readonly [string, string | undefined]>)("%s", ([line, expected]) =>
      expected === undefined
        ? // The embed's parent rows no longer exist after grouping, so only the status is compared.
          Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, "200"))
        : Effect.map(raw.get(line), ({ body }) => assert.strictEqual(body, expected))
    )

    it.effect("work within embeds", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* get("books?select=id,reviews(count())&order=id"), [
          { id: 1, reviews: [{ count: 3 }] },
          { id: 2, reviews: [{ count: 1 }] },
          { id: 3, reviews: [{ count: 0 }] },
          { id: 4, reviews: [{ count: 0 }] }
        ])
        // An aggregate without groups always returns one row.
        assert.strictEqual((yield* get("books?select=id,reviews!inner(count())")).length, 4)
        assert.deepStrictEqual(yield* get("publishers?select=id,books(publisher_id,price.sum())&order=id&limit=1"), [
          { id: 1, books: [{ publisher_id: 1, sum: 20.5 }] }
        ])
      })
    )

    it.effect("are counted as groups", () =>
      Effect.gen(function* () {
        const count = { prefer: { count: "exact" } } as const
        assert.deepInclude(yield* raw.get("reviews?select=book_id,count()&limit=1", count), { count: 1, total: 3 })
        assert.deepInclude(yield* raw.get("reviews?select=count()", count), { count: 1, total: 1 })
      })
    )

    it.effect("are rejected for unsuitable columns", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* refusal(get("books?select=title.sum()")), "404 42883")
        assert.strictEqual(yield* refusal(get("books?select=raw,count()")), "400 42883")
        assert.strictEqual(yield* refusal(get("books?select=publisher_id,count()&order=title")), "400 42803")
      })
    )
  })
})
