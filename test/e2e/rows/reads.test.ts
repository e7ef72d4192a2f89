import { assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, type Request, sql } from "../../support/client.ts"

const service = inject("service")
const key = service.service_role

beforeAll(async () => {
  await sql(service, "create table e2e_read (id int primary key, name text, note text)")
  await sql(
    service,
    `insert into e2e_read values (1, 'one', null), (2, 'two, "2"', 'b'), (3, 'three', null), (4, 'four', 'd'), (5, 'five', null)`
  )
  await sql(service, "create view e2e_read_sums as select name, count(*) from e2e_read group by name")
  await sql(service, "create view e2e_read_plain as select id, name from e2e_read")
})

const get = (query: string, headers: Request["headers"] = {}, method = "GET") =>
  ask(service, `${method} /v1/db/e2e_read${query}`, { key, headers })
const idsOf = (json: unknown) => (json as ReadonlyArray<{ id: number }>).map(({ id }) => id)

describe("ranges", () => {
  it.each<[query: string, headers: Record<string, string>, status: number, range: string, ids: ReadonlyArray<number>]>([
    ["?order=id", {}, 200, "0-4/*", [1, 2, 3, 4, 5]],
    ["?order=id", { range: "1-2" }, 200, "1-2/*", [2, 3]],
    ["?order=id", { range: "3-", "range-unit": "items" }, 200, "3-4/*", [4, 5]],
    ["?order=id&limit=2&offset=1", {}, 200, "1-2/*", [2, 3]],
    ["?order=id&limit=2", { range: "1-3" }, 200, "1-1/*", [2]],
    ["?order=id", { range: "bytes=0-1" }, 200, "0-4/*", [1, 2, 3, 4, 5]],
    ["?id=gt.9", {}, 200, "*/*", []],
    ["?limit=0", {}, 200, "*/*", []],
    ["?order=id&limit=2", { prefer: "count=exact" }, 206, "0-1/5", [1, 2]],
    ["?order=id", { prefer: "count=exact" }, 200, "0-4/5", [1, 2, 3, 4, 5]],
    ["?order=id&id=gt.3", { prefer: "count=exact" }, 200, "0-1/2", [4, 5]],
    ["?offset=5", { prefer: "count=exact" }, 206, "*/5", []],
    ["?id=gt.9", { prefer: "count=exact" }, 200, "*/0", []],
    ["?order=id", { prefer: "count=estimated", range: "0-0" }, 206, "0-0/5", [1]]
  ])("%s %o", async (query, headers, status, range, ids) => {
    const reply = await get(query, headers)
    assert.deepStrictEqual([reply.status, reply.headers.get("content-range")], [status, range], reply.text)
    assert.deepStrictEqual(idsOf(reply.json), ids)
    // Range applies to GET only (RFC 9110 14.2).
    const head = await get(query, headers, "HEAD")
    assert.strictEqual(head.text, "")
    if (headers["range"] !== undefined) return
    for (const name of ["content-type", "content-range", "content-location", "preference-applied"]) {
      assert.strictEqual(head.headers.get(name), reply.headers.get(name), name)
    }
    assert.strictEqual(head.status, reply.status)
  })

  it("planned counts are PostgreSQL's estimate", async () => {
    const { headers, status } = await get("?limit=1", { prefer: "count=planned" })
    assert.match(headers.get("content-range") ?? "", /^0-0\/\d+$/)
    assert.oneOf(status, [200, 206])
    assert.strictEqual(headers.get("preference-applied"), "count=planned")
  })

  it("beyond the last row, or invalid, are 416 with the total", async () => {
    const behind = await get("?offset=100", { prefer: "count=exact" })
    const { details } = assertRefused(behind, 416, "PGRST103")
    assert.strictEqual(details, "An offset of 100 was requested, but there are only 5 rows.")
    assert.strictEqual(behind.headers.get("content-range"), "*/5")
    assertRefused(await get("", { range: "2-1" }), 416, "PGRST103")
    assertRefused(await get("?limit=-1"), 416, "PGRST103")
    assert.strictEqual((await get("?offset=100")).status, 200)
  })
})

describe("formats", () => {
  const accept = (type: string) => ({ accept: type })
  const object = "application/vnd.pgrst.object+json"

  it("a single row is an object; none or several are 406", async () => {
    const one = await get("?id=eq.1", accept(object))
    assert.strictEqual(one.text, '{"id":1,"name":"one","note":null}')
    assert.strictEqual(one.headers.get("content-type"), `${object}; charset=utf-8`)
    for (const [query, rows] of [
      ["?id=eq.9", 0],
      ["?id=lt.4", 3]
    ] as const) {
      const { details, error } = assertRefused(await get(query, accept(object)), 406, "PGRST116")
      assert.strictEqual(error, "Cannot coerce the result to a single JSON object")
      assert.strictEqual(details, `The result contains ${rows} rows`)
    }
  })

  it("nulls are omitted if requested", async () => {
    const one = await get("?id=eq.1", accept(`${object};nulls=stripped`))
    assert.strictEqual(one.text, '{"id":1,"name":"one"}')
    const all = await get("?id=lt.3&order=id&select=id,note", accept("application/vnd.pgrst.array+json;nulls=stripped"))
    assert.deepStrictEqual(all.json, [{ id: 1 }, { id: 2, note: "b" }])
    assert.strictEqual(
      all.headers.get("content-type"),
      "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8"
    )
  })

  it("CSV has a header, quotes where needed, and empty fields for null", async () => {
    const reply = await get("?id=lt.3&order=id", accept("text/csv;q=0.9, application/json;q=0.1"))
    assert.strictEqual(reply.text, 'id,name,note\n1,one,\n2,"two, ""2""",b')
    assert.strictEqual(reply.headers.get("content-type"), "text/csv; charset=utf-8")
  })

  it("unsupported media types are 406, and so are plans unless enabled", async () => {
    const { error } = assertRefused(await get("", accept("image/png")), 406, "PGRST107")
    assert.strictEqual(error, "None of these media types are available: image/png")
    assertRefused(await get("", accept("application/vnd.pgrst.plan+json")), 406, "PGRST107")
    assert.strictEqual(
      (await get("", accept("text/html, */*;q=0.8"))).headers.get("content-type"),
      "application/json; charset=utf-8"
    )
  })
})

describe("preferences", () => {
  it("lists the applied preferences, and only those that apply to a read", async () => {
    const { headers } = await get("?id=eq.1", {
      prefer: "return=minimal, tx=rollback, handling=lenient, count=exact, x"
    })
    assert.strictEqual(headers.get("preference-applied"), "count=exact, handling=lenient")
    assert.isNull((await get("?id=eq.1")).headers.get("preference-applied"))
  })

  it("rejects unknown preferences only with handling=strict", async () => {
    const strict = await get("", { prefer: "handling=strict, count=all, x" })
    const { details, error } = assertRefused(strict, 400, "PGRST122")
    assert.strictEqual(error, "Invalid preferences given with handling=strict")
    assert.strictEqual(details, "Invalid preferences: count=all, x")
    assert.strictEqual((await get("", { prefer: "count=all, x" })).status, 200)
  })

  it("merges several Prefer headers", async () => {
    const headers: Array<[string, string]> = [
      ["apikey", key],
      ["prefer", "count=exact"],
      ["prefer", "handling=strict"]
    ]
    const reply = await fetch(`${service.url}/v1/db/e2e_read?limit=1`, { headers })
    assert.strictEqual(reply.headers.get("preference-applied"), "count=exact, handling=strict")
  })

  it("shows timestamps in a time zone, for this request only", async () => {
    await sql(service, "create table e2e_read_times (at timestamptz)")
    await sql(service, "insert into e2e_read_times values ('2026-01-01T12:00:00Z')")
    const at = async (prefer?: string) =>
      ask(service, "GET /v1/db/e2e_read_times", { key, headers: prefer === undefined ? {} : { prefer } })
    const there = await at("timezone=America/Los_Angeles")
    assert.deepStrictEqual(there.json, [{ at: "2026-01-01T04:00:00-08:00" }])
    assert.strictEqual(there.headers.get("preference-applied"), "timezone=America/Los_Angeles")
    assert.deepStrictEqual((await at()).json, [{ at: "2026-01-01T12:00:00+00:00" }])
    assertRefused(await at("timezone=Jupiter/Red_Spot"), 400, "22023")
    assert.deepStrictEqual((await at()).json, [{ at: "2026-01-01T12:00:00+00:00" }])
  })
})

describe("URLs", () => {
  it.each([
    ["", "/v1/db/e2e_read"],
    ["?id=eq.1", "/v1/db/e2e_read?id=eq.1"],
    ["?select=id&id=eq.1", "/v1/db/e2e_read?id=eq.1&select=id"],
    ["?select=*&name=eq.two,%20%222%22", "/v1/db/e2e_read?name=eq.two%2C%20%222%22&select=%2A"]
  ])("Content-Location of %s is %s", async (query, location) => {
    assert.strictEqual((await get(query)).headers.get("content-location"), location)
  })

  it("Content-Profile is sent if a schema was chosen", async () => {
    assert.strictEqual((await get("", { "accept-profile": "public" })).headers.get("content-profile"), "public")
    assert.isNull((await get("")).headers.get("content-profile"))
  })
})

describe("OPTIONS", () => {
  it.each([
    ["e2e_read", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"],
    ["e2e_read_sums", "OPTIONS,GET,HEAD"],
    ["e2e_read_plain", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE"]
  ])("on %s allows %s", async (table, allow) => {
    const reply = await ask(service, `OPTIONS /v1/db/${table}`, { key: service.anon })
    assert.deepStrictEqual([reply.status, reply.headers.get("allow"), reply.text], [200, allow, ""])
  })

  it("allows no PUT on a table without a key, and returns 404 for a missing table", async () => {
    await sql(service, "create table e2e_read_keyless (a int)")
    const reply = await ask(service, "OPTIONS /v1/db/e2e_read_keyless", { key })
    assert.strictEqual(reply.headers.get("allow"), "OPTIONS,GET,HEAD,POST,PATCH,DELETE")
    assertRefused(await ask(service, "OPTIONS /v1/db/e2e_read_nowhere", { key }), 404, "PGRST205")
    assertRefused(await ask(service, "OPTIONS /v1/db/e2e_read"), 401)
  })
})
