import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { sql } from "../../../support/client.ts"
import { type InProcessService } from "../../../support/inProcess.ts"
import { answers, clientOf, refuses, resetVessels, startVessels } from "../../../support/rows/relatedTables.ts"

// Writes return their rows by default, unlike PostgREST's; minimal.test.ts covers the setting that changes it.
let service: InProcessService
let db: ReturnType<typeof clientOf>

beforeAll(async () => {
  service = await startVessels()
  db = clientOf(service)
})
beforeEach(() => resetVessels(service))
afterAll(() => service[Symbol.asyncDispose]())

const ports = () => sql(service, "select id, name, country from ports order by id")
const aPort = (id: number, name: string | null, country: string | null = null) => ({ id, name, country })
const start = [aPort(1, "Bergen", "NO"), aPort(2, "Oslo", "NO"), aPort(3, "Genoa", "IT"), aPort(4, "Atlantis")]
const whole = (id: number, name: string, more = {}) => ({ id, name, country: null, opened: null, codes: [], ...more })

describe("insert", () => {
  it("returns one row or several, with the values that the database generated", async () => {
    await answers(db.from("ports").insert({ id: 5, name: "Cork" }), [whole(5, "Cork")], { status: 201 })
    await answers(
      db.from("ports").insert([aPort(6, "Lima", "PE"), aPort(7, "Riga")]),
      [whole(6, "Lima", { country: "PE" }), whole(7, "Riga")],
      { status: 201 }
    )
    assert.deepStrictEqual(await ports(), [...start, aPort(5, "Cork"), aPort(6, "Lima", "PE"), aPort(7, "Riga")])
    assert.strictEqual((await db.from("ports").insert({ id: 8, name: "Nice" })).statusText, "Created")
  })

  it("returns the selected columns, and rows related to the new ones", async () => {
    await answers(
      db
        .from("ships")
        .insert([{ name: "Fortuna", home: 3, tags: ["a,b", '"'], facts: { a: [1, null] }, route: "[1,2]" }])
        .select("id, tags, facts->a, route, ports(name), papers(number)"),
      [{ id: 6, tags: ["a,b", '"'], a: [1, null], route: "[1,3)", ports: { name: "Genoa" }, papers: null }],
      { status: 201 }
    )
    await answers(
      db.from("ships").insert({ name: "Gloria" }).select("name, note, active, flag").single(),
      { name: "Gloria", note: "none", active: true, flag: "red" },
      { status: 201 }
    )
  })

  it("returns the count", async () => {
    await answers(
      db
        .from("ports")
        .insert([aPort(5, "Cork"), aPort(6, "Lima")], { count: "exact" })
        .select("id"),
      [{ id: 5 }, { id: 6 }],
      { status: 201, count: 2 }
    )
  })

  it("uses column defaults for absent keys, and null only if requested", async () => {
    const rows = [{ name: "Fortuna" }, { name: "Gloria", note: "n", active: false }]
    const select = "name, note, active"
    await answers(
      db.from("ships").insert(rows, { defaultToNull: false }).select(select),
      [
        { name: "Fortuna", note: "none", active: true },
        { name: "Gloria", note: "n", active: false }
      ],
      { status: 201 }
    )
    await resetVessels(service)
    // The client sends no preference for null, so the service's default applies.
    await answers(
      db.from("ships").insert(rows).select(select),
      [
        { name: "Fortuna", note: "none", active: true },
        { name: "Gloria", note: "n", active: false }
      ],
      { status: 201 }
    )
    await resetVessels(service)
    await answers(
      clientOf(service, { Prefer: "missing=null" }).from("ships").insert(rows).select(select),
      [
        { name: "Fortuna", note: null, active: null },
        { name: "Gloria", note: "n", active: false }
      ],
      { status: 201 }
    )
  })

  it("creates nothing from no rows, and a row of defaults from an empty row", async () => {
    await answers(db.from("ports").insert([]), [], { status: 201 })
    await sql(service, "create table if not exists lines (id int generated always as identity, text text default 'd')")
    await answers(db.from("lines").insert({}).select("text"), [{ text: "d" }], { status: 201 })
  })

  it("returns the database's error", async () => {
    await refuses(db.from("ports").insert({ id: 1, name: "Two" }), 409, {
      code: "23505",
      message: 'duplicate key value violates unique constraint "ports_pkey"',
      details: "Key (id)=(1) already exists.",
      hint: null
    })
    await refuses(db.from("ships").insert({ name: "H", home: 99 }), 409, {
      code: "23503",
      details: 'Key (home)=(99) is not present in table "ports".'
    })
    await refuses(db.from("ships").insert({ name: null }), 400, { code: "23502" })
    await refuses(db.from("ships").insert({ name: "I", tonnage: -1 }), 400, { code: "23514" })
    await refuses(db.from("ships").insert({ name: "J", depth: 1 }), 400, {
      code: "PGRST204",
      message: "Could not find the 'depth' column of 'ships' in the schema cache"
    })
    await refuses(db.from("ships").insert([{ name: "J", depth: 1 }]), 400, { code: "PGRST204" })
    await refuses(db.from("nowhere").insert({ a: 1 }), 404, { code: "PGRST205" })
    assert.deepStrictEqual(await ports(), start)
  })

  it("works through a view and in another schema", async () => {
    await answers(
      db.from("active_ships").insert({ name: "Kora", home: 2 }).select("name, ports(name)"),
      [{ name: "Kora", ports: { name: "Oslo" } }],
      { status: 201 }
    )
    await answers(db.schema("crew").from("ranks").insert({ id: 3, title: "cook" }), [{ id: 3, title: "cook" }], {
      status: 201
    })
  })
})

describe("upsert", () => {
  it("merges by the primary key: 201 if a row is new, otherwise 200", async () => {
    await answers(
      db
        .from("ports")
        .upsert([
          { id: 1, name: "Bjørgvin" },
          { id: 5, name: "Cork" }
        ])
        .select("id, name, country"),
      [aPort(1, "Bjørgvin", "NO"), aPort(5, "Cork")],
      { status: 201 }
    )
    await answers(db.from("ports").upsert({ id: 5, name: "Cobh" }).select("id, name"), [{ id: 5, name: "Cobh" }], {
      status: 200
    })
    assert.deepStrictEqual(await ports(), [aPort(1, "Bjørgvin", "NO"), ...start.slice(1), aPort(5, "Cobh")])
  })

  it("merges by other columns", async () => {
    await answers(
      db.from("ports").upsert({ id: 9, name: "Atlantis", country: "N" }, { onConflict: "name" }).select("id, country"),
      [{ id: 9, country: "N" }]
    )
    await answers(
      db
        .from("postings")
        .upsert(
          [
            { ship: 1, sailor: 1, rank: "cook" },
            { ship: 3, sailor: 3, rank: "mate" }
          ],
          { onConflict: "ship,sailor", count: "exact" }
        )
        .select("rank"),
      [{ rank: "cook" }, { rank: "mate" }],
      { status: 201, count: 2 }
    )
    await refuses(db.from("ports").upsert({ id: 9, country: "N" }, { onConflict: "country" }), 400, { code: "42P10" })
  })

  it("keeps the existing row", async () => {
    await answers(
      db
        .from("ports")
        .upsert(
          [
            { id: 1, name: "X" },
            { id: 5, name: "Cork" }
          ],
          { ignoreDuplicates: true }
        )
        .select("id"),
      [{ id: 5 }],
      { status: 201 }
    )
    await answers(db.from("ports").upsert({ id: 1, name: "X" }, { ignoreDuplicates: true }).select("id"), [], {
      status: 201
    })
    await answers(
      db.from("ports").upsert({ id: 7, name: "Oslo" }, { ignoreDuplicates: true, onConflict: "name" }),
      [],
      { status: 201 }
    )
    assert.deepStrictEqual(await ports(), [...start, aPort(5, "Cork")])
  })

  it("uses column defaults for absent keys", async () => {
    await answers(
      db
        .from("ships")
        .upsert(
          [
            { id: 1, name: "Aurora", note: "changed" },
            { id: 8, name: "Luna" }
          ],
          { defaultToNull: false }
        )
        .select("id, note"),
      [
        { id: 1, note: "changed" },
        { id: 8, note: "none" }
      ],
      { status: 201 }
    )
  })
})

describe("update", () => {
  it("returns the changed rows, their selected columns, and their number", async () => {
    await answers(db.from("ports").update({ country: "N" }).eq("id", 2), [
      whole(2, "Oslo", { country: "N", codes: ["OSL"] })
    ])
    await answers(
      db
        .from("ports")
        .update({ country: "no" }, { count: "exact" })
        .lt("id", 3)
        .select("id")
        .order("id", { ascending: false }),
      [{ id: 2 }, { id: 1 }],
      { count: 2 }
    )
    await answers(
      db
        .from("ships")
        .update({ home: 3 })
        .eq("id", 1)
        .select("id, ports(name), sailors(first)")
        .order("first", { referencedTable: "sailors" })
        .single(),
      {
        id: 1,
        ports: { name: "Genoa" },
        sailors: [{ first: "Ann" }, { first: "Bo" }]
      }
    )
    await answers(db.from("ports").update({ country: "x" }).eq("id", 99).select(), [])
    await answers(db.from("ports").update({}).eq("id", 1).select("id"), [])
    assert.deepStrictEqual(await ports(), [aPort(1, "Bergen", "no"), aPort(2, "Oslo", "no"), ...start.slice(2)])
  })

  it("accepts every filter, including nested and JSON filters", async () => {
    await answers(
      db
        .from("ships")
        .update({ note: "m" })
        .or("flag.eq.blue,facts->>motto.eq.go")
        .not("id", "eq", 9)
        .select("id")
        .order("id"),
      [{ id: 1 }, { id: 2 }]
    )
    await answers(
      db
        .from("ships")
        .update({ facts: { a: { b: 1 } } })
        .match({ id: 3 })
        .select("facts->a->b"),
      [{ b: 1 }]
    )
  })

  it("is rejected without a filter", async () => {
    await refuses(db.from("ports").update({ country: "x" }), 400, { code: "FILTER_REQUIRED" })
    await refuses(db.from("ports").update({ country: "x" }).select("id").order("id").limit(1), 400, {
      code: "FILTER_REQUIRED"
    })
    assert.deepStrictEqual(await ports(), start)
  })

  it("returns the database's error", async () => {
    await refuses(db.from("ports").update({ name: "Oslo" }).eq("id", 1), 409, { code: "23505" })
    await refuses(db.from("ports").update({ nme: "x" }).eq("id", 1), 400, { code: "PGRST204" })
    await refuses(db.from("registry").update({ number: "x" }).eq("ship_id", 1), 400, { code: "55000" }).catch(
      async () => {
        // A view of two tables has no rows of its own.
        await refuses(db.from("registry").update({ number: "x" }).eq("ship_id", 1), 405, {})
      }
    )
  })
})

describe("delete", () => {
  it("returns the deleted rows, their selected columns, and their number", async () => {
    await answers(db.from("ports").delete().eq("id", 4), [whole(4, "Atlantis")])
    await answers(
      db.from("ships").delete({ count: "exact" }).in("id", [4, 5]).select("id, ports(name)").order("id"),
      [
        { id: 4, ports: null },
        { id: 5, ports: { name: "Genoa" } }
      ],
      { count: 2 }
    )
    await answers(db.from("ports").delete().eq("id", 99), [])
    assert.deepStrictEqual(await ports(), start.slice(0, 3))
  })

  it("is rejected without a filter, and for referenced rows", async () => {
    await refuses(db.from("papers").delete(), 400, { code: "FILTER_REQUIRED" })
    await refuses(db.from("ports").delete().eq("id", 1), 409, { code: "23503" })
    assert.deepStrictEqual(await ports(), start)
  })
})
