import { request as nodeRequest } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { connect } from "node:net"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { ask, assertRefused, type Request, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { until } from "../../support/service.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({
    SVC_DB_MAX_ROWS: "100",
    SVC_DB_SCHEMAS: "public,other",
    SVC_RESPONSE_STALL_TIMEOUT: "2s"
  })
  for (const text of [
    "create schema other",
    "create table other.stock (id int primary key)",
    `create table stock (id int primary key, amount numeric, name text, sold date, made text default current_user,
       twice int generated always as (id * 2) stored)`,
    "create view sold as select id, sold from stock",
    "create table seen (n int)",
    "create function noted() returns trigger language plpgsql as $$ begin insert into seen values (new.id); return new; end $$",
    "create table many (id int primary key, text text, more text)",
    `insert into many select n, repeat('x', 200), case n % 3 when 0 then null when 1 then '' else 'a,"b"' || chr(10) || 'é' end
       from generate_series(1, 60000) n`,
    "create table wide (id int, text text, v text)",
    `create function chosen() returns setof wide language plpgsql as $$ begin
       perform set_config('response.status', '299', true); return query select * from wide; end $$`,
    "create view late as select n, 1 / (50000 - n) as share from generate_series(1, 60000) n",
    "create function everyone() returns setof many language sql stable as 'select * from many'"
  ]) {
    await sql(service, text)
  }
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(() => sql(service, "truncate stock, other.stock, seen"))

const load = (body: string | Uint8Array, query = "", request: Request = {}) =>
  ask(service, `POST /v1/db/stock/import${query}`, {
    key: service.service_role,
    ...request,
    body,
    headers: { "content-type": "text/csv", ...request.headers }
  })
const stock = () => sql(service, "select id, amount::text, name, sold::text from stock order by id")
const running = (text: string) =>
  sql(
    service,
    "select pid from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query ilike $1",
    [`%${text}%`]
  )

describe("an import", () => {
  it("writes the rows of a CSV", async () => {
    const text =
      '\uFEFFid,name,"amount",sold\r\n1,"a ""b"",\nc",12.50,2026-01-02\r\n2,NULL,NULL,NULL\r\n3,"NULL",0,\r\n4,"",1,NULL\r\n5,,,'
    const reply = await load(text)
    assert.deepStrictEqual([reply.status, reply.json], [201, { rows: 5 }], reply.text)
    assert.deepStrictEqual(await stock(), [
      { id: 1, amount: "12.50", name: 'a "b",\nc', sold: "2026-01-02" },
      { id: 2, amount: null, name: null, sold: null },
      { id: 3, amount: "0", name: "NULL", sold: null },
      { id: 4, amount: "1", name: "", sold: null },
      { id: 5, amount: null, name: null, sold: null }
    ])
  })

  it("reads empty cells as NULL by an option", async () => {
    assert.deepStrictEqual((await load('id,amount,name,sold\n1,,"",\n', "?null=")).json, { rows: 1 })
    assert.deepStrictEqual((await load("id,name\n2,\\N\n", "?null=%5CN")).json, { rows: 1 })
    assert.deepStrictEqual(await stock(), [
      { id: 1, amount: null, name: "", sold: null },
      { id: 2, amount: null, name: null, sold: null }
    ])
  })

  it("replaces or skips the rows whose key exists, and counts them", async () => {
    await load("id,amount,name\n1,1,one\n2,2,two\n")
    const merged = await load("name,id\nzwei,2\ndrei,3\n", "?on_conflict=id")
    assert.deepStrictEqual([merged.status, merged.json], [201, { rows: 2, inserted: 1, updated: 1, skipped: 0 }])
    const skipped = await load("id,name\n3,three\n4,four\n4,again\n", "?on_conflict=id&resolution=ignore-duplicates")
    assert.deepStrictEqual(skipped.json, { rows: 3, inserted: 1, updated: 0, skipped: 2 })
    // Without another column, there is nothing to replace.
    assert.deepStrictEqual((await load("id\n1\n5\n", "?on_conflict=id")).json, {
      rows: 2,
      inserted: 1,
      updated: 0,
      skipped: 1
    })
    assert.deepStrictEqual(
      (await stock()).map(({ amount, id, name }) => [id, amount, name]),
      [
        [1, "1", "one"],
        [2, "2", "zwei"],
        [3, null, "drei"],
        [4, null, "four"],
        [5, null, null]
      ]
    )
  })

  it("upserts by two columns, with identities and into partitions", async () => {
    await sql(
      service,
      `create table parts (region text, id int generated always as identity, note text, unique (region, id)) partition by list (region)`
    )
    await sql(service, "create table parts_all partition of parts default")
    const body = { key: service.service_role, headers: { "content-type": "text/csv" } }
    const send = (text: string) =>
      ask(service, "POST /v1/db/parts/import?on_conflict=region,id", { ...body, body: text })
    assert.deepInclude((await send("region,id,note\neu,1,a\nus,1,b\n")).json, { inserted: 2, updated: 0 })
    assert.deepInclude((await send("region,id,note\neu,1,c\neu,2,d\n")).json, { inserted: 1, updated: 1 })
    assert.deepStrictEqual(await sql(service, "select region, id, note from parts order by 1, 2"), [
      { region: "eu", id: 1, note: "c" },
      { region: "eu", id: 2, note: "d" },
      { region: "us", id: 1, note: "b" }
    ])
    await sql(service, "drop table parts")
  })

  it("as an upsert, writes nothing if a row is refused, and says why", async () => {
    await load("id,name\n1,one\n")
    for (const [text, query, code] of [
      ["id,name\n1,a\n1,b\n", "on_conflict=id", "21000"],
      ["id,name\n1,a\nx,b\n", "on_conflict=id", "22P02"],
      ["id,name\n2,a\n,b\n", "on_conflict=id&null=", "23502"],
      ["id,name\n1,a\n", "on_conflict=name", "42P10"],
      ["name\na\n", "on_conflict=id", "INVALID_REQUEST"],
      ["id\n1\n", "on_conflict=nope", "PGRST204"],
      ["id\n1\n", "on_conflict=", "PGRST100"],
      ["id\n1\n", "resolution=merge-duplicates", "INVALID_REQUEST"],
      ["id\n1\n", "on_conflict=id&resolution=replace", "INVALID_REQUEST"],
      ["id\n1\n", "on_conflict=id&resolution=constructor", "INVALID_REQUEST"]
    ] as const) {
      assertRefused(await load(text, `?${query}`), 400, code)
    }
    assert.deepStrictEqual(
      (await stock()).map(({ id, name }) => [id, name]),
      [[1, "one"]]
    )
  })

  it("runs triggers, and takes the schema of the profile", async () => {
    await sql(service, "create trigger noted after insert on stock for each row execute function noted()")
    assert.strictEqual((await load("id\n1\n2\n")).status, 201)
    await sql(service, "drop trigger noted on stock")
    assert.deepStrictEqual(await sql(service, "select count(*)::int as n from seen"), [{ n: 2 }])
    assert.strictEqual((await load("id\n7\n", "", { headers: { "content-profile": "other" } })).status, 201)
    assert.deepStrictEqual(await sql(service, "select id from other.stock"), [{ id: 7 }])
  })

  it.each<
    [
      what: string,
      body: string,
      query: string,
      status: number,
      code: string,
      details: string | null,
      hint: RegExp | null
    ]
  >([
    ["a value", "id,amount\n1,1\n2,x;y\n", "", 400, "22P02", "line 3, column amount", null],
    ["an empty text", 'id,amount,name\n1,1,"a\nb"\n2,"",c\n', "", 400, "22P02", "line 4, column amount", /quotes/],
    ["an empty value", "id,amount\n1,1\n2,\n", "?null=NULL", 400, "22P02", "line 3, column amount", /null=/],
    ["a missing field", "id,amount\n1\n", "", 400, "22P04", "line 2", null],
    ["a quote", 'id,name\n1,"a\n', "", 400, "22P04", "line 3", null],
    ["a duplicate", "id\n1\n1\n", "", 409, "23505", "line 3: Key (id)=(1) already exists.", null],
    ["an unknown column", "id,nope\n1,2\n", "", 400, "PGRST204", null, null],
    ["a column that is generated", "id,twice\n1,2\n", "", 400, "42P10", null, null],
    ["a repeated column", "id,id\n1,2\n", "", 400, "PGRST102", null, null],
    ["no line", "", "", 400, "PGRST102", null, null],
    ["an unending name", `"${"x".repeat(300_000)}`, "", 400, "PGRST102", null, null],
    ["bytes that are not UTF-8", "id,name\n1,\xff\n", "", 400, "22021", "line 2", null],
    ["a parameter", "id\n1\n", "?empty=null", 400, "INVALID_REQUEST", null, /null/]
  ])("names what is wrong: %s", async (_, body, query, status, code, details, hint) => {
    const bytes = body.includes("\xff") ? Buffer.from(body, "latin1") : body
    const refused = assertRefused(await load(bytes, query), status, code)
    if (details !== null) assert.strictEqual(refused["details"], details)
    if (hint !== null) assert.match(String(refused["hint"]), hint)
    assert.deepStrictEqual(await stock(), [])
  })

  it("needs a service_role key, a table, and text/csv", async () => {
    assertRefused(await load("id\n1\n", "", { key: service.anon }), 403, "FORBIDDEN")
    assertRefused(await load("id\n1\n", "", { headers: { "content-type": "application/json" } }), 415)
    const absent = { key: service.service_role, body: "id\n1\n", headers: { "content-type": "text/csv" } }
    assertRefused(await ask(service, "POST /v1/db/stok/import", absent), 404, "PGRST205")
    assertRefused(await ask(service, "POST /v1/db/sold/import", absent), 400)
    assertRefused(await ask(service, "GET /v1/db/stock/import", { key: service.service_role }), 405)
    // A function may have the same name.
    await sql(service, "create function import() returns int language sql immutable as 'select 7'")
    const called = await ask(service, "POST /v1/db/rpc/import", { key: service.anon, body: {} })
    assert.deepStrictEqual([called.status, called.text], [200, "7"])
  })

  it("takes a body of any size, and nothing of one with an error at its end", async () => {
    const line = `,${"y".repeat(100)}\n`
    const rows = Array.from({ length: 200_000 }, (_, n) => `${n}${line}`).join("")
    const refused = assertRefused(await load(`id,name\n${rows}x${line}`), 400, "22P02")
    assert.strictEqual(refused["details"], "line 200002, column id")
    assert.deepStrictEqual(await stock(), [])
    // Refused long before its end, and answered all the same.
    assertRefused(await load(`id,nope\n${rows}`), 400, "PGRST204")
    assertRefused(await load(`id,name\nx${line}${rows}`), 400, "22P02")
    const before = process.memoryUsage().rss
    assert.deepStrictEqual((await load(`id,name\n${rows}`)).json, { rows: 200_000 })
    assert.isBelow(process.memoryUsage().rss - before, 150 * 1024 * 1024)
  })

  it("ends when its client goes, and writes nothing", async () => {
    const headers = { apikey: service.service_role, "content-type": "text/csv" }
    const asked = nodeRequest(`${service.url}/v1/db/stock/import`, { method: "POST", headers })
    asked.on("error", () => undefined)
    asked.write("id\n1\n2\n")
    assert.lengthOf(
      await until(
        () => running("copy "),
        (rows) => rows.length === 1
      ),
      1
    )
    asked.destroy()
    assert.lengthOf(
      await until(
        () => running("copy "),
        (rows) => rows.length === 0
      ),
      0
    )
    assert.deepStrictEqual(await stock(), [])
    assert.deepStrictEqual((await load("id\n1\n")).json, { rows: 1 })
  })
})

describe("a CSV", () => {
  const read = (query: string, request: Request = {}) =>
    ask(service, `GET /v1/db/${query}`, { key: service.service_role, headers: { accept: "text/csv" }, ...request })

  it("has all rows for a service key", async () => {
    const reply = await read("many?order=id")
    assert.strictEqual(reply.status, 200)
    assert.isNull(reply.headers.get("x-max-rows"))
    assert.strictEqual(reply.headers.get("content-type"), "text/csv; charset=utf-8")
    const x = "x".repeat(200)
    assert.isTrue(reply.text.startsWith(`id,text,more\n1,${x},""\n2,${x},"a,""b""\né"\n3,${x},\n4,`))
    assert.isTrue(reply.text.endsWith(`\n60000,${x},`))
    assert.strictEqual(reply.text.split(`,${x},`).length, 60_001)
    const named = await read("many?select=%22a,b%22:id&id=gt.59990&order=id")
    assert.isTrue(named.text.startsWith('"a,b"\n59991\n'))
    assert.lengthOf((await read("many?select=id&id=lte.30000&order=id.desc&limit=20000")).text.split("\n"), 20_001)
  })

  it("is an error if its first row fails", async () => {
    assertRefused(await read("many?select=text::int"), 400, "22P02")
    // A later failure can only cut the response off.
    const late = read("late").then(
      () => "whole",
      () => "cut off"
    )
    assert.strictEqual(await late, "cut off")
    assert.strictEqual((await read("late?n=lt.50000")).status, 200)
  })

  it("is cut for others, for pages and counts, and says so", async () => {
    const cut = async (query: string, request: Request = {}) => (await read(query, request)).headers.get("x-max-rows")
    const json = { headers: { accept: "application/json" } }
    assert.strictEqual(await cut("many", json), "100")
    assert.strictEqual(await cut("many?limit=101", json), "100")
    assert.isNull(await cut("many?limit=100", json))
    assert.isNull(await cut("many?id=lte.99", json))
    assert.isNull(await cut("many?id=lte.100", { headers: { ...json.headers, prefer: "count=exact" } }))
    assert.strictEqual(await cut("many", { headers: { accept: "text/csv", prefer: "count=exact" } }), "100")
    assert.strictEqual(await cut("many", { headers: { accept: "text/csv", range: "0-500" } }), "100")
    assert.strictEqual(await cut("rpc/everyone", json), "100")
    assert.isNull(await cut("rpc/everyone?limit=5", json))
    await sql(service, "grant select on many to anon")
    assert.strictEqual(await cut("many", { key: service.anon }), "100")
  })

  it("is the same streamed as in one piece, with rows larger than what arrives at once", async () => {
    const whole = { headers: { accept: "text/csv", prefer: "count=exact" } }
    await sql(service, "truncate wide")
    await sql(
      service,
      `insert into wide select n, repeat(v, n * n * 300), v from generate_series(1, 17) n
         cross join (values ('a'), ('"'), ('é,'), ('NULL'), (''), (null)) f(v)`
    )
    const streamed = await read("wide?order=id,v")
    assert.isNull(streamed.headers.get("content-range"))
    const pages = []
    for (let offset = 0; offset < 102; offset += 34) {
      const page = await read(`wide?order=id,v&limit=34&offset=${offset}`, whole)
      assert.strictEqual(page.headers.get("content-range"), `${offset}-${offset + 33}/102`)
      pages.push(page.text.replace("id,text,v\n", ""))
    }
    assert.isTrue(streamed.text === `id,text,v\n${pages.join("\n")}`)
  })

  it("takes its turn, and gives it back", async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => read("many?select=id")))
    for (const { status, text } of all) assert.deepStrictEqual([status, text.split("\n").length], [200, 60_001])
    for (let n = 0; n < 12; n++)
      assert.strictEqual((await read("many?select=id&limit=200")).text.split("\n").length, 201)
  })

  it("ends when its client does not read it, and when it goes", async () => {
    const { hostname, port } = new URL(service.url)
    for (const leaves of [false, true]) {
      const socket = connect(Number(port), hostname)
      socket.on("error", () => undefined).pause()
      socket.write(
        `GET /v1/db/many?select=*,a:text,b:text,c:text HTTP/1.1\r\nHost: a\r\nAccept: text/csv\r\napikey: ${service.service_role}\r\n\r\n`
      )
      assert.lengthOf(
        await until(
          () => running("select % from %many"),
          (rows) => rows.length === 1
        ),
        1
      )
      // PostgreSQL waits for the client: nothing but a few lines is in memory.
      await sleep(1_000)
      assert.lengthOf(await running("select % from %many"), 1)
      if (leaves) socket.destroy()
      assert.lengthOf(
        await until(
          () => running("select % from %many"),
          (rows) => rows.length === 0
        ),
        0
      )
      socket.destroy()
    }
    assert.strictEqual((await read("many?select=id&id=eq.1")).text.trim(), "id\n1")
  })
})

describe("a large answer in JSON", () => {
  it("is what PostgreSQL made, also compressed, chosen by a function, and on a shared connection", async () => {
    await sql(service, "truncate wide")
    await sql(service, "insert into wide select n, repeat('é\"😀', 20000), null from generate_series(1, 5) n")
    const wanted = Array.from({ length: 5 }, (_, at) => ({ id: at + 1, text: 'é"😀'.repeat(20_000), v: null }))
    for (const encoding of ["identity", "gzip", "br"]) {
      const headers = { accept: "application/json", "accept-encoding": encoding, prefer: "count=exact" }
      const reply = await ask(service, "GET /v1/db/wide?order=id", { key: service.service_role, headers })
      assert.strictEqual(reply.headers.get("content-range"), "0-4/5")
      assert.strictEqual(reply.headers.get("content-encoding"), encoding === "identity" ? null : encoding)
      assert.deepStrictEqual(reply.json, wanted)
    }
    const head = await ask(service, "HEAD /v1/db/wide", { key: service.service_role })
    assert.deepStrictEqual([head.status, head.text], [200, ""])
    const called = await ask(service, "POST /v1/db/rpc/chosen?order=id", { key: service.service_role, body: {} })
    assert.strictEqual(called.status, 299)
    assert.deepStrictEqual(called.json, wanted)
    const changed = await ask(service, "PATCH /v1/db/wide?id=gt.0&order=id", {
      key: service.service_role,
      body: { v: "x" }
    })
    const ids = (changed.json as ReadonlyArray<{ readonly id: number; readonly text: string; readonly v: string }>).map(
      ({ id, text, v }) => [id, text.length, v]
    )
    assert.deepStrictEqual(
      ids.sort(),
      [1, 2, 3, 4, 5].map((id) => [id, 80_000, "x"])
    )
  })
})

describe("a body", () => {
  const send = (body: string, type?: string, line = "stock") =>
    fetch(`${service.url}/v1/db/${line}`, {
      method: "POST",
      headers: { apikey: service.service_role, "content-type": type ?? "application/x-www-form-urlencoded" },
      body
    }).then(
      async (reply) =>
        (await reply.json()) as { readonly code: string; readonly error: string; readonly hint: string | null }
    )

  it("in JSON without its content type is refused with a hint", async () => {
    for (const line of ["stock", "rpc/everyone"]) {
      const { code, hint } = await send(' {"id": 1}', undefined, line)
      assert.strictEqual(code, "PGRST102")
      assert.include(hint ?? "", "Content-Type: application/json")
    }
  })

  it("in CSV with a wrong value is refused with the way to find it", async () => {
    const { code, hint } = await send('id,amount\n1,""\n', "text/csv")
    assert.strictEqual(code, "22P02")
    assert.include(hint ?? "", "/import")
    assert.include(hint ?? "", "NULL")
    assert.include((await send(`id\n${"1\n".repeat(6 * 2 ** 20)}`, "text/csv")).hint ?? "", "/import")
  })

  it("of /v1/sql with COPY or an unknown field is refused with a remedy", async () => {
    const refused = async (body: object) =>
      (await ask(service, "POST /v1/sql", { key: service.service_role, body })).json as {
        error: string
        details: unknown
      }
    assert.include((await refused({ sql: "copy stock from stdin" })).error, "/v1/db/<table>/import")
    assert.include(JSON.stringify((await refused({ sql: "select 1", rowLimit: 1 })).details), "rowLimit")
  })
})
