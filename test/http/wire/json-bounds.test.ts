import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { contextBytes } from "../../../src/domain/flags/Evaluation.ts"
import { Api } from "../../../src/http/Api.ts"
import { Utf8Bodies } from "../../../src/http/wire/Body.ts"
import { ask, assertRefused } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({ SVC_MCP: "read", SVC_SUPABASE: "true" })
})
afterAll(() => service[Symbol.asyncDispose]())

const nested = (levels: number) => `{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`
const manyKeys = (count: number) => `{${Array.from({ length: count }, (_, n) => `"k${n}":1`).join(",")}}`
const manyValues = (count: number) => `{"a":[${Array.from({ length: count }, () => 1).join(",")}]}`

/** Paths that decode a body, one of each way in which the service does. */
const doors = [
  "/api/auth/login",
  "/api/keys",
  "/auth/v1/token?grant_type=password",
  "/storage/v1/object/list/none",
  "/realtime/v1/api/broadcast",
  "/v1/sql",
  "/mcp"
]
const flagDoors = ["/api/flags/evaluate", "/api/flags/evaluate/bulk", "/ofrep/v1/evaluate/flags/none"]

const post = (path: string, body: string) =>
  ask(service, `POST ${path}`, {
    key: service.service_role,
    body,
    headers: { accept: "application/json, text/event-stream" }
  })

describe("JSON is bounded before it is decoded", () => {
  it.each(doors)("by %s", async (path) => {
    for (const [body, what] of [
      [nested(200), "200 levels of nesting"],
      [nested(20_000), "200 levels of nesting"],
      ["[".repeat(500_000), "200 levels of nesting"],
      [manyKeys(20_001), "20000 keys"],
      [manyValues(100_001), "100000 values"]
    ] as const) {
      const { status, text } = await post(path, body)
      assert.strictEqual(status, 400, text)
      assert.include(text, `more than ${what}`)
    }
    // What is within the bounds is refused for another reason.
    for (const body of [nested(199), manyKeys(20_000), manyValues(90_000)])
      assert.notInclude((await post(path, body)).text, "The JSON has more than")
  })

  it.each(flagDoors)("of contexts by %s", async (path) => {
    const bodyOf = (context: string) => `{"flagKey":"none","flagKeys":["none"],"context":${context}}`
    for (const [context, what] of [
      [nested(100), "80 levels of nesting"],
      [nested(20_000), "80 levels of nesting"],
      [manyKeys(2_001), "2000 keys"],
      [manyValues(10_001), "10000 values"]
    ] as const) {
      const { status, text } = await post(path, bodyOf(context))
      assert.strictEqual(status, 400, text)
      assert.include(text, `more than ${what}`)
    }
    for (const context of [nested(60), manyKeys(1_900), manyValues(9_900)])
      assert.notInclude((await post(path, bodyOf(context))).text, "The JSON has more than")
    const large = path.endsWith("bulk") ? 6 * contextBytes : contextBytes
    assertRefused(await post(path, bodyOf(`{"a":"${"x".repeat(large)}"}`)), 413, "PAYLOAD_TOO_LARGE")
  })
})

it("every endpoint of the management API with a body has the bounds", () => {
  const without: Array<string> = []
  let bodies = 0
  for (const group of Object.values(Api.groups))
    for (const endpoint of Object.values(group.endpoints)) {
      if (endpoint.payload.size === 0 || endpoint.method === "GET") continue
      bodies++
      if (!endpoint.middlewares.has(Utf8Bodies as never)) without.push(`${endpoint.method} ${endpoint.path}`)
    }
  assert.deepStrictEqual(without, [])
  assert.isAbove(bodies, 30)
})
