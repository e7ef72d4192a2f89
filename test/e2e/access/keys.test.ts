import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused } from "../../support/client.ts"
import { runToEnd, until } from "../../support/service.ts"

const service = inject("service")
const key = service.service_role

interface Record {
  readonly id: number
  readonly key_type: string
  readonly key_prefix: string
  readonly label: string
  readonly rate_limit: number | null
  readonly created_at: string
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

const create = async (payload: object) => {
  const reply = await ask(service, "POST /api/keys", { key, body: payload })
  assert.strictEqual(reply.status, 201, reply.text)
  return reply.json as { readonly key: Record; readonly secret: string }
}
const list = async () => (await ask(service, "GET /api/keys", { key })).json as ReadonlyArray<Record>

describe("managing keys", () => {
  it("creates a key, returns its secret once, and lists it without its hash", async () => {
    const made = await create({ keyType: "anon", label: "web app", rate_limit: 100 })
    assert.match(made.secret, /^svc_pk_[\w-]{43}$/)
    const { id, ...record } = made.key
    assert.isTrue(Number.isInteger(id))
    assert.match(record.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.deepInclude(record, {
      key_type: "anon",
      key_prefix: made.secret.slice(0, 12),
      label: "web app",
      rate_limit: 100,
      last_used_at: null,
      revoked_at: null
    })
    const all = await list()
    assert.deepStrictEqual(
      all.find((one) => one.id === id),
      made.key
    )
    assert.notInclude(JSON.stringify(all), made.secret)
    assert.notMatch(JSON.stringify(all), /hash/)
    assert.deepStrictEqual((await ask(service, "GET /v1/keys", { key })).json, all)
  })

  it("changes label and limit separately, and removes the limit with null", async () => {
    const { id } = (await create({ keyType: "service_role" })).key
    const patch = (body: object) => ask(service, `PATCH /api/keys/${id}`, { key, body })
    assert.deepInclude((await patch({ label: "renamed" })).json, { label: "renamed", rate_limit: null })
    assert.deepInclude((await patch({ rate_limit: 5 })).json, { label: "renamed", rate_limit: 5 })
    assert.deepInclude((await patch({ rate_limit: null, label: "" })).json, { label: "", rate_limit: null })
    assert.deepInclude((await patch({})).json, { label: "", rate_limit: null })
  })

  it("revokes immediately and permanently; a second revocation has no effect", async () => {
    const made = await create({ keyType: "service_role", label: "leaked" })
    const use = () => ask(service, "GET /v1/status", { key: made.secret })
    assert.strictEqual((await use()).status, 200)
    const revoke = () => ask(service, `DELETE /api/keys/${made.key.id}`, { key })
    assert.deepStrictEqual((await revoke()).json, { success: true })
    assertRefused(await use(), 401, "INVALID_API_KEY")
    assertRefused(await ask(service, "GET /api/keys", { key: made.secret }), 401, "INVALID_API_KEY")
    const before = (await list()).find(({ id }) => id === made.key.id)
    assert.isString(before?.revoked_at)
    assert.strictEqual((await revoke()).status, 200)
    assert.strictEqual((await list()).find(({ id }) => id === made.key.id)?.revoked_at, before?.revoked_at)
  })

  it("records when a key is used", async () => {
    const made = await create({ keyType: "anon" })
    await ask(service, "GET /v1/db/nothing_of_this_name", { key: made.secret })
    const record = async () => (await list()).find(({ id }) => id === made.key.id)
    assert.isString((await until(record, (found) => found?.last_used_at !== null))?.last_used_at)
  })

  it("takes a label of 100 characters, each of which may take several bytes", async () => {
    const label = "🔑".repeat(100)
    assert.strictEqual((await create({ keyType: "anon", label })).key.label, label)
  })

  it.each([
    [{}, "keyType"],
    [{ keyType: "admin" }, "keyType"],
    [{ keyType: "anon", label: "x".repeat(101) }, "label"],
    [{ keyType: "anon", label: "🔑".repeat(101) }, "label"],
    [{ keyType: "anon", label: "\0" }, "label"],
    [{ keyType: "anon", label: "\ud800" }, "label"],
    [{ keyType: "anon", rate_limit: 0 }, "rate_limit"],
    [{ keyType: "anon", rate_limit: 1.5 }, "rate_limit"],
    [{ keyType: "anon", rate_limit: 2 ** 31 }, "rate_limit"]
  ])("rejects %o and names the field", async (body, field) => {
    const { details } = assertRefused(await ask(service, "POST /api/keys", { key, body }), 400, "INVALID_REQUEST")
    assert.match(String(details), new RegExp(`^${field}: `))
  })

  it("returns 404 for unknown ids and 400 for invalid ones", async () => {
    for (const method of ["PATCH", "DELETE"]) {
      const about = async (id: string) => ask(service, `${method} /api/keys/${id}`, { key, body: {} })
      assertRefused(await about("2147483647"), 404, "KEY_NOT_FOUND")
      assertRefused(await about("9007199254740991"), 404, "KEY_NOT_FOUND")
      assertRefused(await about("first"), 400, "INVALID_REQUEST")
    }
  })
})

describe("permissions", () => {
  const managed = ["/v1/status", "/v1/keys", "/v1/database/schema", "/api/keys"]

  it.each([...managed.map((path) => `GET ${path}`), "POST /v1/sql", "POST /v1/sql/transaction", "POST /api/keys"])(
    "%s is for service keys",
    async (line) => {
      const body = line.startsWith("POST") ? { body: {} } : {}
      assertRefused(await ask(service, line, body), 401)
      assertRefused(await ask(service, line, { ...body, key: "" }), 401)
      assertRefused(await ask(service, line, { ...body, key: `${key}x` }), 401)
      assertRefused(await ask(service, line, { ...body, key: `svc_sk_${"A".repeat(43)}` }), 401, "INVALID_API_KEY")
      assertRefused(await ask(service, line, { ...body, key: service.anon }), 403, "FORBIDDEN")
    }
  )

  it("accepts x-api-key for apikey, and rejects two that differ", async () => {
    for (const path of managed) {
      const get = (headers: { [name: string]: string }) => ask(service, `GET ${path}`, { headers })
      assert.strictEqual((await get({ "x-api-key": key })).status, 200)
      assert.strictEqual((await get({ "x-api-key": key, apikey: key })).status, 200)
      assert.strictEqual((await get({ "x-api-key": key, apikey: "" })).status, 200)
      assert.strictEqual((await get({ "x-api-key": "", apikey: key })).status, 200)
      assertRefused(await get({ "x-api-key": "", apikey: "" }), 401, "INVALID_API_KEY")
      assertRefused(await get({ "x-api-key": service.anon, apikey: key }), 400, "AMBIGUOUS_API_KEY")
      assertRefused(await get({ "x-api-key": service.anon }), 403)
    }
  })

  it("ignores keys in the query string", async () => {
    assertRefused(await ask(service, `GET /v1/status?apikey=${key}`), 401)
  })

  it("can't be bypassed by another spelling of the path", async () => {
    for (const path of [
      "/%76%31/status",
      "/%761/db/notes",
      "/V1/status",
      "//v1/status",
      "/v1//status",
      "/v1/status/"
    ]) {
      assertRefused(await ask(service, `GET ${path}`, { key }), 404, "NOT_FOUND")
    }
  })
})

it("`svc key` creates a key while the service runs", async () => {
  const run = (...program: Array<string>) =>
    runToEnd({ SVC_DATA_DIR: service.dataDir }, ["dist/svc.mjs", "key", ...program])
  const [made, usage] = await Promise.all([run("service_role", "from the shell"), run("admin")])
  assert.strictEqual(made.code, 0, made.output)
  const reply = await ask(service, "GET /v1/keys", { key: made.output.trim() })
  assert.strictEqual(reply.status, 200)
  assert.isTrue((reply.json as Array<{ label: string }>).some(({ label }) => label === "from the shell"))
  const audit = await ask(service, "GET /api/audit?actor=service&limit=1", { key: service.service_role })
  assert.include(audit.text, '"label":"svc key"')
  assert.include(audit.text, '"label":"from the shell"')
  assert.strictEqual(usage.code, 2)
  assert.match(usage.output, /^Usage: svc key /m)
})
