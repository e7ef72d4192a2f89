import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type InProcessService } from "../../../support/inProcess.ts"
import { answers, clientOf, refuses, startVessels } from "../../../support/rows/relatedTables.ts"

let service: InProcessService
let db: ReturnType<typeof clientOf>

beforeAll(async () => {
  service = await startVessels({ SVC_DB_AGGREGATES: "true" })
  db = clientOf(service)
})
afterAll(() => service[Symbol.asyncDispose]())

describe("select", () => {
  it("returns all or some columns, with aliases, casts and JSON paths", async () => {
    await answers(db.from("sailors").select().order("id").limit(1), [{ id: 1, first: "Ann", last: "Ask", boss: null }])
    await answers(db.from("ports").select("id, name").eq("id", 3), [{ id: 3, name: "Genoa" }])
    await answers(
      db
        .from("ships")
        .select(`
        called: name, tonnage::text, length:facts->deck->length, facts->>motto, second:facts->crew->>1, tags->0, full:"name"
      `)
        .eq("id", 1),
      [{ called: "Aurora", tonnage: "100.50", length: 20, motto: "go", second: "2", tags: "fast", full: "Aurora" }]
    )
    await answers(db.from("sailors").select("*, full_name").eq("id", 2), [
      { id: 2, first: "Bo", last: "Berg", boss: 1, full_name: "Bo Berg" }
    ])
  })

  it("returns exact, planned and estimated counts, also without rows", async () => {
    const rows = [{ id: 1 }, { id: 2 }]
    const ships = (count: "exact" | "planned" | "estimated") => db.from("ships").select("id", { count }).order("id")
    await answers(ships("exact").limit(2), rows, { status: 206, count: 5 })
    await answers(ships("estimated").limit(2), rows, { status: 206, count: 5 })
    const planned = await ships("planned").limit(2)
    assert.deepStrictEqual(planned.data, rows)
    assert.isAtLeast(planned.count ?? -1, 2)
    await answers(db.from("ships").select("*", { count: "exact" }).lt("id", 0), [], { count: 0 })
    await answers(db.from("ships").select("*", { count: "exact", head: true }), null, { count: 5 })
    await answers(db.from("ships").select("*", { head: true }).eq("id", 1), null)
    const whole = await db.from("ships").select("id", { count: "exact" })
    assert.deepStrictEqual([whole.status, whole.statusText, whole.count], [200, "OK", 5])
  })

  it("aggregates", async () => {
    await answers(db.from("ships").select("n:count(), tonnage.sum(), id.max()"), [{ n: 5, sum: 435.75, max: 5 }])
    await answers(db.from("ships").select("flag, id.count()").order("flag", { nullsFirst: true }), [
      { flag: null, count: 1 },
      { flag: "red", count: 2 },
      { flag: "blue", count: 1 },
      { flag: "white", count: 1 }
    ])
    await answers(db.from("ports").select("name, ships(count)").order("id"), [
      { name: "Bergen", ships: [{ count: 2 }] },
      { name: "Oslo", ships: [{ count: 1 }] },
      { name: "Genoa", ships: [{ count: 1 }] },
      { name: "Atlantis", ships: [{ count: 0 }] }
    ])
    await answers(db.from("ports").select("name, ships(heaviest:tonnage.max())").eq("id", 1), [
      { name: "Bergen", ships: [{ heaviest: 250 }] }
    ])
  })

  it("rejects unknown names in PostgREST's wording", async () => {
    await refuses(db.from("shipps").select(), 404, {
      code: "PGRST205",
      message: "Could not find the table 'public.shipps' in the schema cache",
      hint: "Perhaps you meant the table 'public.ships'",
      details: null
    })
    await refuses(db.from("ships").select("nme"), 400, {
      code: "42703",
      message: "column ships.nme does not exist"
    })
    await refuses(db.from("ships").select("id, harbours(id)"), 400, {
      code: "PGRST200",
      message: "Could not find a relationship between 'ships' and 'harbours' in the schema cache",
      details:
        "Searched for a foreign key relationship between 'ships' and 'harbours' in the schema 'public', but no matches were found."
    })
    // The client ignores a 404 without a body, as for HEAD.
    const head = await db.from("shipps").select("*", { head: true })
    assert.deepStrictEqual([head.status, head.data, head.count], [204, null, null])
  })
})

describe("relationships", () => {
  it("are embedded: to one, to many, and one to one from both sides", async () => {
    await answers(db.from("ships").select("name, ports(name)").in("id", [1, 4]).order("id"), [
      { name: "Aurora", ports: { name: "Bergen" } },
      { name: "Dorado", ports: null }
    ])
    await answers(
      db
        .from("ports")
        .select("name, ships(name)")
        .in("id", [1, 4])
        .order("id")
        .order("id", { referencedTable: "ships" }),
      [
        { name: "Bergen", ships: [{ name: "Aurora" }, { name: "Borealis" }] },
        { name: "Atlantis", ships: [] }
      ]
    )
    await answers(db.from("ships").select("id, papers(number)").lt("id", 4).order("id"), [
      { id: 1, papers: { number: "A-1" } },
      { id: 2, papers: { number: "B-2" } },
      { id: 3, papers: null }
    ])
    await answers(db.from("papers").select("number, ships(name, ports(country))").eq("ship", 2), [
      { number: "B-2", ships: { name: "Borealis", ports: { country: "NO" } } }
    ])
  })

  it("are embedded: many to many, with or without the join rows", async () => {
    await answers(
      db
        .from("ships")
        .select("name, sailors(first)")
        .eq("id", 1)
        .order("first", { referencedTable: "sailors", ascending: false }),
      [{ name: "Aurora", sailors: [{ first: "Bo" }, { first: "Ann" }] }]
    )
    await answers(
      db
        .from("sailors")
        .select("first, ships(name), postings(rank)")
        .eq("id", 2)
        .order("id", { referencedTable: "ships" })
        .order("ship", { referencedTable: "postings" }),
      [
        {
          first: "Bo",
          ships: [{ name: "Aurora" }, { name: "Borealis" }],
          postings: [{ rank: "mate" }, { rank: "captain" }]
        }
      ]
    )
  })

  it("are embedded: of a table with itself", async () => {
    await answers(
      db
        .from("sailors")
        .select("first, boss(first), crew:sailors!boss(first)")
        .lt("id", 3)
        .order("id")
        .order("id", { referencedTable: "crew" }),
      [
        { first: "Ann", boss: null, crew: [{ first: "Bo" }, { first: "Cy" }] },
        { first: "Bo", boss: { first: "Ann" }, crew: [] }
      ]
    )
    await answers(
      db
        .from("ships")
        .select("id, consort:ships!consort(name)")
        .eq("id", 1)
        .order("id", { referencedTable: "consort" }),
      [{ id: 1, consort: [{ name: "Borealis" }, { name: "Carina" }] }]
    )
  })

  it("are disambiguated by a key's name or column; otherwise the error lists both", async () => {
    await answers(db.from("voyages").select("id, origin:ports!voyages_from(name), to:ports!target(name)").eq("id", 1), [
      { id: 1, origin: { name: "Bergen" }, to: { name: "Oslo" } }
    ])
    await answers(db.from("ports").select("name, leaving:voyages!voyages_from(id), voyages!target(id)").eq("id", 3), [
      { name: "Genoa", leaving: [{ id: 3 }], voyages: [{ id: 2 }] }
    ])
    await refuses(db.from("voyages").select("id, ports(name)"), 300, {
      code: "PGRST201",
      message: "Could not embed because more than one relationship was found for 'voyages' and 'ports'",
      hint: "Try changing 'ports' to one of the following: 'ports!voyages_from', 'ports!voyages_to'. Find the desired relationship in the 'details' key.",
      details: [
        {
          cardinality: "many-to-one",
          embedding: "voyages with ports",
          relationship: "voyages_from using voyages(origin) and ports(id)"
        },
        {
          cardinality: "many-to-one",
          embedding: "voyages with ports",
          relationship: "voyages_to using voyages(target) and ports(id)"
        }
      ]
    })
  })

  it("use keys of two columns", async () => {
    await answers(db.from("stays").select("id, berths(depth, ports(name))").order("id"), [
      { id: 1, berths: { depth: 12, ports: { name: "Bergen" } } },
      { id: 2, berths: { depth: 8, ports: { name: "Oslo" } } },
      { id: 3, berths: null }
    ])
  })

  it("lead from and to views", async () => {
    await answers(db.from("active_ships").select("name, ports(name), papers(number)").eq("id", 2), [
      { name: "Borealis", ports: { name: "Bergen" }, papers: { number: "B-2" } }
    ])
    await answers(db.from("ports").select("id, active_ships(name)").eq("id", 2), [{ id: 2, active_ships: [] }])
    await answers(db.from("registry").select("ship_name, number, ports(name)").eq("ship_id", 1), [
      { ship_name: "Aurora", number: "A-1", ports: { name: "Bergen" } }
    ])
  })

  it("are computed by functions, of one row and of several", async () => {
    await answers(db.from("ships").select("id, home_port(name)").in("id", [1, 4]).order("id"), [
      { id: 1, home_port: { name: "Bergen" } },
      { id: 4, home_port: null }
    ])
    await answers(db.from("ports").select("name, visitors(name, papers(number))").eq("id", 2), [
      { name: "Oslo", visitors: [{ name: "Aurora", papers: { number: "A-1" } }] }
    ])
  })

  it("exist in another schema", async () => {
    const crew = db.schema("crew")
    await answers(
      crew.from("ranks").select("title, holders(id)").eq("id", 2).order("id", { referencedTable: "holders" }),
      [{ title: "mate", holders: [{ id: 2 }, { id: 3 }] }]
    )
    await refuses(db.from("ranks").select(), 404, { code: "PGRST205" })
    await refuses(crew.from("holders").select("id, sailors(first)"), 400, { code: "PGRST200" })
    await refuses(db.schema("svc").from("keys").select(), 406, {
      code: "PGRST106",
      message: "Invalid schema: svc",
      hint: "Only the following schemas are exposed: public, crew"
    })
  })

  it("are spread into the parent row", async () => {
    await answers(db.from("papers").select("number, ...ships(name, ...ports(port:name))").order("ship"), [
      { number: "A-1", name: "Aurora", port: "Bergen" },
      { number: "B-2", name: "Borealis", port: "Bergen" }
    ])
    await answers(
      db.from("ships").select("id, ...sailors(crew:first)").eq("id", 1).order("id", { referencedTable: "sailors" }),
      [{ id: 1, crew: ["Ann", "Bo"] }]
    )
  })

  it("filter the parent rows only if requested", async () => {
    await answers(db.from("ships").select("id, ports(name)").eq("ports.name", "Oslo").order("id").limit(3), [
      { id: 1, ports: null },
      { id: 2, ports: null },
      { id: 3, ports: { name: "Oslo" } }
    ])
    await answers(db.from("ships").select("id, ports!inner(name)").eq("ports.name", "Oslo"), [
      { id: 3, ports: { name: "Oslo" } }
    ])
    await answers(
      db.from("ports").select("id, ships!inner(id)", { count: "exact" }).gt("ships.tonnage", 200),
      [{ id: 1, ships: [{ id: 2 }] }],
      { count: 1 }
    )
    await answers(db.from("ports").select("id, ships()").is("ships", null), [{ id: 4 }])
    await answers(db.from("ports").select("id, ships()").not("ships", "is", null).order("id"), [
      { id: 1 },
      { id: 2 },
      { id: 3 }
    ])
    await answers(
      db
        .from("ports")
        .select("id, ships(id)")
        .or("name.eq.Carina,tonnage.gt.200", { referencedTable: "ships" })
        .lt("id", 3)
        .order("id"),
      [
        { id: 1, ships: [{ id: 2 }] },
        { id: 2, ships: [{ id: 3 }] }
      ]
    )
    await answers(db.from("ships").select("id, papers(), sailors()").or("papers.is.null,sailors.is.null").order("id"), [
      { id: 3 },
      { id: 4 },
      { id: 5 }
    ])
    await refuses(db.from("ports").select("id, ships()").eq("ships", 1), 400, { code: "PGRST120" })
    await refuses(db.from("ports").select("id").eq("ships.id", 1), 400, {
      code: "PGRST108",
      message: "'ships' is not an embedded resource in this request",
      hint: "Verify that 'ships' is included in the 'select' query parameter."
    })
  })
})

describe("order", () => {
  const ids = async (request: PromiseLike<{ data: unknown; error: unknown }>) => {
    const { data, error } = await request
    assert.isNull(error, JSON.stringify(error))
    return (data as ReadonlyArray<{ id: number }>).map(({ id }) => id)
  }
  const ships = () => db.from("ships").select("id, ports(name)")

  it("sorts by columns, nulls first or last, JSON paths and related rows", async () => {
    assert.deepStrictEqual(await ids(ships().order("tonnage")), [5, 3, 1, 2, 4])
    assert.deepStrictEqual(await ids(ships().order("tonnage", { ascending: false })), [4, 2, 1, 3, 5])
    assert.deepStrictEqual(
      await ids(ships().order("tonnage", { ascending: false, nullsFirst: false })),
      [2, 1, 3, 5, 4]
    )
    assert.deepStrictEqual(
      await ids(ships().order("flag", { nullsFirst: true }).order("id", { ascending: false })),
      [5, 3, 1, 2, 4]
    )
    assert.deepStrictEqual(
      await ids(ships().order("facts->deck->length", { nullsFirst: false }).order("id")),
      [1, 2, 3, 4, 5]
    )
    assert.deepStrictEqual(
      await ids(ships().order("ports(name)", { ascending: false, nullsFirst: false }).order("id")),
      [3, 5, 1, 2, 4]
    )
    await refuses(db.from("ports").select("id, ships(id)").order("ships(id)"), 400, { code: "PGRST118" })
  })

  it("sorts and limits related rows", async () => {
    const ports = () => db.from("ports").select("ships(id)").eq("id", 1)
    await answers(ports().order("tonnage", { referencedTable: "ships", ascending: false }), [
      { ships: [{ id: 2 }, { id: 1 }] }
    ])
    await answers(ports().order("id", { foreignTable: "ships" }).limit(1, { foreignTable: "ships" }), [
      { ships: [{ id: 1 }] }
    ])
    await answers(ports().order("id", { referencedTable: "ships" }).range(1, 5, { referencedTable: "ships" }), [
      { ships: [{ id: 2 }] }
    ])
    await answers(
      db
        .from("ports")
        .select("ships(sailors(first))")
        .eq("id", 1)
        .order("id", { referencedTable: "ships" })
        .limit(1, { referencedTable: "ships" })
        .order("first", { referencedTable: "ships.sailors" })
        .limit(1, { referencedTable: "ships.sailors" }),
      [{ ships: [{ sailors: [{ first: "Ann" }] }] }]
    )
  })

  it("divides rows into pages", async () => {
    assert.deepStrictEqual(await ids(ships().order("id").range(1, 2)), [2, 3])
    assert.deepStrictEqual(await ids(ships().order("id").limit(2)), [1, 2])
    await answers(db.from("ships").select("id").limit(0), [])
    await answers(db.from("ships").select("id", { count: "exact" }).order("id").range(3, 9), [{ id: 4 }, { id: 5 }], {
      status: 206,
      count: 5
    })
    await refuses(db.from("ships").select("id", { count: "exact" }).range(9, 10), 416, {
      code: "PGRST103",
      message: "Requested range not satisfiable",
      details: "An offset of 9 was requested, but there are only 5 rows."
    })
    await refuses(db.from("ships").select("id").limit(-1), 416, { code: "PGRST103" })
    await answers(db.from("ships").select("id").range(9, 10), [])
  })
})
