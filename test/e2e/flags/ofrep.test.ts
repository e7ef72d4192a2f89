import { assert, describe, inject, it } from "vitest"
import { ask, assertRefused, type Request } from "../../support/client.ts"
import { flagOf, makeFlag } from "../../support/flags/api.ts"

const service = inject("service")
const key = service.anon
const path = "/ofrep/v1/evaluate/flags"

const evaluate = (flag: string, request: Request = {}) => ask(service, `POST ${path}${flag}`, { key, ...request })

let made = 0
const flag = async () => {
  const name = `ofrep-${process.pid}-${made++}`
  await makeFlag(service, name, { targeting: { if: [{ "==": [{ var: "plan" }, "pro"] }, "on", null] } })
  return name
}
const toggle = (name: string) => flagOf(service, `PATCH /${name}/toggle`)

describe("/ofrep on the API's own port", () => {
  it("evaluates one flag", async () => {
    const name = await flag()
    const pro = await evaluate(`/${name}`, { body: { context: { targetingKey: "u", plan: "pro" } } })
    assert.strictEqual(pro.status, 200, pro.text)
    assert.match(pro.headers.get("content-type") ?? "", /^application\/json/)
    assert.deepInclude(pro.json, { key: name, value: true, variant: "on", reason: "TARGETING_MATCH" })
    assert.deepInclude((pro.json as { metadata: object }).metadata, { flagSetId: "production" })
    assert.deepInclude((await evaluate(`/${name}`)).json, { value: false, reason: "DEFAULT" })
    await toggle(name)
    const disabled = await evaluate(`/${name}`)
    assert.deepInclude(disabled.json, { key: name, reason: "DISABLED" })
    assert.doesNotHaveAnyKeys(disabled.json, ["value", "variant"])
    assert.deepInclude((await evaluate(`/${name}`, { headers: { "Flagd-Selector": "flagSetId=dev" } })).json, {
      value: false,
      metadata: (
        await evaluate("", { headers: { "Flagd-Selector": "dev" } }).then(({ json }) => json as { metadata: object })
      ).metadata
    })
  })

  it("evaluates all flags with an ETag, and returns 304 until something changes", async () => {
    const name = await flag()
    const all = await evaluate("", { body: { context: { plan: "pro" } } })
    assert.strictEqual(all.status, 200)
    const { flags } = all.json as { readonly flags: ReadonlyArray<{ readonly key: string; readonly value?: unknown }> }
    assert.deepInclude(
      flags.find((one) => one.key === name),
      { value: true }
    )
    const headers = { "if-none-match": all.headers.get("etag") ?? "" }
    const same = await evaluate("/", { body: { context: { plan: "pro" } }, headers })
    assert.strictEqual(same.status, 304)
    assert.strictEqual(same.text, "")
    await toggle(name)
    assert.strictEqual((await evaluate("", { body: { context: { plan: "pro" } }, headers })).status, 200)
  })

  it("accepts the key as apikey, as x-api-key and as a bearer token", async () => {
    const name = await flag()
    const line = `POST ${path}/${name}`
    for (const one of [service.anon, service.service_role]) {
      assert.strictEqual((await ask(service, line, { key: one })).status, 200)
      assert.strictEqual((await ask(service, line, { headers: { "x-api-key": one } })).status, 200)
      assert.strictEqual((await ask(service, line, { token: one })).status, 200)
      assert.strictEqual((await ask(service, line, { key: one, token: one })).status, 200)
    }
    for (const refused of [
      await ask(service, line),
      await ask(service, line, { key: "svc_pk_wrong" }),
      await ask(service, line, { token: "svc_pk_wrong" }),
      await ask(service, line, { token: "a.b.c" }),
      await ask(service, `POST ${path}`, { headers: { authorization: "Basic eDp5" } })
    ]) {
      const body = assertRefused(refused, 401)
      assert.strictEqual(body["errorDetails"], body["error"])
    }
    assertRefused(await ask(service, line, { key, headers: { "x-api-key": service.service_role } }), 400)
  })

  it("counts against the key's limit: 429 with Retry-After", async () => {
    const made = await ask(service, "POST /api/keys", {
      key: service.service_role,
      body: { keyType: "anon", label: "ofrep", rate_limit: 2 }
    })
    const { secret } = made.json as { readonly secret: string }
    const ask3 = async () => [
      await evaluate("", { key: secret }),
      await evaluate("", { key: secret }),
      await evaluate("", { key: secret })
    ]
    const [first, , third] = await ask3()
    assert.strictEqual(first?.headers.get("x-ratelimit-limit"), "2")
    assert.isDefined(third)
    const body = assertRefused(third, 429)
    assert.isString(body["errorDetails"])
    assert.match(third.headers.get("retry-after") ?? "", /^\d+$/)
  })

  it("fails as OFREP does for authenticated clients", async () => {
    const missing = await evaluate("/ofrep-none")
    assert.strictEqual(missing.status, 404)
    assert.deepInclude(missing.json, { key: "ofrep-none", errorCode: "FLAG_NOT_FOUND" })
    for (const body of ["{", "[]", `{"context":[]}`, `{"context":"x"}`]) {
      const reply = await evaluate("/x", { body })
      assert.strictEqual(reply.status, 400)
      assert.deepInclude(reply.json, { key: "x", errorCode: "INVALID_CONTEXT" })
    }
    const selector = await evaluate("", { headers: { "Flagd-Selector": "env=dev" } })
    assert.strictEqual(selector.status, 400)
    assert.deepInclude(selector.json, { errorCode: "GENERAL" })
    const large = await evaluate("", { body: `{"context":{"a":"${"x".repeat(1024 * 1024)}"}}` })
    assert.isString(assertRefused(large, 413)["errorDetails"])
    assert.strictEqual((await ask(service, `GET ${path}`, { key })).status, 405)
    assert.strictEqual((await ask(service, `POST ${path}/a/b`, { key })).status, 404)
    assertRefused(await ask(service, `POST /%6Ffrep/v1/evaluate/flags`, {}), 404)
  })

  it("is open to pages of every origin, without credentials", async () => {
    const origin = "https://anywhere.example.com"
    const preflight = await ask(service, `OPTIONS ${path}`, {
      headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "apikey" }
    })
    assert.strictEqual(preflight.status, 204)
    const reply = await evaluate("", { headers: { origin } })
    for (const { headers } of [preflight, reply]) {
      assert.strictEqual(headers.get("access-control-allow-origin"), "*")
      assert.isNull(headers.get("access-control-allow-credentials"))
    }
    assert.match(reply.headers.get("access-control-expose-headers") ?? "", /ETag/)
  })
})
