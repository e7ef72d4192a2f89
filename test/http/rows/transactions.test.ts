import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, type Reply, type Request, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({
    SVC_DB_TX_END: "commit-allow-override",
    SVC_DB_PLAN_ENABLED: "true",
    SVC_DB_SCHEMAS: "public,other"
  })
  for (const text of [
    "create table notes (id int primary key, text text)",
    "create table marks (id int primary key, note int references notes deferrable initially deferred)",
    "create schema other",
    "create table other.things (id int primary key)",
    `create function told() returns json language sql stable as $$
       select json_build_object('method', current_setting('request.method', true), 'path', current_setting('request.path', true),
         'headers', current_setting('request.headers', true)::json, 'cookies', current_setting('request.cookies', true)::json) $$`,
    "create view context as select told() as told",
    `create function chosen(status text, headers text) returns json language plpgsql as $$ begin
       perform set_config('response.status', status, true), set_config('response.headers', headers, true);
       return '{"a": 1}';
     end $$`,
    `create function chosen_by_trigger() returns trigger language plpgsql as $$ begin
       perform set_config('response.status', '299', true), set_config('response.headers', '[{"x-made": "éa"}]', true);
       return new;
     end $$`,
    "create table triggered (id int primary key)",
    "create trigger chosen before insert on triggered for each row execute function chosen_by_trigger()",
    "create function leaves() returns text language plpgsql as $$ begin insert into notes values (99); return 'made'; end $$"
  ]) {
    await sql(service, text)
  }
})
afterAll(() => service[Symbol.asyncDispose]())

const on = (line: string, request: Request = {}) =>
  ask(service, line.replace(" ", " /v1/db"), { key: service.service_role, ...request })
const counted = async (table: string) => (await sql(service, `select count(*)::int as n from ${table}`))[0]?.["n"]

describe("Prefer: tx", () => {
  const headers = { prefer: "tx=rollback" }

  it("rollback returns the response of a commit, and changes nothing", async () => {
    const made = await on("POST /notes", { headers, body: { id: 1, text: "gone" } })
    assert.deepStrictEqual([made.status, made.json], [201, [{ id: 1, text: "gone" }]])
    assert.strictEqual(made.headers.get("preference-applied"), "tx=rollback")
    assert.strictEqual(await counted("notes"), 0)
    assert.strictEqual((await on("POST /rpc/leaves", { headers, body: {} })).text, '"made"')
    assert.strictEqual(await counted("notes"), 0)
    assert.strictEqual((await on("POST /notes", { headers: { prefer: "tx=commit" }, body: { id: 1 } })).status, 201)
    assert.strictEqual(await counted("notes"), 1)
    for (const [method, body] of [
      ["PATCH", { text: "x" }],
      ["DELETE", undefined]
    ] as const) {
      assert.strictEqual((await on(`${method} /notes?id=eq.1`, { headers, body })).status, 200)
    }
    assert.deepStrictEqual(await sql(service, "select id, text from notes"), [{ id: 1, text: null }])
  })

  it("reports violations of deferred constraints", async () => {
    assertRefused(await on("POST /marks", { headers, body: { id: 1, note: 404 } }), 409, "23503")
  })
})

describe("the request that a function sees", () => {
  const cookie = "theme=dark; svc_session=secret; idp_session=secret; name=%C3%A9=1; empty="

  it("has its method, path, headers and cookies, but no key and no session", async () => {
    const headers = { "x-hello": "World", cookie, prefer: "count=exact" }
    for (const [line, method, path] of [
      ["GET /rpc/told", "GET", "/rpc/told"],
      ["POST /rpc/told?limit=5", "POST", "/rpc/told"],
      ["GET /context?select=told", "GET", "/context"]
    ] as const) {
      const reply = await on(line, { headers, token: service.service_role, ...(method === "POST" ? { body: {} } : {}) })
      const seen = (line.includes("context") ? (reply.json as [{ told: unknown }])[0].told : reply.json) as {
        readonly headers: Readonly<Record<string, string>>
        readonly [name: string]: unknown
      }
      assert.deepInclude(seen, { method, path, cookies: { theme: "dark", name: "%C3%A9=1", empty: "" } }, reply.text)
      assert.deepInclude(seen.headers, { "x-hello": "World", prefer: "count=exact" })
      assert.notInclude(reply.text, service.service_role)
      assert.notInclude(reply.text, "secret")
    }
  })

  it("does not leak into the next request", async () => {
    await on("GET /rpc/told", { headers: { "x-hello": "World" } })
    const { text } = await on("GET /rpc/told")
    assert.notInclude(text, "World")
  })
})

describe("the response that a function sets", () => {
  const call = (status: string, headers: ReadonlyArray<Record<string, string>>) =>
    on("POST /rpc/chosen", { body: { status, headers: headers.length === 0 ? "" : JSON.stringify(headers) } })
  const seen = ({ headers, status, text }: Reply, name: string) => [status, text, headers.get(name)]

  it("takes precedence over the default response", async () => {
    assert.deepStrictEqual(seen(await call("201", [{ "X-Tea": "Earl Grey" }]), "x-tea"), [201, '{"a": 1}', "Earl Grey"])
    assert.deepStrictEqual(seen(await call("", [{ "Content-Type": "text/html" }]), "content-type"), [
      200,
      '{"a": 1}',
      "text/html"
    ])
    const made = await on("POST /triggered", { body: { id: 1 } })
    assert.deepStrictEqual([made.status, made.json], [299, [{ id: 1 }]])
    assert.strictEqual(Buffer.from(made.headers.get("x-made") ?? "", "latin1").toString("utf8"), "éa")
  })

  it("can be an error with the function's own body", async () => {
    assert.deepStrictEqual(seen(await call("418", []), "content-type"), [
      418,
      '{"a": 1}',
      "application/json; charset=utf-8"
    ])
  })

  it("can have several cookies, unchanged", async () => {
    const one = "a=b; HttpOnly; Path=/"
    assert.deepStrictEqual((await call("", [{ "Set-Cookie": one }])).headers.getSetCookie(), [one])
    const two = (await call("", [{ "Set-Cookie": "a=1; Path=/" }, { "set-cookie": "b=2; Secure" }])).headers
    assert.deepStrictEqual(two.getSetCookie(), ["a=1; Path=/", "b=2; Secure"])
  })

  it("is 500 if it is invalid", async () => {
    assertRefused(await on("POST /rpc/chosen", { body: { status: "", headers: "{}" } }), 500, "PGRST111")
    assertRefused(await on("POST /rpc/chosen", { body: { status: "x", headers: "" } }), 500, "PGRST112")
    assert.strictEqual((await on("GET /notes?limit=0")).status, 200)
  })
})

describe("reads", () => {
  it("change nothing", async () => {
    assertRefused(await on("GET /rpc/leaves"), 405, "25006")
    assert.strictEqual((await on("HEAD /rpc/leaves")).status, 405)
    assert.strictEqual(await counted("notes"), 1)
  })
})

describe("plans", () => {
  it("are returned as PostgreSQL writes them", async () => {
    const json = await on("GET /notes?id=eq.1", { headers: { accept: "application/vnd.pgrst.plan+json" } })
    assert.strictEqual(
      json.headers.get("content-type"),
      'application/vnd.pgrst.plan+json; for="application/json"; charset=utf-8'
    )
    assert.property((json.json as ReadonlyArray<object>)[0], "Plan")
    const accept = 'application/vnd.pgrst.plan+text; for="text/csv"; options=analyze|verbose'
    const text = await on("GET /notes?id=eq.1", { headers: { accept } })
    assert.match(text.text, /^Aggregate .*\(actual [^]*Output: [^]*\n$/)
    const write = await on("DELETE /notes?id=eq.1", { headers: { accept: "application/vnd.pgrst.plan" } })
    assert.include(write.text, "Delete on public.notes".replace("public.", ""))
    assert.strictEqual(await counted("notes"), 1)
  })
})

describe("several schemas", () => {
  it("the response names the schema in Content-Profile", async () => {
    assert.strictEqual((await on("GET /notes")).headers.get("content-profile"), "public")
    const other = { "accept-profile": "other", "content-profile": "other" }
    assert.strictEqual((await on("GET /things", { headers: other })).headers.get("content-profile"), "other")
    const made = await on("POST /things", { headers: other, body: { id: 1 } })
    assert.strictEqual(made.headers.get("content-profile"), "other")
    assertRefused(await on("GET /things"), 404, "PGRST205")
  })
})

describe("methods on functions", () => {
  it("OPTIONS lists the allowed ones, and others are rejected", async () => {
    assert.strictEqual((await on("OPTIONS /rpc/told")).headers.get("allow"), "OPTIONS,GET,HEAD,POST")
    assert.strictEqual((await on("OPTIONS /rpc/leaves")).headers.get("allow"), "OPTIONS,POST")
    assertRefused(await on("OPTIONS /rpc/nothing"), 404, "PGRST202")
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      const reply = await on(`${method} /rpc/told`)
      const { error } = assertRefused(reply, 405, "PGRST101")
      assert.strictEqual(reply.headers.get("allow"), "OPTIONS,GET,HEAD,POST")
      assert.strictEqual(error, `Cannot use the ${method} method on RPC`)
    }
  })
})

describe("SVC_DB_TX_END=rollback", () => {
  it("rolls back every request, regardless of Prefer", async () => {
    await using dry = await serveInProcess({ SVC_DB_TX_END: "rollback" })
    await sql(dry, "create table kept (id int primary key)")
    const headers = { prefer: "tx=commit" }
    const made = await ask(dry, "POST /v1/db/kept", { key: dry.service_role, headers, body: { id: 1 } })
    assert.deepStrictEqual([made.status, made.headers.get("preference-applied")], [201, null])
    assert.deepStrictEqual(await sql(dry, "select * from kept"), [])
  })
})
