import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, replyOf, sql, talk } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService

beforeAll(async () => {
  service = await serveInProcess({})
  await sql(service, "create table texts (id int primary key, text text)")
})
afterAll(() => service[Symbol.asyncDispose]())

const post = (key: string, ...lines: ReadonlyArray<string>) =>
  [`POST /v1/db/texts HTTP/1.1`, "Host: x", `apikey: ${key}`, "content-type: application/json", ...lines, "", ""].join(
    "\r\n"
  )
const inserted = (id: number, text: string) => JSON.stringify({ id, text })

it("a request has one Host header, whatever the names' case", async () => {
  const close = ["Connection: close", "", ""].join("\r\n")
  for (const [second, status] of [
    ["host: y", 400],
    ["HOST: x", 400],
    ["x-host: y", 200]
  ] as const) {
    const reply = replyOf(await talk(service, `GET /healthz HTTP/1.1\r\nHost: x\r\n${second}\r\n${close}`))
    assert.strictEqual(reply.status, status, second)
    if (status === 400) assert.include(reply.text, "INVALID_HTTP")
  }
})

describe("a body", () => {
  it("of many packets arrives whole", async () => {
    const text = "é€😀".repeat(500_000)
    const made = await ask(service, "POST /v1/db/texts", { key: service.service_role, body: { id: 1, text } })
    assert.strictEqual(made.status, 201)
    const [row] = await sql(
      service,
      "select length(text) as length, md5(text) = md5(repeat('é€😀', 500000)) as same from texts"
    )
    assert.deepStrictEqual(row, { length: 1_500_000, same: true })
  })

  it("may come in chunks, or after 100 Continue", async () => {
    const body = inserted(2, "in chunks")
    const chunks = [...body].map((letter) => `1\r\n${letter}\r\n`)
    const close = "Connection: close"
    const head = post(service.service_role, "Transfer-Encoding: chunked", close)
    assert.strictEqual(replyOf(await talk(service, head, ...chunks, "0\r\n\r\n")).status, 201)
    const patient = inserted(3, "patient")
    const expecting = post(service.service_role, "Expect: 100-continue", `Content-Length: ${patient.length}`, close)
    const both = await talk(service, expecting, patient)
    assert.match(both, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 201 /)
  })

  it("leaves the connection usable for the next request", async () => {
    const [one, two] = [inserted(4, "one"), inserted(5, "two")]
    const reply = await talk(
      service,
      post(service.service_role, `Content-Length: ${one.length}`) + one,
      post(service.service_role, `Content-Length: ${two.length}`, "Connection: close") + two
    )
    assert.strictEqual(reply.match(/HTTP\/1.1 201 /g)?.length, 2)
  })

  it("that ends early writes nothing, and affects no other request", async () => {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.write(post(service.service_role, "Content-Length: 1000") + inserted(6, "cut off"))
    await sleep(100)
    socket.destroy()
    await sleep(100)
    assert.deepStrictEqual(await sql(service, "select from texts where id = 6"), [])
  })

  it("over the limit is 413, whether its length is known or not", async () => {
    const key = service.service_role
    const large = "x".repeat(11 * 1024 * 1024)
    assertRefused(
      await ask(service, "POST /v1/db/texts", { key, body: { id: 7, text: large } }),
      413,
      "PAYLOAD_TOO_LARGE"
    )
    const head = post(key, "Transfer-Encoding: chunked", "Connection: close")
    const reply = replyOf(await talk(service, head, `${large.length.toString(16)}\r\n`, large, "\r\n0\r\n\r\n"))
    assertRefused(reply, 413, "PAYLOAD_TOO_LARGE")
  })
})
