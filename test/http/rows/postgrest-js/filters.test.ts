import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { sql } from "../../../support/client.ts"
import { type InProcessService } from "../../../support/inProcess.ts"
import { clientOf, refuses, startVessels } from "../../../support/rows/relatedTables.ts"

let service: InProcessService
let db: ReturnType<typeof clientOf>

beforeAll(async () => {
  service = await startVessels()
  await sql(service, 'create table odd (id int primary key, "a b" text, "q""uote" text, "é(x),.y" text, t text)')
  await sql(
    service,
    `insert into odd values (1, 'x', 'y', 'z', 'a,b(c)'), (2, null, null, null, 'say "hi"'), (3, 'null', '', 'w', 'back\\slash')`
  )
  db = clientOf(service)
})
afterAll(() => service[Symbol.asyncDispose]())

const all = (table: string) => db.from(table).select("id").order("id")
type Filters = ReturnType<typeof all>
type Found = PromiseLike<{ data: unknown; error: unknown }>
/** Ids of the ships that match. */
const ids = async (filter: (all: Filters) => Found, table = "ships") => {
  const { data, error } = await filter(all(table))
  assert.isNull(error, JSON.stringify(error))
  return (data as ReadonlyArray<{ id: number }>).map(({ id }) => id)
}

type Case = readonly [title: string, filter: (all: Filters) => Found, found: ReadonlyArray<number>]
const cases: ReadonlyArray<Case> = [
  ["eq", (all) => all.eq("name", "Aurora"), [1]],
  ["eq of a number, a boolean, an enum", (all) => all.eq("tonnage", 250).eq("active", true).eq("flag", "blue"), [2]],
  ["eq of a text with reserved characters", (all) => all.eq("name", 'Eos, "the (old)"'), [5]],
  ["neq", (all) => all.neq("flag", "red"), [2, 4]],
  ["gt", (all) => all.gt("tonnage", 100.5), [2]],
  ["gte", (all) => all.gte("tonnage", 100.5), [1, 2]],
  ["lt", (all) => all.lt("tonnage", 75.25), [5]],
  ["lte", (all) => all.lte("tonnage", 75.25), [3, 5]],
  ["like", (all) => all.like("name", "%or%"), [1, 2, 4]],
  ["like with a star and reserved characters", (all) => all.like("note", "50% off, *"), [5]],
  ["likeAllOf", (all) => all.likeAllOf("name", ["%a", "C%"]), [3]],
  ["likeAnyOf", (all) => all.likeAnyOf("name", ["A%", "C%"]), [1, 3]],
  ["ilike", (all) => all.ilike("name", "aUR*"), [1]],
  ["ilikeAllOf", (all) => all.ilikeAllOf("name", ["%A", "c%"]), [3]],
  ["ilikeAnyOf", (all) => all.ilikeAnyOf("name", ["a%", "d%"]), [1, 4]],
  ["regexMatch", (all) => all.regexMatch("name", "^[AB].*s?$"), [1, 2]],
  ["regexIMatch", (all) => all.regexIMatch("name", "^(aur|bor)"), [1, 2]],
  ["is null", (all) => all.is("active", null), [4]],
  ["is true", (all) => all.is("active", true), [1, 2, 5]],
  ["is false", (all) => all.is("active", false), [3]],
  ["isDistinct", (all) => all.isDistinct("flag", "red"), [2, 4, 5]],
  ["in", (all) => all.in("id", [1, 3, 3, 9]), [1, 3]],
  ["in of texts with commas and parentheses", (all) => all.in("note", ["none", "rats", "50% off, *really*"]), [2, 5]],
  ["in of an empty list", (all) => all.in("id", []), []],
  ["notIn", (all) => all.notIn("name", ["Aurora", "Borealis", "x,y"]), [3, 4, 5]],
  ["contains of an array", (all) => all.contains("tags", ["fast"]), [1, 5]],
  ["contains of an array whose text has a space", (all) => all.contains("tags", ["fast", "deep sea"]), [1]],
  ["contains of a range", (all) => all.contains("route", "[2,3)"), [1, 3]],
  ["contains of JSON", (all) => all.contains("facts", { deck: { length: 20 } }), [1]],
  ["contains of a JSON array, as text", (all) => all.contains("facts", "[1]"), [4]],
  ["containedBy of an array", (all) => all.containedBy("tags", ["fast", "slow"]), [2, 3, 5]],
  ["containedBy of a range", (all) => all.containedBy("route", "[1,6)"), [1, 3, 5]],
  ["containedBy of JSON", (all) => all.containedBy("facts", { deck: null, more: 1 }), [5]],
  ["rangeGt", (all) => all.rangeGt("route", "[1,4)"), [2]],
  ["rangeGte", (all) => all.rangeGte("route", "[2,4)"), [2, 3]],
  ["rangeLt", (all) => all.rangeLt("route", "[4,9)"), [3]],
  ["rangeLte", (all) => all.rangeLte("route", "[0,5)"), [1, 3]],
  ["rangeAdjacent", (all) => all.rangeAdjacent("route", "[3,5)"), [2, 3]],
  ["overlaps of a range", (all) => all.overlaps("route", "[4,6]"), [1, 2]],
  ["overlaps of an array", (all) => all.overlaps("tags", ["slow", "deep sea"]), [1, 2, 5]],
  ["textSearch", (all) => all.textSearch("words", "'cat' & !rat"), [1, 4]],
  ["textSearch in a language", (all) => all.textSearch("words", "cats & fat", { config: "english" }), [1, 4]],
  ["textSearch, plain", (all) => all.textSearch("words", "cats fat", { type: "plain", config: "english" }), [1, 4]],
  ["textSearch, phrase", (all) => all.textSearch("words", "fat cats", { type: "phrase", config: "english" }), [1, 4]],
  [
    "textSearch, websearch",
    (all) => all.textSearch("words", '"fat cats" or rats', { type: "websearch", config: "english" }),
    [1, 2, 4]
  ],
  ["textSearch in a text", (all) => all.textSearch("note", "board", { config: "simple" }), [1]],
  ["match", (all) => all.match({ home: 1, active: true, flag: "red" }), [1]],
  ["not eq", (all) => all.not("name", "eq", "Aurora"), [2, 3, 4, 5]],
  ["not is", (all) => all.not("home", "is", null), [1, 2, 3, 5]],
  ["not in", (all) => all.not("id", "in", "(1,2)"), [3, 4, 5]],
  ["not contains", (all) => all.not("tags", "cs", "{fast}"), [2, 3]],
  ["or", (all) => all.or("id.eq.1,name.eq.Carina"), [1, 3]],
  [
    "or of and, not, in and quotes",
    (all) =>
      all.or('and(id.gt.1,flag.eq.red),not.and(active.is.not_null,id.gt.0),id.in.(2),name.eq."Eos, \\"the (old)\\""'),
    [2, 3, 4, 5]
  ],
  ["or of arrays and ranges", (all) => all.or('tags.cs.{slow},route.ov."[3,4)"'), [1, 2, 5]],
  ["several or", (all) => all.or("id.eq.1,id.eq.2").or("flag.eq.blue,id.eq.3"), [2]],
  ["filter", (all) => all.filter("tonnage", "gte", 100).filter("name", "not.like", "B%"), [1]],
  ["filter with modifiers", (all) => all.filter("id", "eq(any)", "{1,4}").filter("name", "like(all)", "{%r%,%a}"), [1]],
  ["filters within JSON", (all) => all.eq("facts->>motto", "go").gt("facts->deck->length", 10), [1]],
  ["filters within JSON by index", (all) => all.eq("facts->crew->1", 2), [1]],
  ["filters within arrays", (all) => all.eq("tags->>0", "slow"), [2]],
  ["several filters on one column", (all) => all.gt("id", 1).lt("id", 4), [2, 3]],
  [
    "filters of related rows",
    (all) => all.select("id, ports!inner(country)").eq("ports.country", "NO").neq("ports.id", 2),
    [1, 2]
  ]
]

describe("filters", () => {
  it.each(cases)("%s", async (_title, filter, found) => {
    assert.deepStrictEqual(await ids(filter), found)
  })

  it("compare dates and times", async () => {
    const since = await db
      .from("voyages")
      .select("id")
      .gte("at", new Date("2026-02-01T10:00:00Z").toISOString())
      .order("id")
    assert.deepStrictEqual(since.data, [{ id: 2 }, { id: 3 }])
    assert.deepStrictEqual(await ids((all) => all.lt("opened", "1100-01-01"), "ports"), [1])
  })

  it("accept column names that must be quoted, and texts with any character", async () => {
    assert.deepStrictEqual(await ids((all) => all.eq("a b", "x"), "odd"), [1])
    assert.deepStrictEqual(await ids((all) => all.eq('"q\\"uote"', "y"), "odd"), [1])
    assert.deepStrictEqual(await ids((all) => all.eq('"é(x),.y"', "z"), "odd"), [1])
    assert.deepStrictEqual(await ids((all) => all.or('"é(x),.y".eq.w,a b.eq.x'), "odd"), [1, 3])
    assert.deepStrictEqual(await ids((all) => all.eq("a b", "null"), "odd"), [3])
    assert.deepStrictEqual(await ids((all) => all.eq('"q\\"uote"', ""), "odd"), [3])
    assert.deepStrictEqual(await ids((all) => all.in("t", ["a,b(c)", "back\\slash"]), "odd"), [1, 3])
    assert.deepStrictEqual(await ids((all) => all.eq("t", 'say "hi"'), "odd"), [2])
    assert.deepStrictEqual(await ids((all) => all.eq("t", "back\\slash"), "odd"), [3])
    const row = await db.from("odd").select('"é(x),.y", other:"a b"').eq("id", 1).order('"q\\"uote"')
    assert.deepStrictEqual(row.data as unknown, [{ "é(x),.y": "z", other: "x" }])
  })

  it("reject invalid values, operators and columns", async () => {
    const ships = () => db.from("ships").select("id")
    await refuses(ships().eq("id", "x"), 400, {
      code: "22P02",
      message: 'invalid input syntax for type integer: "x"',
      details: null,
      hint: null
    })
    await refuses(ships().eq("nothing", 1), 400, { code: "42703", message: "column ships.nothing does not exist" })
    await refuses(ships().filter("id", "equals", 1), 400, { code: "PGRST100" })
    await refuses(ships().or("id.eq.1,"), 400, { code: "PGRST100" })
    await refuses(ships().contains("name", ["a"]), 400, { code: "42883" })
    await refuses(ships().textSearch("words", "a b"), 400, { code: "42601" })
    await refuses(ships().regexMatch("name", "("), 400, { code: "2201B" })
  })
})
