import { gzipSync } from "node:zlib"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type FlagServers, onOff, startFlagServers } from "../../support/flags/servers.ts"

let servers: FlagServers
const metadata = { flagSetId: "production", version: "1" }

beforeAll(async () => {
  servers = await startFlagServers()
  await servers.put("production", {
    off: onOff({ defaultVariant: "off" }),
    gone: onOff({ state: "DISABLED" }),
    number: onOff({ variants: { up: 3.7 }, defaultVariant: "up" }),
    broken: onOff({ targeting: { no_such_operator: [] } })
  })
})
afterAll(() => servers.stop())

describe("Connect as plain JSON", () => {
  const post = async (call: string, body: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`http://${servers.evaluation}/flagd.evaluation.${call}`, {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers }
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text === "" ? "" : (JSON.parse(text) as unknown)
    }
  }

  it.each([
    ["cut off", gzipSync(`{"flagKey": "off"}`).subarray(0, 20)],
    ["not gzip", Buffer.from("plain")],
    ["with a wrong checksum", Buffer.concat([gzipSync(`{"flagKey": "off"}`).subarray(0, -8), Buffer.alloc(8, 1)])]
  ])("refuses a compressed body that is %s", async (_, body) => {
    const response = await fetch(`http://${servers.evaluation}/flagd.evaluation.v1.Service/ResolveBoolean`, {
      method: "POST",
      body: new Uint8Array(body),
      headers: { "content-type": "application/json", "content-encoding": "gzip" }
    })
    assert.deepInclude(await response.json(), { code: "invalid_argument" })
    assert.strictEqual(response.status, 400)
  })

  it("refuses a context of more than 10,000 values, and takes one of fewer", async () => {
    const asked = (values: number) =>
      post("v1.Service/ResolveBoolean", `{"flagKey":"off","context":{"list":[${"1,".repeat(values)}1]}}`)
    const refused = await asked(15_000)
    assert.deepInclude(refused.json, { code: "invalid_argument" })
    assert.strictEqual(refused.status, 400)
    assert.deepInclude((await asked(9_000)).json, { value: false })
  })

  it("has the bodies of flagd: zero values are written, integers are strings", async () => {
    const { json } = await post("v1.Service/ResolveBoolean", `{"flagKey": "off", "unknown": [1]}`)
    assert.deepEqual(json, { value: false, reason: "STATIC", variant: "off", metadata })
    const disabled = await post("v1.Service/ResolveString", `{"flagKey": "gone", "context": null}`)
    assert.deepEqual(disabled.json, { value: "", reason: "DISABLED", variant: "", metadata })
    const absent = await post("v2.Service/ResolveString", `{"flagKey": "gone"}`)
    assert.deepEqual(absent.json, { reason: "DISABLED", metadata })
    const int = await post("v2.Service/ResolveInt", `{"flagKey": "number"}`)
    assert.deepInclude(int.json, { value: "3" })
    const error = await post("v1.Service/ResolveBoolean", `{"flagKey": "none"}`)
    assert.strictEqual(error.status, 404)
    assert.deepEqual(error.json, { code: "not_found", message: "Flag not found" })
    assert.deepInclude((await post("v2.Service/ResolveBoolean", `{"flagKey": "broken"}`)).json, { code: "data_loss" })
  })

  it("serves v1 by the name that it had before", async () => {
    const called = (method: string) =>
      fetch(`http://${servers.evaluation}/schema.v1.Service/${method}`, {
        method: "POST",
        body: `{"flagKey": "off"}`,
        headers: { "content-type": "application/json" }
      })
    assert.deepInclude(await (await called("ResolveBoolean")).json(), {
      value: false,
      reason: "STATIC",
      variant: "off"
    })
    assert.strictEqual((await called("Nothing")).status, 404)
  })

  it("rejects invalid calls: 400, 404, 405, 415, 429", async () => {
    const call = "v2.Service/ResolveBoolean"
    for (const body of ["", "{", "[]", "null", `{"flagKey": 1}`, `{"context": []}`, `{"context": "x"}`, "\u0000"]) {
      const { json, status } = await post(call, body)
      assert.strictEqual(status, 400, body)
      assert.deepInclude(json, { code: "invalid_argument" }, body)
    }
    const deep = await post(call, `{"context":${`{"a":`.repeat(5_000)}1${"}".repeat(5_000)}}`)
    assert.strictEqual(deep.status, 400)
    assert.strictEqual((await post(call, " ".repeat(65_537))).status, 429)
    assert.strictEqual((await post("v2.Service/ResolveAll", "{}")).status, 404)
    assert.strictEqual((await post(call, "{}", { "content-type": "text/plain" })).status, 415)
    const get = await fetch(`http://${servers.evaluation}/flagd.evaluation.${call}`)
    assert.strictEqual(get.status, 405)
    assert.strictEqual(get.headers.get("allow"), "POST")
  })
})
