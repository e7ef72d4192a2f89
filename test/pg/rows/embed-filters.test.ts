import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { library } from "../../support/docs/library.ts"
import { get, refusal } from "../../support/requests.ts"

const suite = layer(
  layerDatabase({ name: "row_embed_filters", settings: { SVC_DB_MAX_ROWS: "3" }, before: library }),
  live
)

const answers = (line: string, expected: unknown) =>
  Effect.map(get(line), (found) => assert.deepStrictEqual(found as unknown, expected))

suite("embeds", (it) => {
  describe("are filtered, ordered and limited", () => {
    it.effect.each([
      // A parent without matching rows is kept.
      [
        "books?select=id,reviews(stars)&reviews.stars=gt.4&id=lt.3&order=id",
        [
          { id: 1, reviews: [{ stars: 5 }] },
          { id: 2, reviews: [] }
        ]
      ],
      [
        "books?select=id,publishers(name)&publishers.name=eq.South&order=id&id=gt.1",
        [
          { id: 2, publishers: null },
          { id: 3, publishers: { name: "South" } },
          { id: 4, publishers: null }
        ]
      ],
      // Filters use the table's name even if the embed has an alias.
      ["books?select=id,r:reviews(stars)&reviews.stars=gt.4&id=eq.1", [{ id: 1, r: [{ stars: 5 }] }]],
      [
        "books?select=id,reviews(stars)&reviews.or=(stars.eq.3,said.eq.great)&reviews.order=stars&id=eq.1",
        [{ id: 1, reviews: [{ stars: 3 }, { stars: 5 }] }]
      ],
      [
        "books?select=id,reviews(stars)&id=eq.1&reviews.order=stars.desc&reviews.limit=1&reviews.offset=1",
        [{ id: 1, reviews: [{ stars: 4 }] }]
      ],
      ["books?select=id,reviews(stars)&id=eq.1&reviews.limit=0", [{ id: 1, reviews: [] }]],
      // `!inner`: a parent without matching rows is removed.
      ["books?select=id,reviews!inner(stars)&reviews.stars=eq.1", [{ id: 2, reviews: [{ stars: 1 }] }]],
      ["books?select=id,publishers!inner(name)&publishers.name=eq.South", [{ id: 3, publishers: { name: "South" } }]],
      ["books?select=id,authors!inner(name)&authors.name=eq.Ann", [{ id: 1, authors: [{ name: "Ann" }] }]],
      ["books?select=id,best_reviews!inner(id)&order=id", [{ id: 1, best_reviews: [{ id: 1 }, { id: 3 }] }]],
      [
        "publishers?select=id,books!inner(id,reviews!inner(id))&order=id&books.order=id&books.reviews.stars=lt.4&books.reviews.order=id",
        [
          {
            id: 1,
            books: [
              { id: 1, reviews: [{ id: 2 }] },
              { id: 2, reviews: [{ id: 4 }] }
            ]
          }
        ]
      ],
      [
        "publishers?select=id,books(id,reviews!inner(id))&order=id&books.order=id&books.reviews.order=id",
        [
          {
            id: 1,
            books: [
              { id: 1, reviews: [{ id: 1 }, { id: 2 }, { id: 3 }] },
              { id: 2, reviews: [{ id: 4 }] }
            ]
          },
          { id: 2, books: [] },
          { id: 3, books: [] }
        ]
      ],
      // Filters on the existence of embedded rows.
      ["publishers?select=id&books=is.null", undefined],
      ["publishers?select=id,books()&books=is.null", [{ id: 3 }]],
      ["publishers?select=id,books()&books=not.is.null&order=id", [{ id: 1 }, { id: 2 }]],
      ["books?select=id,publishers(name)&publishers=is.null", [{ id: 4, publishers: null }]],
      ["books?select=id,reviews()&reviews.stars=eq.5&reviews=not.is.null", [{ id: 1 }]],
      [
        "books?select=id,reviews(),details()&or=(reviews.is.null,details.not.is.null)&order=id",
        [{ id: 1 }, { id: 3 }, { id: 4 }]
      ],
      ["books?select=id,reviews(),details()&not.or=(reviews.is.null,details.not.is.null)", [{ id: 2 }]],
      ["books?select=id,reviews!inner()&order=id", [{ id: 1 }, { id: 2 }]],
      ["books?select=id,r:reviews()&r=is.null&order=id", [{ id: 3 }, { id: 4 }]],
      // Ordered by a column of the embedded row.
      [
        "books?select=id,publishers(name)&order=publishers(name).desc,id&id=lt.4",
        [
          { id: 3, publishers: { name: "South" } },
          { id: 1, publishers: { name: "North" } },
          { id: 2, publishers: { name: "North" } }
        ]
      ],
      [
        "books?select=id,p:publishers(id)&order=p(name).desc.nullslast,id.desc&limit=2",
        [
          { id: 3, p: { id: 2 } },
          { id: 2, p: { id: 1 } }
        ]
      ],
      ["books?select=id,publishers()&order=publishers(name).nullsfirst,id&limit=2", [{ id: 4 }, { id: 1 }]],
      ["books?select=id,...publishers(n:name)&order=publishers(id).desc.nullslast&limit=1", [{ id: 3, n: "South" }]],
      [
        "publishers?select=id,books(id,details(pages))&id=eq.1&books.order=details(pages).desc.nullslast",
        [
          {
            id: 1,
            books: [
              { id: 1, details: { pages: 100 } },
              { id: 2, details: null }
            ]
          }
        ]
      ]
    ] as ReadonlyArray<readonly [string, unknown]>)("%s", ([line, expected]) =>
      expected === undefined
        ? Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, "400 42703"))
        : answers(line, expected)
    )

    it.effect("are limited by the row cap, which applies to arrays and not to single rows", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql(
          "create table caps (id int primary key); create table capped (id int primary key, cap int references caps)"
        )
        yield* sql("insert into caps values (1); insert into capped select n, 1 from generate_series(1, 9) n")
        assert.deepStrictEqual(yield* get("caps?select=id,capped(id)&capped.order=id"), [
          { id: 1, capped: [{ id: 1 }, { id: 2 }, { id: 3 }] }
        ])
        assert.deepStrictEqual(yield* get("caps?select=id,capped(id)&capped.order=id.desc&capped.limit=2"), [
          { id: 1, capped: [{ id: 9 }, { id: 8 }] }
        ])
        assert.strictEqual((yield* get("capped?select=caps(id)")).length, 3)
      })
    )
  })
})
