import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, type Request, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess()
  for (const text of [
    "create table people (id int primary key, name text)",
    "insert into people values (1, 'Ann'), (2, 'Bob'), (3, 'Cy')",
    "create function everyone() returns setof people language sql stable as $$ select * from people order by id $$",
    "create function add(a int, b int default 10) returns int language sql immutable as $$ select a + b $$",
    "create function together(variadic v text[]) returns text language sql immutable as $$ select array_to_string(v, '+') $$",
    "create function forget(wanted int) returns void language sql as $$ delete from people where id = wanted $$",
    "create function length_of(text) returns int language sql immutable as $$ select length($1) $$",
    "create function size_of(bytea) returns int language sql immutable as $$ select octet_length($1) $$",
    `create function raises(message text, detail text) returns void language plpgsql as $$ begin
       raise sqlstate 'PGRST' using message = message, detail = detail; end $$`,
    "create function pays() returns void language plpgsql as $$ begin raise sqlstate 'PT402' using message = 'Pay first'; end $$"
  ]) {
    await sql(service, text)
  }
})
afterAll(() => service[Symbol.asyncDispose]())

const on = (line: string, request: Request = {}) =>
  ask(service, line.replace(" ", " /v1/db/rpc"), { key: service.service_role, ...request })

describe("a function", () => {
  it("returns a page of its rows for GET", async () => {
    const reply = await on("GET /everyone?select=name&id=gt.1&limit=1", { headers: { prefer: "count=exact" } })
    assert.deepStrictEqual([reply.status, reply.text], [206, '[{"name":"Bob"}]'])
    assert.strictEqual(reply.headers.get("content-range"), "0-0/2")
    const head = await on("HEAD /everyone", { headers: { prefer: "count=exact" } })
    assert.deepStrictEqual([head.status, head.text, head.headers.get("content-range")], [200, "", "0-2/3"])
  })

  it("takes arguments from the query or a form, or the raw body", async () => {
    assert.strictEqual((await on("GET /add?a=1&b=2")).text, "3")
    assert.strictEqual((await on("GET /together?v=x&v=y%20z")).text, '"x+y z"')
    const send = (line: string, type: string, body: string | Uint8Array) =>
      fetch(`${service.url}/v1/db/rpc/${line}`, {
        method: "POST",
        headers: { apikey: service.service_role, "content-type": type },
        body: typeof body === "string" ? body : Buffer.from(body)
      }).then((reply) => reply.text())
    assert.strictEqual(await send("together", "application/x-www-form-urlencoded", "v=x&v=y+z"), '"x+y z"')
    assert.strictEqual(await send("length_of", "text/plain", "é\n"), "2")
    assert.strictEqual(await send("size_of", "application/octet-stream", new Uint8Array([0, 255])), "2")
  })

  it("is 405 for GET if it writes", async () => {
    const reply = await on("GET /forget?wanted=3")
    assert.deepStrictEqual([reply.status, (reply.json as { code: string }).code], [405, "25006"])
    assert.strictEqual((await on("POST /forget", { body: { wanted: 3 } })).status, 204)
    assert.strictEqual((await on("GET /everyone?select=id")).text.replaceAll(/\s/g, ""), '[{"id":1},{"id":2}]')
  })

  it("can raise any response", async () => {
    const raise = (detail: object) =>
      fetch(`${service.url}/v1/db/rpc/raises`, {
        method: "POST",
        redirect: "manual",
        headers: { apikey: service.service_role, "content-type": "application/json" },
        body: JSON.stringify({
          message: JSON.stringify({ code: "123", message: "no", details: "so", hint: "be" }),
          detail: JSON.stringify(detail)
        })
      })
    const paid = await raise({ status: 402, status_text: "Pay Up", headers: { "X-Price": "1 €", "Retry-After": "5" } })
    assert.deepStrictEqual([paid.status, paid.statusText], [402, "Pay Up"])
    assert.strictEqual(Buffer.from(paid.headers.get("x-price") ?? "", "latin1").toString("utf8"), "1 €")
    assert.strictEqual(paid.headers.get("retry-after"), "5")
    assert.include((await paid.json()) as object, {
      code: "123",
      message: "no",
      error: "no",
      details: "so",
      hint: "be"
    })
    const moved = await raise({ status: 303, headers: { Location: "/elsewhere" } })
    assert.deepStrictEqual([moved.status, moved.headers.get("location")], [303, "/elsewhere"])
    const empty = await raise({ status: 204, headers: {} })
    assert.deepStrictEqual([empty.status, await empty.text()], [204, ""])
    const framed = await raise({ status: 200, headers: { "Content-Length": "1", "Transfer-Encoding": "chunked" } })
    assert.strictEqual(framed.status, 200)
    assert.include((await framed.json()) as object, { code: "123" })
    const pays = await fetch(`${service.url}/v1/db/rpc/pays`, {
      method: "POST",
      headers: { apikey: service.service_role }
    })
    assert.deepStrictEqual([pays.status, pays.statusText], [402, "Pay first"])
  })
})
