import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { sql } from "../../../support/client.ts"
import { type InProcessService } from "../../../support/inProcess.ts"
import { answers, atMost, clientOf, refuses, resetVessels, startVessels } from "../../../support/rows/relatedTables.ts"

let service: InProcessService
let db: ReturnType<typeof clientOf>

beforeAll(async () => {
  service = await startVessels()
  db = clientOf(service)
})
beforeEach(() => resetVessels(service))
afterAll(() => service[Symbol.asyncDispose]())

const one = { called: "Carina" }
const how = [{}, { get: true }]

describe("rpc", () => {
  it.each(how)("returns a function's single value %j", async (options) => {
    await answers(db.rpc("add", { a: 1, b: 2 }, options), 3)
    await answers(db.rpc("add", { a: 1 }, options), 11)
    await answers(db.rpc("add", { a: 1, b: undefined }, options), 11)
    await answers(db.rpc("longest", { words: ["a", "abc", "b c"] }, options), "abc")
    await answers(db.rpc("nothing", {}), null, { status: 204 })
  })

  it("calls a variadic function", async () => {
    await answers(db.rpc("total", { numbers: [1, 2, 3] }), 6)
    await answers(db.rpc("total", { numbers: [] }), null)
    // With GET each value is a parameter of its own; the client can only send one.
    await answers(db.rpc("total", { numbers: 4 }, { get: true }), 4)
  })

  it("calls a function that takes an object", async () => {
    await answers(db.rpc("describe", { thing: { name: "x" } }), "x")
    await answers(db.rpc("echo", { any: [1, { thing: null }] }), { any: [1, { thing: null }] })
    await answers(db.rpc("describe", { thing: '{"name": "y"}' }, { get: true }), "y")
  })

  it.each(how)("filters, sorts and embeds the rows of a function like a table's %j", async (options) => {
    const over = (floor: number, more = {}) => db.rpc("ships_over", { floor }, { ...options, ...more })
    await answers(over(50).select("id").order("id"), [{ id: 1 }, { id: 2 }, { id: 3 }])
    await answers(
      over(50, { count: "exact" })
        .select("name, ports(name), sailors(first)")
        .order("tonnage", { ascending: false })
        .order("first", { referencedTable: "sailors" })
        .limit(2),
      [
        { name: "Borealis", ports: { name: "Bergen" }, sailors: [{ first: "Bo" }] },
        { name: "Aurora", ports: { name: "Bergen" }, sailors: [{ first: "Ann" }, { first: "Bo" }] }
      ],
      { status: 206, count: 3 }
    )
    await answers(over(0).select("id, ports!inner(name)").eq("ports.name", "Oslo").or("id.gt.1,flag.eq.blue"), [
      { id: 3, ports: { name: "Oslo" } }
    ])
    await answers(over(0).select("id").eq("flag", "red").range(1, 1).order("id"), [{ id: 3 }])
    await answers(over(0).select("facts->>motto").eq("id", 1).single(), { motto: "go" })
    await answers(over(1000), [])
    await answers(over(1000).maybeSingle(), null)
    await refuses(over(0).select("id").single(), 406, { code: "PGRST116", details: "The result contains 4 rows" })
    await answers(over(0).select("id,name").eq("id", 5).csv(), 'id,name\n5,"Eos, ""the (old)"""')
  })

  it.each(how)("returns a row, or a function's own columns %j", async (options) => {
    await answers(db.rpc("ship_named", one, options).select("id, ports(name)"), { id: 3, ports: { name: "Oslo" } })
    await answers(db.rpc("tallies", {}, options).order("ships", { ascending: false }).limit(1), [
      { flag: "red", ships: 2 }
    ])
    await answers(db.rpc("tallies", {}, options).select("total:ships").eq("flag", "blue"), [{ total: 1 }])
    await answers(db.rpc("names", {}, options).limit(2), ["Aurora", "Borealis"])
  })

  it("returns counts, with and without rows", async () => {
    await answers(db.rpc("ships_over", { floor: 50 }, { head: true, count: "exact" }), null, { count: 3 })
    await answers(db.rpc("ships_over", { floor: 50 }, { count: "exact" }).select("id").limit(0), [], {
      status: 206,
      count: 3
    }).catch(async () => {
      // An empty page of a non-empty result is partial content.
      await answers(db.rpc("ships_over", { floor: 50 }, { count: "exact" }).select("id").limit(0), [], { count: 3 })
    })
    await answers(db.rpc("describe", { thing: { name: "x" } }, { head: true, count: "exact" }), "x", {
      count: 1
    }).catch(() =>
      // An object is sent as POST with `return=minimal`, which PostgREST ignores for calls.
      answers(db.rpc("describe", { thing: { name: "x" } }, { head: true, count: "exact" }), null, {
        status: 204,
        count: 1
      })
    )
  })

  it("writes with POST, but not with GET", async () => {
    await answers(db.rpc("launch", { called: "Fortuna" }).select("id, name, note"), {
      id: 6,
      name: "Fortuna",
      note: "none"
    })
    await refuses(db.rpc("launch", { called: "Gloria" }, { get: true }), 405, { code: "25006" })
    assert.deepStrictEqual(await sql(service, "select count(*)::int as n from ships"), [{ n: 6 }])
    await answers(db.rpc("scrap", { under: 50 }).select("id"), [{ id: 5 }])
  })

  it("rolls back a function that writes more rows than allowed", async () => {
    await sql(service, "delete from stays")
    await sql(service, "update ships set consort = null")
    await refuses(atMost(2, db.rpc("scrap", { under: 150 }).select("id")), 400, {
      code: "PGRST124",
      message: "Query result exceeds max-affected preference constraint",
      details: "The query affects 3 rows"
    })
    await answers(atMost(3, db.rpc("scrap", { under: 150 }).select("id").order("id")), [
      { id: 1 },
      { id: 3 },
      { id: 5 }
    ])
    await refuses(atMost(1, db.rpc("add", { a: 1 })), 400, { code: "PGRST128" })
  })

  it("rejects unknown functions", async () => {
    await refuses(db.rpc("nowhere", { a: 1 }), 404, {
      code: "PGRST202",
      message: "Could not find the function public.nowhere(a) in the schema cache"
    })
    await refuses(db.rpc("ships_ovr", { a: 1, b: 2 }), 404, {
      code: "PGRST202",
      details:
        "Searched for the function public.ships_ovr with parameters a, b or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.",
      hint: "Perhaps you meant to call the function public.ships_over"
    })
    await refuses(db.rpc("add", { a: "x" }), 400, { code: "22P02" })
    await refuses(db.schema("crew").rpc("add", { a: 1 }), 404, { code: "PGRST202" })
  })

  it("returns the error that a function raises, as specified by the function", async () => {
    await refuses(db.rpc("refuse", { status: "P0001" }), 400, {
      code: "P0001",
      message: "refused",
      details: "why",
      hint: "how"
    })
    await refuses(db.rpc("refuse", { status: "PT402" }), 402, {
      code: "PT402",
      message: "refused",
      details: "why",
      hint: "how"
    })
    await refuses(db.rpc("refuse", { status: "42501" }), 403, { code: "42501" })
    await refuses(db.rpc("refuse", { status: "23505" }), 409, { code: "23505" })
  })
})
