import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { PostgrestError } from "@supabase/postgrest-js"
import { sql } from "../../../support/client.ts"
import { hs256 } from "../../../support/access/jwts.ts"
import { type InProcessService } from "../../../support/inProcess.ts"
import { answers, atMost, clientOf, refuses, resetVessels, startVessels } from "../../../support/rows/relatedTables.ts"

let service: InProcessService
let db: ReturnType<typeof clientOf>

beforeAll(async () => {
  service = await startVessels({ SVC_DB_PLAN_ENABLED: "true", SVC_DB_TX_END: "commit-allow-override" })
  db = clientOf(service)
})
beforeEach(() => resetVessels(service))
afterAll(() => service[Symbol.asyncDispose]())

const ships = () => db.from("ships").select("id, name")
const numbers = async () => (await sql(service, "select id from ships order by id")).map(({ id }) => id)

describe("one row", () => {
  const many = (rows: number) => ({
    code: "PGRST116",
    message: "Cannot coerce the result to a single JSON object",
    details: `The result contains ${rows} rows`,
    hint: null
  })

  it("is returned as an object by single, which rejects any other number", async () => {
    await answers(ships().eq("id", 2).single(), { id: 2, name: "Borealis" })
    await refuses(ships().eq("id", 99).single(), 406, many(0))
    await refuses(ships().single(), 406, many(5))
    await answers(ships().limit(1).order("id").single(), { id: 1, name: "Aurora" })
  })

  it("is returned as an object or null by maybeSingle", async () => {
    await answers(ships().eq("id", 2).maybeSingle(), { id: 2, name: "Borealis" })
    await answers(ships().eq("id", 99).maybeSingle(), null)
    await refuses(ships().maybeSingle(), 406, { code: "PGRST116" })
  })

  it("is written, or the write is rolled back", async () => {
    await refuses(db.from("ships").update({ note: "x" }).gt("id", 0).select().single(), 406, many(5))
    await refuses(db.from("ships").delete().eq("id", 99).select().single(), 406, many(0))
    await refuses(
      db
        .from("ports")
        .insert([
          { id: 8, name: "a" },
          { id: 9, name: "b" }
        ])
        .select()
        .single(),
      406,
      many(2)
    )
    assert.deepStrictEqual(
      await sql(
        service,
        "select (select count(*)::int from ships where note = 'x') as a, (select count(*)::int from ports) as b"
      ),
      [{ a: 0, b: 4 }]
    )
    await answers(db.from("ships").delete().eq("id", 5).select("id").single(), { id: 5 })
    await answers(db.from("ships").update({ note: "x" }).eq("id", 99).select().maybeSingle(), null)
  })
})

describe("formats", () => {
  it("returns CSV", async () => {
    await answers(
      db.from("ships").select("id, name, active").gt("id", 3).order("id").csv(),
      'id,name,active\n4,Dorado,\n5,"Eos, ""the (old)""",t'
    )
    await answers(db.from("ports").insert({ id: 5, name: "Cork" }).select("id,name").csv(), "id,name\n5,Cork", {
      status: 201
    })
  })

  it("omits nulls", async () => {
    await answers(db.from("ports").select("id, country, ships(id, note)").eq("id", 2).stripNulls(), [
      { id: 2, country: "NO", ships: [{ id: 3 }] }
    ])
    await answers(db.from("ports").select("id, country").eq("id", 4).stripNulls().single(), { id: 4 })
  })

  it("rejects GeoJSON", async () => {
    await refuses(db.from("ports").select().geojson(), 406, { code: "PGRST107" })
  })

  it("returns plans as text and JSON", async () => {
    const text = await ships().eq("id", 1).explain()
    assert.isNull(text.error)
    assert.include(String(text.data), "cost=")
    const json = await ships()
      .eq("id", 1)
      .explain({ format: "json", analyze: true, verbose: true, settings: true, buffers: true, wal: true })
    assert.isNull(json.error, JSON.stringify(json.error))
    const [{ Plan: plan }] = json.data as unknown as [{ Plan: Record<string, unknown> }]
    assert.property(plan, "Actual Rows")
    const write = await db
      .from("ships")
      .update({ note: "x" })
      .eq("id", 1)
      .select()
      .explain({ format: "json", analyze: true })
    assert.strictEqual(write.status, 200, JSON.stringify(write.error))
    const call = await db.rpc("ships_over", { floor: 1 }).explain()
    assert.include(String(call.data), "cost=")
  })
})

describe("a write", () => {
  it("is undone by rollback", async () => {
    await answers(db.from("ships").delete().eq("id", 5).select("id").rollback(), [{ id: 5 }])
    await answers(db.from("ports").insert({ id: 5, name: "Cork" }).rollback().select("id"), [{ id: 5 }], {
      status: 201
    })
    await answers(db.rpc("launch", { called: "Fortuna" }).select("name").rollback(), { name: "Fortuna" })
    assert.deepStrictEqual(await numbers(), [1, 2, 3, 4, 5])
  })

  it("is rejected beyond maxAffected", async () => {
    const updateAtMost = (rows: number) =>
      atMost(rows, db.from("ships").update({ note: "x" }).lt("id", 4).select("id").order("id"))
    await refuses(updateAtMost(2), 400, {
      code: "PGRST124",
      message: "Query result exceeds max-affected preference constraint",
      details: "The query affects 3 rows",
      hint: null
    })
    assert.deepStrictEqual(await sql(service, "select id from ships where note = 'x'"), [])
    await answers(updateAtMost(3), [{ id: 1 }, { id: 2 }, { id: 3 }])
    await refuses(atMost(4, db.from("ships").delete().gt("id", 0)), 400, { code: "PGRST124" })
    assert.deepStrictEqual(await numbers(), [1, 2, 3, 4, 5])
  })
})

describe("a client", () => {
  it("throws the error if throwOnError is set", async () => {
    const thrown = await db
      .from("nowhere")
      .select()
      .throwOnError()
      .then(
        () => undefined,
        (cause: unknown) => cause
      )
    assert.instanceOf(thrown, PostgrestError)
    assert.deepInclude(thrown.toJSON(), {
      code: "PGRST205",
      message: "Could not find the table 'public.nowhere' in the schema cache",
      details: null as never
    })
    const { data } = await ships().eq("id", 1).throwOnError()
    assert.deepStrictEqual(data as unknown, [{ id: 1, name: "Aurora" }])
  })

  it("does not send its types", async () => {
    await answers(ships().eq("id", 1).returns<Array<{ id: number }>>(), [{ id: 1, name: "Aurora" }])
    await answers(ships().eq("id", 1).overrideTypes<Array<{ id: number }>>(), [{ id: 1, name: "Aurora" }])
  })

  it("cancels its statement by disconnecting", async () => {
    const controller = new AbortController()
    const waiting = db.rpc("wait", { seconds: 6 }).abortSignal(controller.signal)
    setTimeout(() => controller.abort(), 300)
    const response = await waiting
    assert.strictEqual(response.status, 0)
    assert.match(String(response.error?.message), /AbortError/)
    const running = () =>
      sql(
        service,
        "select count(*)::int as n from pg_stat_activity where query like '%wait%' and state = 'active' and pid <> pg_backend_pid()"
      )
    let left: unknown = 1
    for (const until = Date.now() + 3_000; left !== 0 && Date.now() < until;) left = (await running())[0]?.["n"]
    assert.strictEqual(left, 0)
  })

  it("is identified by its key and token", async () => {
    await sql(service, "create table if not exists own (id int primary key, owner text)")
    await sql(service, "alter table own enable row level security")
    await sql(service, "drop policy if exists own on own")
    await sql(service, "create policy own on own using (owner = current_setting('request.jwt.sub', true))")
    await sql(service, "insert into own values (1, 'ann'), (2, 'bob') on conflict do nothing")
    await answers(db.from("own").select("id").order("id"), [{ id: 1 }, { id: 2 }])
    const anon = clientOf(service, { key: service.anon })
    await answers(anon.from("own").select("id"), [])
    // As supabase-js does without a signed-in user.
    await answers(
      clientOf(service, { key: service.anon, Authorization: `Bearer ${service.anon}` })
        .from("own")
        .select("id"),
      []
    )
    const token = hs256(JSON.stringify({ sub: "bob" }), undefined, service.jwtSecret)
    const bob = clientOf(service, { key: service.anon, Authorization: `Bearer ${token}` })
    await answers(bob.from("own").select("id"), [{ id: 2 }])
    await refuses(bob.from("own").insert({ id: 3, owner: "ann" }), 403, {
      code: "42501",
      message: 'new row violates row-level security policy for table "own"'
    })
    await refuses(anon.from("own").insert({ id: 3, owner: "ann" }), 401, { code: "42501" })
    await refuses(clientOf(service, { key: "svc_pk_wrong" }).from("own").select(), 401, { code: "INVALID_API_KEY" })
  })

  it("can read the schema's description", async () => {
    const { data, error, status } = await db.getOpenApiSpec()
    assert.isNull(error, JSON.stringify(error))
    assert.strictEqual(status, 200)
    const spec = data as unknown as { readonly openapi: string; readonly paths: Record<string, unknown> }
    assert.match(spec.openapi, /^3\.1/)
    assert.includeMembers(Object.keys(spec.paths), ["/ships", "/rpc/ships_over"])
  })
})
