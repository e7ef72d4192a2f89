import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type Relationship } from "../../../src/domain/catalogue/Relationship.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { Db } from "../../../src/services/ports/Db.ts"
import { layerDatabase, live } from "../../support/database.ts"

const suite = layer(
  layerDatabase({
    name: "relationships",
    settings: { SVC_DB_SCHEMAS: "public,shop" },
    before: `
      create schema shop;
      create schema hidden;
      create table authors (id int primary key, "pen name" text, mentor int constraint mentored references authors);
      create table books (id int, volume int, author int constraint written references authors, editor int constraint edited references authors,
        primary key (id, volume));
      create table covers (book int, volume int, paint text, primary key (book, volume), constraint covered foreign key (book, volume) references books);
      create table tags (id int primary key);
      create table book_tags (book int, volume int, tag int constraint tagged references tags,
        constraint tagging foreign key (book, volume) references books, primary key (book, volume, tag));
      create table loose_tags (id int primary key, tag int references tags, author int references authors);
      create table shop.offers (id int primary key, author int constraint offered references authors);
      create table hidden.fans (author int references authors, tag int references tags, primary key (author, tag));
      create table parts (id int, author int, region text, primary key (id, region)) partition by list (region);
      create table parts_eu partition of parts for values in ('eu');
      alter table parts add constraint parted foreign key (author) references authors;
      create view writers as select id as writer, mentor, upper("pen name") as name from authors where id > 0;
      create view seniors as select w.writer as "the {id}", w.mentor, (select count(*) from books b where b.author = w.writer) as n
        from writers w join authors a on a.id = w.mentor;
      create materialized view sold as select b.id, b.volume as v, b.author as by, b.author as again, c.paint
        from books b left join covers c on c.book = b.id;
      create view some_books as (select id, volume, author from books where id < 5);
      create view hidden.chicken as select 1 as id;
      create view hidden.egg as select id from hidden.chicken;
      create or replace view hidden.chicken as select id from hidden.egg;
      create view circles as select c.id, a.id as author from hidden.chicken c, authors a;
      create function debuts(authors) returns setof books rows 1 stable language sql as 'select * from books where author = $1.id limit 1';
      create function fellows(authors) returns setof authors stable language sql as 'select * from authors';
      create function shouted(authors) returns text stable language sql as 'select upper($1."pen name")';
      create function nothing_of(authors, int) returns setof books language sql as 'select * from books';`
  }),
  live
)

const of = (schema: string, name: string) =>
  Effect.gen(function* () {
    const catalogue = yield* (yield* Catalogues).get((yield* Db).main)
    return catalogue.relationships({ schema, name })
  })

const shown = (relationship: Relationship) => {
  const { schema, name } = relationship.to
  const to = schema === "public" ? name : `${schema}.${name}`
  if (relationship._tag === "Computed")
    return `${relationship.function.name}() ${relationship.single ? "one" : "many"} ${to}`
  const { cardinality, columns, constraint, holdsKey, junction } = relationship
  const pairs = (all: typeof columns) => all.map((pair) => pair.join("=")).join("&")
  return `${constraint}${holdsKey ? "!" : ""} ${cardinality} ${to} ${pairs(columns)}${
    junction === undefined
      ? ""
      : ` ${junction.relation.schema}.${junction.relation.name} ${junction.constraint} ${pairs(junction.columns)}`
  }`
}

const all = (schema: string, name: string) => Effect.map(of(schema, name), (found) => found.map(shown).toSorted())

suite("relationships", (it) => {
  it.effect("are foreign keys in both directions, one-to-one if the key is unique", () =>
    Effect.gen(function* () {
      const found = yield* all("public", "covers")
      assert.deepStrictEqual(
        found.filter((line) => line.endsWith("books book=id&volume=volume")),
        ["covered! one-to-one books book=id&volume=volume", "covered! one-to-one some_books book=id&volume=volume"]
      )
      const back = yield* all("public", "books")
      assert.include(back, "covered one-to-one covers id=book&volume=volume")
      assert.include(back, "written! many-to-one authors author=id")
      assert.include(back, "edited! many-to-one authors editor=id")
    })
  )

  it.effect("relate a table to itself, in both directions", () =>
    Effect.gen(function* () {
      const found = yield* all("public", "authors")
      assert.include(found, "mentored! many-to-one authors mentor=id")
      assert.include(found, "mentored one-to-many authors id=mentor")
    })
  )

  it.effect("exist through a junction in an exposed schema whose primary key has both keys", () =>
    Effect.gen(function* () {
      const tags = yield* all("public", "tags")
      assert.include(tags, "tagged many-to-many books id=tag public.book_tags tagging book=id&volume=volume")
      assert.isFalse(tags.some((line) => line.includes("fans")))
      assert.isFalse(tags.some((line) => line.includes("loose_tags") && line.includes("many-to-many")))
      assert.include(
        yield* all("public", "books"),
        "tagging many-to-many tags id=book&volume=volume public.book_tags tagged tag=id"
      )
    })
  )

  it.effect("exist between exposed schemas, and to partitioned tables but not to their partitions", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        (yield* all("shop", "offers")).filter((line) => line.includes(" authors ")),
        ["offered! many-to-one authors author=id"]
      )
      const authors = yield* all("public", "authors")
      assert.include(authors, "offered one-to-many shop.offers id=author")
      assert.include(authors, "parted one-to-many parts id=author")
      assert.deepStrictEqual(yield* of("public", "parts_eu"), [])
      assert.deepStrictEqual(yield* of("hidden", "fans"), [])
    })
  )

  it.effect("exist for views, views of views and materialized views, with their column names", () =>
    Effect.gen(function* () {
      assert.include(yield* all("public", "writers"), "written one-to-many books writer=author")
      const seniors = yield* all("public", "seniors")
      assert.include(seniors, "written one-to-many books the {id}=author")
      assert.include(seniors, "mentored! many-to-one writers mentor=writer")
      const sold = yield* all("public", "sold")
      assert.includeMembers(sold, [
        "written! many-to-one authors by=id",
        "written! many-to-one authors again=id",
        "written! many-to-one seniors by=the {id}",
        "covered one-to-one covers id=book&v=volume",
        "tagging many-to-many tags id=book&v=volume public.book_tags tagged tag=id"
      ])
      assert.isFalse(sold.some((line) => line.startsWith("edited")))
      assert.include(yield* all("public", "some_books"), "written! many-to-one authors author=id")
    })
  )

  it.effect("exist for the other columns of a view of views that select from each other", () =>
    Effect.gen(function* () {
      assert.include(yield* all("public", "circles"), "written one-to-many books author=author")
    })
  )

  it.effect("are also functions of a row", () =>
    Effect.gen(function* () {
      const found = (yield* all("public", "authors")).filter((line) => line.includes("()"))
      assert.deepStrictEqual(found, ["debuts() one books", "fellows() many authors"])
    })
  )

  it.effect("come with the primary keys of tables and views, and with computed columns", () =>
    Effect.gen(function* () {
      const catalogue = yield* (yield* Catalogues).get((yield* Db).main)
      const key = (name: string) => catalogue.relation("public", name)?.primary_key
      assert.deepStrictEqual(key("book_tags"), ["book", "volume", "tag"])
      assert.deepStrictEqual(key("writers"), ["writer"])
      assert.deepStrictEqual(key("seniors"), ["the {id}"])
      assert.deepStrictEqual(key("sold"), ["id", "v"])
      const computed = catalogue.relation("public", "authors")?.computed
      assert.deepStrictEqual(
        computed?.map(({ kind, name, schema, type }) => ({ kind, name, schema, type })),
        [{ kind: "other", name: "shouted", schema: "public", type: "text" }]
      )
    })
  )
})
