import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
/** Another owner. */
let other: { readonly id: number; readonly key: string }
beforeAll(async () => {
  service = await serveInProcess({})
  other = await makeKey("other")
})
afterAll(() => service[Symbol.asyncDispose]())

interface Entry {
  readonly id: number
  readonly name: string
  readonly [field: string]: unknown
}

const makeKey = async (label: string) => {
  const body = { keyType: "service_role", label }
  const { json } = await ask(service, "POST /api/keys", { key: service.service_role, body })
  const { key, secret } = json as { readonly key: { readonly id: number }; readonly secret: string }
  return { id: key.id, key: secret }
}
const as = async (key: string, line: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const reply = await ask(service, line, { key, headers, ...(body === undefined ? {} : { body }) })
  return { ...reply, json: reply.json as Entry }
}
const mine = (line: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
  as(service.service_role, line, body, headers)
const theirs = (line: string, body?: unknown, headers?: Readonly<Record<string, string>>) =>
  as(other.key, line, body, headers)
const names = async (key: string, query = "") =>
  ((await as(key, `GET /api/workspace/items${query}`)).json as object as ReadonlyArray<Entry>).map(({ name }) => name)

const query = { name: "Sales", content: { sql: "select 1", values: { 1: "a", 2: null } } }
const view = {
  name: "Open",
  content: {
    schema: "public",
    table: "todos",
    search: [
      ["done", "is.false"],
      ["order", "id.desc"]
    ],
    hidden: ["note"],
    order: ["id", "title"],
    widths: { title: 200 },
    fixed: 1
  }
}
const secret = "private-of-mine"

describe("/api/workspace/items", () => {
  it("is for service keys and administrators", async () => {
    for (const line of ["GET /api/workspace/items", "POST /api/workspace/items", "GET /api/workspace/history"]) {
      const body = line.startsWith("POST") ? { body: query } : {}
      assertRefused(await ask(service, line, { key: service.anon, ...body }), 403)
      assertRefused(await ask(service, line, body), 401)
    }
  })

  it("keeps queries, views and boards, and changes those of an expected revision", async () => {
    const made = await mine("POST /api/workspace/items", query)
    assert.strictEqual(made.status, 201, made.text)
    assert.deepInclude(made.json, { ...query, kind: "query", shared: false, mine: true, changeable: true, revision: 1 })
    assert.strictEqual(made.headers.get("etag"), '"1"')
    const at = `/api/workspace/items/${made.json.id}`
    const first = { "if-match": '"1"' }
    const changed = await mine(`PATCH ${at}`, { ...made.json, name: "Revenue" }, first)
    assert.deepInclude(changed.json, { name: "Revenue", revision: 2, content: query.content }, changed.text)
    assertRefused(await mine(`PATCH ${at}`, { name: "Lost" }, first), 412)
    assertRefused(await mine(`DELETE ${at}`, undefined, first), 412)
    assertRefused(await mine(`PATCH ${at}`, { content: view.content }), 400)
    assert.strictEqual((await mine(`GET ${at}`, undefined, { "if-none-match": '"2"' })).status, 304)

    const shown = await mine("POST /api/workspace/items", view)
    assert.deepInclude(shown.json, { ...view, kind: "view", schema: "public", table: "todos" }, shown.text)
    const board = { name: "Team", content: { charts: [{ query: made.json.id, wide: true }] } }
    assert.deepInclude((await mine("POST /api/workspace/items", board)).json, { ...board, kind: "board" })
    assert.deepStrictEqual(await names(service.service_role, "?kind=view&schema=public&table=todos"), ["Open"])
    assert.deepStrictEqual(await names(service.service_role, "?kind=view&schema=public&table=notes"), [])
    const all = await mine("GET /api/workspace/items")
    assert.notInclude(all.text, "content")

    assertRefused(await mine("POST /api/workspace/items", view), 409, "WORKSPACE_NAME_TAKEN")
    assert.strictEqual((await theirs("POST /api/workspace/items", view)).status, 201)
    assert.strictEqual((await mine(`DELETE ${at}`)).status, 200)
    assertRefused(await mine(`GET ${at}`), 404, "WORKSPACE_ITEM_NOT_FOUND")
  })

  it("refuses what is no item with a sentence", async () => {
    for (const change of [
      { name: "" },
      { name: "x".repeat(81) },
      { name: "a\0b" },
      { shared: "yes" },
      { owner: { type: "key", label: "x" } },
      { content: {} },
      { content: { sql: "" } },
      { content: { sql: "x".repeat(100_001) } },
      { content: { sql: "select 1", values: { no: "number" } } },
      { content: { sql: "select 1", values: { 1: "x".repeat(140_000) } } },
      { content: { charts: [{ query: 0, wide: false }] } },
      { content: { ...view.content, fixed: -1 } },
      { content: { ...view.content, sql: "select 1" } }
    ])
      assertRefused(await mine("POST /api/workspace/items", { ...query, ...change }), 400, "INVALID_REQUEST")
    assertRefused(await mine("GET /api/workspace/items/2147483648"), 400)
    assertRefused(await mine("GET /api/workspace/items?kind=secret"), 400)
  })

  it("hides private items from others, everywhere, and lets them read what is shared, not change it", async () => {
    const given = { ...query, name: secret }
    const { json } = await mine("POST /api/workspace/items", given)
    const at = `/api/workspace/items/${json.id}`
    assert.notInclude(await names(other.key), secret)
    for (const [line, body] of [
      [`GET ${at}`],
      [`PATCH ${at}`, { shared: true }],
      [`PATCH ${at}`, { content: view.content }],
      [`DELETE ${at}`]
    ] as const)
      assertRefused(await theirs(line, body, { "if-match": "*" }), 404, "WORKSPACE_ITEM_NOT_FOUND")
    assert.strictEqual((await mine(`PATCH ${at}`, { content: { sql: `select '${secret}'` } })).status, 200)
    const audit = await theirs("GET /api/audit?action=workspace&limit=1000")
    assert.include(audit.text, "workspace.create")
    assert.notInclude(audit.text, secret)

    assert.strictEqual((await mine(`PATCH ${at}`, { shared: true })).status, 200)
    assert.include(await names(other.key), secret)
    assert.deepInclude((await theirs(`GET ${at}`)).json, { shared: true, mine: false, changeable: false })
    assertRefused(await theirs(`PATCH ${at}`, { name: "Theirs" }), 403, "WORKSPACE_NOT_OWNER")
    assertRefused(await theirs(`DELETE ${at}`), 403, "WORKSPACE_NOT_OWNER")
    assert.strictEqual((await mine(`PATCH ${at}`, { shared: false })).status, 200)
    assertRefused(await theirs(`GET ${at}`), 404)
  })

  it("gives what a revoked key has shared to the first who changes it, and nothing private", async () => {
    const left = await makeKey("left")
    const shared = (await as(left.key, "POST /api/workspace/items", { ...query, name: "Kept", shared: true })).json
    const own = (await as(left.key, "POST /api/workspace/items", { ...query, name: secret })).json
    assertRefused(await mine(`PATCH /api/workspace/items/${shared.id}`, { name: "Mine" }), 403)
    assert.strictEqual((await mine(`DELETE /api/keys/${left.id}`)).status, 200)
    assertRefused(await mine(`PATCH /api/workspace/items/${own.id}`, { shared: true }), 404)
    const taken = await mine(`PATCH /api/workspace/items/${shared.id}`, { name: "Mine" })
    assert.deepInclude(taken.json, { name: "Mine", mine: true, shared: true }, taken.text)
    assertRefused(await theirs(`PATCH /api/workspace/items/${shared.id}`, { name: "Theirs" }), 403)
  })

  it("has at most 500 items of a kind of one owner, also if they are made at once", async () => {
    const many = await makeKey("many")
    const add = (at: number) => as(many.key, "POST /api/workspace/items", { ...query, name: `Query ${at}` })
    const replies = await Promise.all(Array.from({ length: 505 }, (_, at) => add(at)))
    assert.strictEqual(replies.filter(({ status }) => status === 201).length, 500)
    for (const reply of replies.filter(({ status }) => status !== 201)) assertRefused(reply, 409, "WORKSPACE_FULL")
    assert.strictEqual((await as(many.key, "POST /api/workspace/items", view)).status, 201)
  })
})

describe("/api/workspace/history", () => {
  interface Ran {
    readonly sql: string
    readonly [field: string]: unknown
  }
  const history = async (key: string) => (await as(key, "GET /api/workspace/history")).json as object as Array<Ran>

  it("keeps the last statements of each owner, once, for 30 days, and none with a password", async () => {
    const add = (statements: ReadonlyArray<unknown>) => mine("POST /api/workspace/history", { statements })
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
    const added = await add([
      { sql: "select 1", at: days(40) },
      { sql: "select 2", at: days(2), milliseconds: 1.5, rows: 3, values: { 1: "a" } },
      { sql: "select 3", at: days(-1), code: "42601", branch: "7" },
      { sql: "create role x password 'secret'" },
      { sql: "select 2", at: days(1), milliseconds: 2 }
    ])
    assert.strictEqual(added.status, 200, added.text)
    const found = await history(service.service_role)
    assert.deepStrictEqual(
      found.map(({ sql }) => sql),
      ["select 3", "select 2"]
    )
    assert.deepInclude(found[0], { code: "42601", branch: "7", milliseconds: null, rows: null, values: null })
    assert.isBelow(Date.parse(String(found[0]?.["at"])), Date.now() + 1000)
    assert.deepInclude(found[1], { milliseconds: 2, rows: null })
    assert.deepStrictEqual(await history(other.key), [])

    await add(Array.from({ length: 200 }, (_, at) => ({ sql: `select ${at} as n` })))
    assert.strictEqual((await history(service.service_role)).length, 200)
    assert.strictEqual((await theirs("DELETE /api/workspace/history")).status, 200)
    assert.strictEqual((await history(service.service_role)).length, 200)
    assert.strictEqual((await mine("DELETE /api/workspace/history")).status, 200)
    assert.deepStrictEqual(await history(service.service_role), [])
    for (const statements of [[], [{ sql: "" }], [{ sql: "x".repeat(16_385) }], [{ sql: "x", rows: -1 }], [{}]])
      assertRefused(await add(statements), 400, "INVALID_REQUEST")
  })
})
