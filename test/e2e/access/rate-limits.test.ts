import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused, type Reply, type Request } from "../../support/client.ts"

const service = inject("service")

const limits = ({ headers }: Reply) => [headers.get("x-ratelimit-limit"), headers.get("x-ratelimit-remaining")]

const limitedKey = async (rate_limit: number) => {
  const body = { keyType: "service_role", rate_limit }
  const reply = await ask(service, "POST /api/keys", { key: service.service_role, body })
  const { key, secret } = reply.json as { readonly key: { readonly id: number }; readonly secret: string }
  return { id: key.id, secret }
}

describe("an unlimited key's headers", () => {
  const big = new Uint8Array(1024 * 1024 + 1)
  const cases: ReadonlyArray<readonly [status: number, line: string, request: Request]> = [
    [200, "GET /v1/status", {}],
    [204, "OPTIONS /v1/status", {}],
    [204, "OPTIONS /v1/sql", { headers: { origin: "https://a.example", "access-control-request-method": "POST" } }],
    [400, "POST /v1/sql", { body: "{" }],
    [401, "GET /v1/status", { key: "svc_sk_wrong" }],
    [401, "GET /v1/status", { token: "forged" }],
    [403, "GET /v1/status", { key: service.anon }],
    [404, "GET /v1/nothing", {}],
    [405, "PUT /v1/sql", { body: {} }],
    [406, "GET /v1/db/t", { headers: { "accept-profile": "svc" } }],
    [413, "POST /v1/sql", { body: big }],
    [414, `GET /v1/db/t?a=${"b".repeat(17_000)}`, {}],
    [415, "POST /v1/sql", { body: "a,b", headers: { "content-type": "text/csv" } }]
  ]
  it.each(cases)("are -1 and -1 on a %i (%s)", async (status, line, request) => {
    const reply = await ask(service, line, { key: service.service_role, ...request })
    assert.strictEqual(reply.status, status, reply.text)
    assert.deepStrictEqual(limits(reply), ["-1", "-1"])
  })
})

it("counts every call of a limited key, except rate-limited ones", async () => {
  const { id, secret } = await limitedKey(3)
  const call = (line = "GET /v1/status") => ask(service, line, { key: secret })
  assert.deepStrictEqual(limits(await call()), ["3", "2"])
  assert.deepStrictEqual(limits(await call("GET /v1/nothing")), ["3", "1"])
  const last = await call("PUT /v1/status")
  assert.strictEqual(last.status, 405)
  assert.deepStrictEqual(limits(last), ["3", "0"])
  assert.isNull(last.headers.get("x-ratelimit-reset"))
  for (let i = 0; i < 3; i++) {
    const refused = await call()
    assertRefused(refused, 429, "RATE_LIMITED")
    assert.deepStrictEqual(limits(refused), ["3", "0"])
    const wait = Number(refused.headers.get("retry-after"))
    assert.isTrue(wait >= 1 && wait <= 60, `${wait} seconds`)
    assert.strictEqual(refused.headers.get("x-ratelimit-reset"), String(wait))
  }
  // If rate-limited calls counted, a limit of 5 would also be exhausted.
  await ask(service, `PATCH /api/keys/${id}`, { key: service.service_role, body: { rate_limit: 5 } })
  assert.deepStrictEqual(limits(await call()), ["5", "1"])
  await ask(service, `PATCH /api/keys/${id}`, { key: service.service_role, body: { rate_limit: null } })
  assert.deepStrictEqual(limits(await call()), ["-1", "-1"])
})

it("admits exactly as many concurrent calls", async () => {
  const { secret } = await limitedKey(10)
  const replies = await Promise.all(Array.from({ length: 40 }, () => ask(service, "GET /v1/status", { key: secret })))
  assert.strictEqual(replies.filter(({ status }) => status === 200).length, 10)
  assert.strictEqual(replies.filter(({ status }) => status === 429).length, 30)
})

it("does not count the management API", async () => {
  const { secret } = await limitedKey(1)
  for (let i = 0; i < 3; i++) {
    const reply = await ask(service, "GET /api/keys", { key: secret })
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual(limits(reply), [null, null])
  }
})
