import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { library } from "../../support/docs/library.ts"
import { anon, get, patch, post, raw, refusal, remove } from "../../support/requests.ts"

const suite = layer(layerDatabase({ name: "row_embeds", before: library }), live)

const answers = (line: string, expected: unknown) =>
  Effect.map(get(line), (found) => assert.deepStrictEqual(found as unknown, expected))

suite("embeds", (it) => {
  describe("resolve", () => {
    it.effect.each([
      [
        "books?select=title,publishers(name)&order=id&limit=3",
        [
          { title: "Alpha", publishers: { name: "North" } },
          { title: "Beta", publishers: { name: "North" } },
          { title: "Gamma", publishers: { name: "South" } }
        ]
      ],
      ["books?select=title,publishers(name)&id=eq.4", [{ title: "Delta", publishers: null }]],
      [
        "publishers?select=name,books(title)&order=id&books.order=id.desc",
        [
          { name: "North", books: [{ title: "Beta" }, { title: "Alpha" }] },
          { name: "South", books: [{ title: "Gamma" }] },
          { name: "Empty", books: [] }
        ]
      ],
      // Many to many, over a junction.
      [
        "books?select=id,authors(name)&authors.order=name&id=lt.3&order=id",
        [
          { id: 1, authors: [{ name: "Ann" }, { name: "Bob" }] },
          { id: 2, authors: [{ name: "Bob" }] }
        ]
      ],
      ["authors?select=name,books(id)&id=eq.2&books.order=id", [{ name: "Bob", books: [{ id: 1 }, { id: 2 }] }]],
      // One to one, in both directions.
      [
        "books?select=id,details(pages)&id=in.(1,2)&order=id",
        [
          { id: 1, details: { pages: 100 } },
          { id: 2, details: null }
        ]
      ],
      ["details?select=pages,books(title)&book_id=eq.3", [{ pages: 300, books: { title: "Gamma" } }]],
      // A table related to itself: children by the table's name, the parent by the column.
      [
        "people?select=name,below:people(name)&id=eq.2&below.order=id",
        [{ name: "Mid", below: [{ name: "Low" }, { name: "Low too" }] }]
      ],
      ["people?select=name,boss(name)&id=eq.3", [{ name: "Low", boss: { name: "Mid" } }]],
      ["people?select=name,below:people!boss(name)&id=eq.1", [{ name: "Top", below: [{ name: "Mid" }] }]],
      // Composite keys.
      [
        "desks?select=id,rooms(name)&order=id",
        [
          { id: 1, rooms: { name: "red" } },
          { id: 2, rooms: null }
        ]
      ],
      [
        "rooms?select=name,desks(id)&order=no",
        [
          { name: "blue", desks: [] },
          { name: "red", desks: [{ id: 1 }] }
        ]
      ],
      // Selected by the name of the key, by its column, by a hint.
      ["books?select=id,house:publisher_id(name)&id=eq.1", [{ id: 1, house: { name: "North" } }]],
      [
        "books?select=id,books_publisher_id_fkey(name)&id=eq.1",
        [{ id: 1, books_publisher_id_fkey: { name: "North" } }]
      ],
      [
        "parcels?select=id,a:offices!parcels_origin(city),b:offices!to_office(city),c:parcels_target(city)&id=eq.1",
        [{ id: 1, a: { city: "Oslo" }, b: { city: "Rome" }, c: { city: "Rome" } }]
      ],
      [
        "offices?select=city,parcels!from_office(id)&order=id",
        [
          { city: "Oslo", parcels: [{ id: 1 }] },
          { city: "Rome", parcels: [{ id: 2 }] }
        ]
      ],
      // Foreign keys of tables below views.
      [
        "cheap_books?select=title,publishers(name)&order=id",
        [
          { title: "Alpha", publishers: { name: "North" } },
          { title: "Delta", publishers: null }
        ]
      ],
      ["publishers?select=name,cheap_books(title)&id=eq.1", [{ name: "North", cheap_books: [{ title: "Alpha" }] }]],
      // Computed relationships: functions of the row.
      [
        "books?select=id,best_reviews(stars)&id=lt.3&order=id&best_reviews.order=stars",
        [
          { id: 1, best_reviews: [{ stars: 4 }, { stars: 5 }] },
          { id: 2, best_reviews: [] }
        ]
      ],
      [
        "books?select=id,first_author(name)&id=in.(1,4)&order=id",
        [
          { id: 1, first_author: { name: "Ann" } },
          { id: 4, first_author: null }
        ]
      ],
      // Parsed as a column while aggregates are disabled.
      [
        "books?select=id,reviews(count)&order=id&id=in.(1,3)",
        [
          { id: 1, reviews: [{ count: 3 }] },
          { id: 3, reviews: [{ count: 0 }] }
        ]
      ],
      ["books?select=id,r:reviews!inner(n:count)&id=eq.3", [{ id: 3, r: [{ n: 0 }] }]],
      ["reviews?select=count", [{ count: 5 }]],
      // Nested embeds.
      [
        "publishers?select=name,books(title,authors(name),reviews(stars))&id=eq.1&books.id=eq.1&books.authors.order=id&books.reviews.order=stars&books.reviews.limit=2",
        [
          {
            name: "North",
            books: [
              { title: "Alpha", authors: [{ name: "Ann" }, { name: "Bob" }], reviews: [{ stars: 3 }, { stars: 4 }] }
            ]
          }
        ]
      ],
      [
        "reviews?select=stars,books(title,publishers(name,books(id)))&id=eq.4&books.publishers.books.order=id",
        [{ stars: 1, books: { title: "Beta", publishers: { name: "North", books: [{ id: 1 }, { id: 2 }] } } }]
      ],
      // Unusual and repeated names.
      ['books?select="a\\"b(":id,"p,(":publishers("n.":name)&id=eq.1', [{ 'a"b(': 1, "p,(": { "n.": "North" } }]],
      [
        "books?select=id,_svc_row:title,_svc_1:publishers(v:name,c1:id)&id=eq.1",
        [{ id: 1, _svc_row: "Alpha", _svc_1: { v: "North", c1: 1 } }]
      ],
      ["books?select=id,r:reviews(id),s:reviews(stars)&id=eq.2", [{ id: 2, r: [{ id: 4 }], s: [{ stars: 1 }] }]],
      [
        "books?select=*,publishers(*)&id=eq.3",
        [
          {
            id: 3,
            title: "Gamma",
            price: null,
            publisher_id: 2,
            tags: null,
            meta: null,
            raw: null,
            words: null,
            publishers: { id: 2, name: "South" }
          }
        ]
      ]
    ] as ReadonlyArray<readonly [string, unknown]>)("%s", ([line, expected]) => answers(line, expected))
  })

  describe("that are rejected", () => {
    it.effect.each([
      ["books?select=id,parcels(id)", "400 PGRST200"],
      ["books?select=id,publishers!nope(id)", "400 PGRST200"],
      ["parcels?select=id,offices(city)", "300 PGRST201"],
      ["offices?select=id,parcels(id)", "300 PGRST201"],
      ["books?select=id&reviews.id=eq.1", "400 PGRST108"],
      ["books?select=id&reviews.order=id", "400 PGRST108"],
      ["books?select=id&reviews.limit=1", "400 PGRST108"],
      ["books?select=id,reviews(id)&reviews.books.id=eq.1", "400 PGRST108"],
      ["books?select=id&order=publishers(name)", "400 PGRST108"],
      ["books?select=id,reviews(id)&order=reviews(id)", "400 PGRST118"],
      ["books?select=id,reviews(id)&reviews=eq.1", "400 PGRST120"],
      ["books?select=id,reviews(nope)", "400 42703"],
      ["books?select=id,reviews(id)&reviews.nope=eq.1", "400 42703"],
      ["books?select=id,publishers(id)&order=publishers(nope)", "400 42703"],
      ["books?select=id,reviews(count())", "400 PGRST123"]
    ] as const)("%s", ([line, expected]) =>
      Effect.map(refusal(get(line)), (found) => assert.strictEqual(found, expected))
    )

    it.effect("suggest existing names", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* Effect.flip(get("parcels?select=id,offices(city)")), {
          error: "Could not embed because more than one relationship was found for 'parcels' and 'offices'",
          details: [
            {
              cardinality: "many-to-one",
              embedding: "parcels with offices",
              relationship: "parcels_origin using parcels(from_office) and offices(id)"
            },
            {
              cardinality: "many-to-one",
              embedding: "parcels with offices",
              relationship: "parcels_target using parcels(to_office) and offices(id)"
            }
          ],
          hint: "Try changing 'offices' to one of the following: 'offices!parcels_origin', 'offices!parcels_target'. Find the desired relationship in the 'details' key."
        })
        assert.deepInclude(yield* Effect.flip(get("books?select=id,publisher(id)")), {
          error: "Could not find a relationship between 'books' and 'publisher' in the schema cache",
          details:
            "Searched for a foreign key relationship between 'books' and 'publisher' in the schema 'public', but no matches were found.",
          hint: "Perhaps you meant 'publishers' instead of 'publisher'."
        })
        assert.deepInclude(yield* Effect.flip(get("books?select=id,publishers!x(id)")), {
          details:
            "Searched for a foreign key relationship between 'books' and 'publishers' using the hint 'x' in the schema 'public', but no matches were found.",
          hint: null
        })
        assert.deepInclude(yield* Effect.flip(get("book")), { hint: "Perhaps you meant the table 'public.books'" })
        assert.deepInclude(yield* Effect.flip(get("books?select=nope")), { error: "column books.nope does not exist" })
      })
    )

    it.effect("are rejected without privileges on the embedded table, and filtered by its policies", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql(
          "create table hidden (id int primary key, book_id int references books); revoke all on hidden from anon; insert into hidden values (1, 1)"
        )
        assert.strictEqual(yield* refusal(get("books?select=id,hidden(id)", { actor: anon })), "401 42501")
        yield* sql("grant select on hidden to anon; alter table hidden enable row level security")
        assert.deepStrictEqual(yield* get("books?select=id,hidden(id)&id=eq.1", { actor: anon }), [
          { id: 1, hidden: [] }
        ])
        assert.deepStrictEqual(yield* get("books?select=id,hidden!inner(id)", { actor: anon }), [])
        assert.deepStrictEqual(yield* get("books?select=id,hidden!inner(id)"), [{ id: 1, hidden: [{ id: 1 }] }])
        yield* sql("drop table hidden")
      })
    )
  })

  it.effect("are returned with written rows", () =>
    Effect.gen(function* () {
      const renamed = yield* raw.patch("books?id=eq.1&select=id,reviews(count)", { price: 5.5 })
      assert.deepStrictEqual(JSON.parse(renamed.body), [{ id: 1, reviews: [{ count: 3 }] }])
      assert.deepStrictEqual(
        yield* post("reviews?select=stars,books(title,publishers(name),loud)", [
          { book_id: 1, stars: 2 },
          { book_id: null, stars: 1 }
        ]),
        [
          { stars: 2, books: { title: "Alpha", publishers: { name: "North" }, loud: "ALPHA" } },
          { stars: 1, books: null }
        ]
      )
      const changed = yield* raw.patch("books?id=eq.2&select=price,loud,authors(name),first_author(name),n:meta->>s", {
        price: 16
      })
      assert.deepStrictEqual(JSON.parse(changed.body), [
        { price: 16, loud: "BETA", authors: [{ name: "Bob" }], first_author: { name: "Bob" }, n: "y" }
      ])
      assert.deepStrictEqual(yield* patch("books?loud=eq.BETA&select=price", { price: 15 }), [{ price: 15 }])
      assert.deepStrictEqual(yield* remove("reviews?stars=lte.2&book_id=eq.1&select=books(id)"), [{ books: { id: 1 } }])
      assert.deepStrictEqual(
        yield* remove("reviews?stars=eq.1&said=is.null&select=*,books(id)").pipe(Effect.map((rows) => rows.length)),
        1
      )
    })
  )
})
