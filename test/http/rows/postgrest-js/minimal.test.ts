import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { sql } from "../../../support/client.ts"
import { type InProcessService } from "../../../support/inProcess.ts"
import { answers, atMost, clientOf, refuses, resetVessels, startVessels } from "../../../support/rows/relatedTables.ts"

// SVC_DB_DEFAULT_RETURN=minimal: the default of PostgREST, which returns no rows of writes.
let service: InProcessService
let db: ReturnType<typeof clientOf>

beforeAll(async () => {
  service = await startVessels({ SVC_DB_DEFAULT_RETURN: "minimal" })
  db = clientOf(service)
})
beforeEach(() => resetVessels(service))
afterAll(() => service[Symbol.asyncDispose]())

const names = async () => (await sql(service, "select name from ports order by id")).map(({ name }) => name)

describe("with SVC_DB_DEFAULT_RETURN=minimal", () => {
  it("insert returns rows only if requested", async () => {
    await answers(db.from("ports").insert({ id: 5, name: "Cork" }), null, { status: 201 })
    await answers(
      db.from("ports").insert(
        [
          { id: 6, name: "Lima" },
          { id: 7, name: "Riga", country: "LV" }
        ],
        { count: "exact" }
      ),
      null,
      { status: 201, count: 2 }
    )
    await answers(db.from("ports").insert({ id: 8, name: "Nice" }).select("id"), [{ id: 8 }], { status: 201 })
    await answers(db.from("ports").insert([]), null, { status: 201 })
    assert.deepStrictEqual(await names(), ["Bergen", "Oslo", "Genoa", "Atlantis", "Cork", "Lima", "Riga", "Nice"])
  })

  it("upsert returns rows only if requested", async () => {
    await answers(
      db.from("ports").upsert([
        { id: 1, name: "Bjørgvin" },
        { id: 5, name: "Cork" }
      ]),
      null,
      { status: 201 }
    )
    await answers(db.from("ports").upsert({ id: 1, name: "Bergen" }), null, { status: 200 })
    await answers(db.from("ports").upsert({ id: 1, name: "X" }, { ignoreDuplicates: true }), null, { status: 201 })
    assert.deepStrictEqual(await names(), ["Bergen", "Oslo", "Genoa", "Atlantis", "Cork"])
  })

  it("update returns rows only if requested", async () => {
    await answers(db.from("ports").update({ name: "Kristiania" }).eq("id", 2), null, { status: 204 })
    await answers(db.from("ports").update({ country: "x" }, { count: "exact" }).gt("id", 2), null, {
      status: 204,
      count: 2
    })
    await answers(db.from("ports").update({ country: "x" }).eq("id", 99), null, { status: 204 })
    await answers(db.from("ports").update({ country: "y" }).eq("id", 1).select("country").single(), { country: "y" })
    assert.deepStrictEqual(await names(), ["Bergen", "Kristiania", "Genoa", "Atlantis"])
  })

  it("delete returns rows only if requested", async () => {
    await answers(db.from("ports").delete().eq("id", 4), null, { status: 204 })
    await answers(db.from("papers").delete({ count: "exact" }).gt("ship", 0), null, { status: 204, count: 2 })
    await answers(db.from("voyages").delete().eq("id", 1).select("id"), [{ id: 1 }])
    assert.deepStrictEqual(await names(), ["Bergen", "Oslo", "Genoa"])
  })

  it("functions still return their results", async () => {
    await answers(db.rpc("add", { a: 1 }), 11)
    await answers(db.rpc("nothing"), null, { status: 204 })
    await answers(db.rpc("ships_over", { floor: 200 }).select("id"), [{ id: 2 }])
  })

  it("a filter is still required, even one that matches every row", async () => {
    await refuses(db.from("ports").update({ country: "x" }), 400, { code: "FILTER_REQUIRED" })
    await refuses(db.from("ports").delete(), 400, { code: "FILTER_REQUIRED" })
    await answers(db.from("ports").update({ country: "x" }).not("id", "is", null), null, { status: 204 })
    assert.deepStrictEqual(await sql(service, "select distinct country from ports"), [{ country: "x" }])
  })

  it("errors stay the same", async () => {
    await refuses(db.from("ports").insert({ id: 1, name: "Two" }), 409, { code: "23505" })
    await refuses(db.from("ports").insert({ nme: "x" }), 400, { code: "PGRST204" })
    await refuses(atMost(1, db.from("ports").delete().gt("id", 0)), 400, { code: "PGRST124" })
  })
})
