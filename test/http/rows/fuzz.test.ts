import { Agent, request } from "node:http"
import * as fc from "fast-check"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { anyRowRequest, anything, type RowRequest, bytes } from "../../support/rows/anyRequest.ts"
import { replyOf, sql, talk } from "../../support/client.ts"
import { type InProcessService } from "../../support/inProcess.ts"
import { effort } from "../../support/properties.ts"
import { clientOf, resetVessels, startVessels } from "../../support/rows/relatedTables.ts"

let service: InProcessService
const agent = new Agent({ keepAlive: true, maxSockets: 4 })

beforeAll(async () => {
  service = await startVessels({
    SVC_DB_TIMEOUT: "2s",
    SVC_DB_AGGREGATES: "true",
    SVC_DB_PLAN_ENABLED: "true",
    SVC_DB_TX_END: "rollback-allow-override"
  })
  await resetVessels(service)
  await sql(
    service,
    "create table texts (id int generated always as identity primary key, t text, tags text[], doc jsonb)"
  )
})
afterAll(async () => {
  agent.destroy()
  await service[Symbol.asyncDispose]()
})

const send = ({ method, path, headers, body }: RowRequest) =>
  new Promise<{ status: number; text: string }>((done, failed) => {
    const { hostname, port } = new URL(service.url)
    const length = body === undefined ? {} : { "content-length": body.length }
    const sent = request(
      { agent, hostname, port, method, path, headers: { apikey: service.service_role, ...length, ...headers } },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (more: string) => (text += more))
        response.once("end", () => done({ status: response.statusCode ?? 0, text }))
      }
    )
    sent.setTimeout(20_000, () => sent.destroy(new Error("no answer for 20 s")))
    sent.once("error", failed)
    sent.end(body)
  })

/** Asserts a success, or an error caused by the request and not by generated SQL. */
const assertSane = ({ status, text }: { readonly status: number; readonly text: string }, call: unknown) => {
  const about = `${JSON.stringify(call)}\n${status} ${text.slice(0, 600)}`
  assert.isBelow(status, status === 504 && text.includes("57014") ? 505 : 500, about)
  assert.notMatch(text, /node_modules|\.ts:\d+|\bat [\w.]+ \(/, about)
  if (status < 300 || text === "") return
  const { code, error } = JSON.parse(text) as { readonly code: string; readonly error: string }
  assert.isString(code, about)
  // A text search may have its own syntax errors.
  if (!/tsquery|jsonpath/.test(error))
    assert.notInclude(["42601", "26000", "25P02", "42P02", "08P01", "42712"], code, about)
}

/** Checks a hundred values, and as many more as about that time allows, multiplied by the effort. */
const within = async <A>(arbitrary: fc.Arbitrary<A>, millis: number, check: (value: A) => Promise<void>) => {
  const property = fc.asyncProperty(arbitrary, check)
  const began = Date.now()
  await fc.assert(property, { numRuns: 100 })
  const took = Date.now() - began
  const more = Math.floor((100 * (millis * effort - took)) / took)
  if (more > 0) await fc.assert(property, { numRuns: more })
}

describe("any request", () => {
  it("gets rows or a client error, never a server error", { timeout: 120_000 }, async () => {
    await within(anyRowRequest, 2_000, async (one) => {
      assertSane(await send(one), { ...one, body: one.body?.toString() })
    })
    // Everything was rolled back, and the service still works.
    const count = { method: "GET", path: "/v1/db/ships?select=count()", headers: {}, body: undefined }
    assert.strictEqual((await send(count)).text, '[{"count":5}]')
  })

  it("is rejected if it is not HTTP", { timeout: 120_000 }, async () => {
    const head = `apikey: ${service.service_role}\r\nhost: x\r\nconnection: close\r\n`
    const line = fc.oneof(
      bytes(40).map((all) =>
        Buffer.concat([Buffer.from("GET /v1/db/ships?"), all, Buffer.from(` HTTP/1.1\r\n${head}\r\n`)])
      ),
      bytes(20).map((all) =>
        Buffer.concat([Buffer.from(`GET /v1/db/ships HTTP/1.1\r\n${head}prefer: `), all, Buffer.from("\r\n\r\n")])
      ),
      bytes(30).map((all) =>
        Buffer.concat([Buffer.from(`POST /v1/db/ships HTTP/1.1\r\n${head}content-length: ${all.length}\r\n\r\n`), all])
      )
    )
    await within(line, 750, async (all) => {
      const reply = replyOf(await talk(service, all))
      assertSane(
        { status: reply.status, text: reply.status < 300 ? "" : reply.text.slice(0, reply.text.lastIndexOf("}") + 1) },
        all.toString("latin1")
      )
    })
  })

  it("reads values back as they were written", { timeout: 120_000 }, async () => {
    const db = clientOf(service, { Prefer: "tx=commit" })
    const text = anything.map((any) => any.replaceAll("\0", "").toWellFormed())
    await within(text, 1_000, async (value) => {
      const row = { t: value, tags: [value, ""], doc: { [value]: [value, null] } }
      const made = await db.from("texts").insert(row).select("id, t, tags, doc").single()
      assert.isNull(made.error, JSON.stringify(made.error))
      const { id, ...rest } = made.data as unknown as { readonly id: number }
      assert.deepStrictEqual(rest as unknown, row)
      const texts = () => db.from("texts").select("id")
      const quoted = `"${value.replaceAll(/["\\]/g, "\\$&")}"`
      for (const found of [
        texts().eq("t", value),
        texts().match({ t: value, id }),
        texts().contains("doc", row.doc),
        texts().contains("tags", [quoted]),
        texts().or(`t.eq.${quoted},id.eq.0`),
        texts().not("t", "neq", value),
        texts().filter("t", "in", `(${quoted})`),
        texts().eq(`doc->${quoted}->>0`, value),
        db.from("texts").delete().eq("t", value).select("id")
      ]) {
        const { data, error } = await found
        assert.deepStrictEqual({ data: data as unknown, error }, { data: [{ id }], error: null }, JSON.stringify(value))
      }
    })
  })
})
