import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { type CallBody } from "../../../src/domain/rows/functions/Call.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { anon, type As, get as read, rawRpc, refusal, user } from "../../support/requests.ts"

const f = (name: string, rest: string, body: string, language = "sql") =>
  `create function ${name} ${rest} language ${language} as $body$ ${body} $body$;`

const json = (value: unknown): CallBody => ({ _tag: "Json", json: Buffer.from(JSON.stringify(value)) })
const ask = (line: string, as: As = {}) => rawRpc(line, undefined, { method: "GET", ...as })
const get = (line: string, as?: As) => Effect.map(ask(line, as), ({ body }) => body)
const post = (line: string, value: unknown = {}, as?: As) => rawRpc(line, json(value), as)
/** Removes the spaces and newlines that PostgreSQL puts between aggregated values. */
const spaceless = (text: string | undefined) => text?.replaceAll(/\s/g, "")

const suite = layer(
  layerDatabase({
    name: "function_rows",
    settings: { SVC_DB_MAX_ROWS: "50" },
    before: `
      create table authors (id int primary key, name text, born date);
      create table books (id int primary key, title text, author_id int references authors, tags text[], extra jsonb);
      create table reviews (id int primary key, book_id int references books, stars int);
      insert into authors values (1, 'Ann', '1970-01-01'), (2, 'Bob', null), (3, 'Cy', '1990-05-05');
      insert into books values (1, 'A', 1, '{x,y}', '{"n": {"m": 3}}'), (2, 'B', 1, '{}', null), (3, 'C', 2, '{y}', '{"n": 1}');
      insert into reviews values (1, 1, 5), (2, 1, 3), (3, 3, 1);
      create table own (id int primary key, owner text);
      insert into own values (1, 'a'), (2, 'b');
      alter table own enable row level security;
      create policy own on own using (owner = current_setting('request.jwt.sub', true));
      create view titles as select id, title from books;
      create type pair as (x int, y text);
      create domain paired as pair;
      create domain known_book as books check ((value).id > 0);
      create domain listed_book as known_book;
      create table ledger (id int generated always as identity, amount int);
      ${[
        f("upper_name", "(authors) returns text stable", "select upper($1.name)"),
        f(
          "good_reviews",
          "(books) returns setof reviews stable",
          "select * from reviews where book_id = $1.id and stars > 2"
        ),
        f("all_books", "() returns setof books stable", "select * from books order by id"),
        f("all_authors", "() returns setof authors stable", "select * from authors order by id"),
        f("one_book", "(wanted int) returns books stable", "select * from books where id = wanted"),
        f(
          "known_books",
          "() returns setof known_book stable",
          "select row(b.*)::books::known_book from books b order by id"
        ),
        f(
          "listed",
          "(wanted int) returns listed_book stable",
          "select row(b.*)::books::listed_book from books b where id = wanted"
        ),
        f("some_titles", "() returns setof titles stable", "select * from titles"),
        f("own_rows", "() returns setof own stable", "select * from own"),
        f(
          "tabled",
          "(low int) returns table (id int, label text, extra json) stable",
          `select * from (values (1, 'a', '{"k": {"b": 1.0, "a": 2}}'::json), (2, 'b', null), (3, null, '[]')) v where column1 >= low`
        ),
        f("outs", "(out x int, out y text)", "select 1, 'y'"),
        f("one_out", "() returns table (doubled int)", "values (2), (4)"),
        f("numbers", "(n int) returns setof int immutable", "select generate_series(1, n)"),
        f("words", "() returns setof text immutable", "values ('b'), (null), ('a,c')"),
        f("documents", "() returns setof jsonb immutable", `values ('{"a": 1}'::jsonb), ('{"a": null}')`),
        f("scalar", "() returns int immutable", "select 7"),
        f("pairs", "() returns setof pair", "values (1, 'a'), (2, null)"),
        f("a_pair", "() returns pair", "select 1, null::text"),
        f("empty_pair", "() returns pair", "select null::int, null::text"),
        f("no_pair", "() returns pair", "select null::pair"),
        f("a_paired", "() returns paired", "select row(1, 'a')::paired"),
        f("paireds", "() returns setof paired", "select row(1, 'a')::paired"),
        f("records", "() returns setof record", "select 1 as one, 'two' as two"),
        f("nothing", "() returns void", "select"),
        f("calls", "() returns setof int", "insert into ledger (amount) values (0) returning id")
      ].join("\n")}
      grant all on all tables in schema public to anon, authenticated;`
  }),
  live
)

suite("rows of functions", (it) => {
  it.effect("of a domain over a row type are rows of its table", () =>
    Effect.gen(function* () {
      const rows = yield* get("known_books?select=title,author:authors(name)&order=id.desc&limit=1")
      assert.strictEqual(spaceless(rows), '[{"title":"C","author":{"name":"Bob"}}]')
      assert.strictEqual(
        spaceless(yield* get("listed?wanted=1&select=title,reviews(id)&reviews.order=id")),
        '{"title":"A","reviews":[{"id":1},{"id":2}]}'
      )
      assert.strictEqual(spaceless(yield* get("listed?wanted=9")), "null")
    })
  )

  describe("are queried like those of a table", () => {
    it.effect.each([
      ["all_books?select=title", '[{"title":"A"},{"title":"B"},{"title":"C"}]'],
      ["all_books?select=id&id=gt.1", '[{"id":2},{"id":3}]'],
      ["all_books?select=id&order=id.desc&limit=2", '[{"id":3},{"id":2}]'],
      ["all_books?select=id&limit=1&offset=1", '[{"id":2}]'],
      ["all_books?select=id&limit=0", "[]"],
      ["all_books?select=id&or=(id.eq.1,title.eq.C)", '[{"id":1},{"id":3}]'],
      ["all_books?select=id&tags=cs.{y}", '[{"id":1},{"id":3}]'],
      ["all_books?select=m:extra->n->m&extra->n->>m=eq.3", '[{"m":3}]'],
      ["all_books?select=n:id::text&id=in.(1,2)", '[{"n":"1"},{"n":"2"}]'],
      ["all_books?select=id,authors(name)&id=eq.1", '[{"id":1,"authors":{"name":"Ann"}}]'],
      ["all_books?select=id,authors!inner(name)&authors.name=eq.Bob", '[{"id":3,"authors":{"name":"Bob"}}]'],
      ["all_books?select=id,...authors(name)&id=eq.3", '[{"id":3,"name":"Bob"}]'],
      [
        "all_books?select=id,reviews(stars)&reviews.order=stars&id=eq.1",
        '[{"id":1,"reviews":[{"stars":3},{"stars":5}]}]'
      ],
      ["all_books?select=id,reviews()&reviews=is.null", '[{"id":2}]'],
      [
        "all_books?select=id,good_reviews(id)&id=lt.3",
        '[{"id":1,"good_reviews":[{"id":1},{"id":2}]},{"id":2,"good_reviews":[]}]'
      ],
      ["all_books?select=id,authors()&order=authors(name).desc,id", '[{"id":3},{"id":1},{"id":2}]'],
      ["all_authors?select=id,upper_name&upper_name=eq.BOB", '[{"id":2,"upper_name":"BOB"}]'],
      ["all_authors?select=*,upper_name&id=eq.2", '[{"id":2,"name":"Bob","born":null,"upper_name":"BOB"}]'],
      ["all_authors?select=name,books(title)&id=eq.1", '[{"name":"Ann","books":[{"title":"A"},{"title":"B"}]}]'],
      ["some_titles?select=title&id=eq.2", '[{"title":"B"}]'],
      ["tabled?low=2", '[{"id":2,"label":"b","extra":null},{"id":3,"label":null,"extra":[]}]'],
      ["tabled?low=1&select=label&id=gte.2&order=label.desc.nullslast", '[{"label":"b"},{"label":null}]'],
      ["tabled?low=1&label=is.null", '[{"id":3,"label":null,"extra":[]}]'],
      ["tabled?low=1&label=in.(a,b)&select=id", '[{"id":1},{"id":2}]'],
      ["tabled?low=1&select=extra->k->>a&id=eq.1", '[{"a":"2"}]'],
      ["one_out?doubled=gt.2", '[{"doubled":4}]'],
      ["outs?select=y", '{"y":"y"}'],
      ["outs?select=y&x=eq.2", "null"],
      ["one_book?wanted=1&select=title,authors(name)", '{"title":"A","authors":{"name":"Ann"}}'],
      ["one_book?wanted=9&select=title", "null"],
      ["one_book?wanted=1&title=eq.Z", "null"],
      ["one_book?wanted=3&select=good_reviews(id)", '{"good_reviews":[]}'],
      ["pairs?y=is.null", '[{"x":2,"y":null}]'],
      ["a_pair?select=x", '{"x":1}'],
      ["empty_pair?select=*&x=is.null", '{"x":null,"y":null}'],
      ["empty_pair", '{"x":null,"y":null}'],
      ["no_pair?select=x", "null"],
      ["a_paired?select=y", '{"y":"a"}'],
      ["paireds?select=y", '[{"y":"a"}]'],
      ["numbers?n=3&limit=2", "[1,2]"],
      ["numbers?n=9&offset=7", "[8,9]"],
      ["numbers?n=9&pgrst_scalar=gt.7", "[8,9]"],
      ["numbers?n=3&order=pgrst_scalar.desc", "[3,2,1]"],
      ["words?order=pgrst_scalar.nullsfirst", '[null,"a,c","b"]'],
      ["documents", '[{"a":1},{"a":null}]'],
      ["documents?pgrst_scalar->a=eq.1", '[{"a":1}]'],
      ["records?limit=1", '[{"one":1,"two":"two"}]'],
      ["scalar?limit=1", "7"],
      ["scalar?limit=0", "null"],
      ["scalar?pgrst_scalar=eq.8", "null"]
    ] as const)("%s", ([line, expected]) =>
      Effect.map(get(line), (body) => assert.strictEqual(spaceless(body), expected))
    )

    it.effect.each([
      ["all_books?select=id,nowhere(id)", "400 PGRST200"],
      ["all_books?nowhere.id=eq.1", "400 PGRST108"],
      ["all_books?select=nothing", "400 42703"],
      ["all_books?nothing=eq.1", "400 42703"],
      ["all_books?id=eq.x", "400 22P02"],
      ["all_books?limit=-1", "416 PGRST103"],
      ["all_books?order=reviews(id)&select=id,reviews(id)", "400 PGRST118"],
      ["all_books?select=count()", "400 PGRST123"],
      ["tabled?low=1&select=id,books(id)", "400 PGRST200"],
      ["numbers?n=1&select=x", "400 42703"],
      ["numbers?n=1&select=books(id)", "400 PGRST200"],
      ["scalar?select=books(id)", "400 PGRST200"],
      ["records?one=eq.1", "400 42703"]
    ] as const)("%s is rejected", ([line, expected]) =>
      Effect.map(refusal(ask(line)), (found) => assert.strictEqual(found, expected))
    )

    it.effect("are queried by POST, with arguments in the body", () =>
      Effect.gen(function* () {
        const { body } = yield* post("tabled?select=id&order=id.desc&id=lt.3", { low: 1 })
        assert.strictEqual(spaceless(body), '[{"id":2},{"id":1}]')
        const one = yield* post("one_book?select=authors(name)", { wanted: 3 })
        assert.strictEqual(one.body, '{"authors":{"name":"Bob"}}')
      })
    )

    it.effect("are limited by the row cap", () =>
      Effect.gen(function* () {
        const { body, count, total } = yield* ask("numbers?n=80&limit=70", { prefer: { count: "exact" } })
        assert.deepStrictEqual([(JSON.parse(body ?? "") as Array<number>).length, count, total], [50, 50, 80])
      })
    )

    it.effect("are filtered by row-level security", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* get("own_rows?select=id", { actor: user("b") }), '[{"id":2}]')
        assert.strictEqual(yield* get("own_rows?select=id", { actor: user("c") }), "[]")
        assert.strictEqual(spaceless(yield* get("own_rows?select=id")), '[{"id":1},{"id":2}]')
      })
    )
  })

  describe("are counted", () => {
    it.effect.each([
      ["all_books", { prefer: { count: "exact" } }, [3, 0, 3]],
      ["all_books?limit=2", { prefer: { count: "exact" } }, [2, 0, 3]],
      ["all_books?limit=2&offset=2", { prefer: { count: "exact" } }, [1, 2, 3]],
      ["all_books?offset=9", { prefer: { count: "exact" } }, [0, 9, 3]],
      ["all_books?id=gt.1&limit=1", { prefer: { count: "estimated" } }, [1, 0, 2]],
      ["all_books?limit=1", { prefer: { count: "planned" } }, [1, 0, undefined]],
      ["all_books", { range: { offset: 1, limit: 1 } }, [1, 1, undefined]],
      ["all_books?limit=2", { range: { offset: 1, limit: 5 }, prefer: { count: "exact" } }, [1, 1, 3]],
      ["all_books?select=id,authors!inner()&authors.name=eq.Ann&limit=1", { prefer: { count: "exact" } }, [1, 0, 2]],
      ["numbers?n=5&limit=2", { prefer: { count: "exact" } }, [2, 0, 5]],
      ["one_book?wanted=1", { prefer: { count: "exact" } }, [1, 0, 1]],
      ["scalar", { prefer: { count: "exact" } }, [1, 0, 1]],
      ["all_books", { method: "HEAD", prefer: { count: "exact" } }, [3, 0, 3]]
    ] as const)("%s %j", ([line, as, expected]) =>
      Effect.map(ask(line, as), ({ count, offset, total }) =>
        assert.deepStrictEqual([count, offset, total], [...expected])
      )
    )

    it.effect("with a single call", () =>
      Effect.gen(function* () {
        const { sql } = yield* Outside
        yield* sql("delete from ledger")
        const { count, total } = yield* post("calls?limit=0", {}, { prefer: { count: "exact" } })
        assert.deepStrictEqual([count, total], [0, 1])
        assert.deepStrictEqual(yield* read("ledger?select=amount"), [{ amount: 0 }])
      })
    )
  })

  it.effect("are rejected without EXECUTE on the function", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(`revoke execute on function all_books() from public, anon`)
      assert.strictEqual(yield* refusal(ask("all_books?select=id", { actor: anon })), "401 42501")
    })
  )

  it.effect("change when the function is replaced by another", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      yield* sql(f("turns", "() returns setof authors", "select * from authors where id = 1"))
      assert.strictEqual(yield* get("turns?select=name"), '[{"name":"Ann"}]')
      yield* sql(`drop function turns(); ${f("turns", "(a int default 3) returns setof int", "select a")}`)
      yield* eventually(get("turns"), (body) => body === "[3]")
      assert.strictEqual(yield* get("turns?a=4&limit=1"), "[4]")
    })
  )
})
