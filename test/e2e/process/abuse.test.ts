import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { faultOf } from "../../../bench/abuse/answers.ts"
import { type Response, ResponseReader } from "../../../bench/abuse/responses.ts"
import { missesOf, rowOf } from "../../../bench/abuse/report.ts"
import { measure, targetOf } from "../../../bench/abuse/run.ts"
import { prepare } from "../../../bench/abuse/database.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { startService } from "../../support/service.ts"

const start = async () => {
  const flagPorts = { evaluation: await freePort(), ofrep: await freePort(), sync: await freePort() }
  const s3Port = await freePort()
  const ports = {
    FLAGS_PORT: flagPorts.evaluation,
    FLAGS_HTTP_PORT: flagPorts.ofrep,
    FLAGS_SYNC_PORT: flagPorts.sync,
    S3_EMBEDDED_PORT: s3Port
  }
  const env = Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)]))
  const started = await startService({ env })
  const { anon, dataDir, pid, service_role, url } = started
  const credentials = { anon, service: service_role, jwt: "" }
  const service = { url, pid, dataDir, credentials, flagPorts, s3Url: `http://127.0.0.1:${s3Port}` }
  await prepare(service, ["flags", "bucket"])
  return { service, target: await targetOf(service), stop: () => started[Symbol.asyncDispose]() }
}

describe("the check of abusive clients", () => {
  let running: Awaited<ReturnType<typeof start>>
  beforeAll(async () => void (running = await start()))
  afterAll(() => running.stop())

  const attack = (pattern: string) =>
    measure(
      running.target,
      running.service,
      (attacker) => attacker.call("attack", { pattern, target: running.target, seconds: 1, sockets: 4 }),
      1_000
    )

  it("measures a pattern of requests and one of unfinished ones", async () => {
    const keyless = await attack("no-key")
    const { 401: refused = 0, open: unanswered = 0, ...others } = keyless.answers.statuses
    assert.isAbove(refused, 0)
    assert.isAtMost(unanswered, 4)
    assert.deepStrictEqual([others, keyless.answers.wrong, keyless.ended], [{}, [], false])
    for (const { count, failures, max } of [keyless.probes.health, keyless.probes.other, keyless.probes.own]) {
      assert.isAbove(count, 0)
      assert.isAbove(max, 0)
      assert.deepStrictEqual(failures, {})
    }
    assert.match(rowOf("no-key", keyless), /^\| no-key \| [\d,]+ × 401/)

    const { health } = keyless.probes
    const slow = { ...keyless, probes: { ...keyless.probes, health: { ...health, max: 251 } } }
    assert.deepStrictEqual(missesOf(slow), ["/healthz took 251 ms"])
    const large = { ...keyless, growth: { service: 600, postgres: 500, together: 1_025 } }
    assert.include(missesOf(large), "memory grew by 1,025 MiB")
    assert.include(missesOf({ ...keyless, ended: true }), "the service ended")

    const halves = await attack("half-open")
    assert.isAbove(halves.answers.statuses["400"] ?? 0, 0)
    assert.deepStrictEqual(halves.answers.wrong, [])
  })

  it("sends random requests, none of which fails", async () => {
    const { target, service } = running
    const { answers } = await measure(
      target,
      service,
      (attacker) => attacker.call("fuzz", { target, seed: 1, first: 0, count: 500, sockets: 8, slowMillis: 60_000 }),
      0
    )
    assert.deepStrictEqual(answers.wrong, [])
    const total = Object.values(answers.statuses).reduce((sum, count) => sum + count, 0)
    assert.strictEqual(total, 500)
    for (const status of ["200", "400", "401", "404"]) assert.property(answers.statuses, status)
  })
})

describe("the responses that the check reads", () => {
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
  const bytes = Buffer.from(
    [
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      `HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n${chunk('{"error"')}${chunk(":1}")}0\r\n\r\n`,
      "HTTP/1.1 204 No Content\r\n\r\n",
      "HTTP/1.1 503 Service Unavailable\r\n\r\nuntil the end"
    ].join("")
  )
  const methods = ["GET", "HEAD", "POST", "DELETE", "GET"]

  it("are the same however their bytes are divided", () => {
    for (const size of [1, 2, 3, 7, 50, bytes.length]) {
      const seen: Array<Response> = []
      const reader = new ResponseReader((response) => seen.push(response))
      for (const method of methods) reader.expect(method)
      for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
      reader.end()
      assert.deepStrictEqual(
        seen.map(({ body, method, size, status }) => [method, status, size, body]),
        [
          ["GET", 200, 5, ""],
          ["HEAD", 200, 0, ""],
          ["POST", 400, 11, '{"error":1}'],
          ["DELETE", 204, 0, ""],
          ["GET", 503, 13, "until the end"]
        ]
      )
    }
  })

  it("are faults without an error body, and as unexpected 5xx", () => {
    const good = '{"error":"Busy","code":"UNAVAILABLE","message":"Busy","details":null,"hint":null,"request_id":"1"}'
    const response = (status: number, body: string, method = "GET"): Response => ({
      method,
      status,
      head: "HTTP/1.1",
      size: body.length,
      body
    })
    assert.isUndefined(faultOf("api", response(200, "")))
    assert.isUndefined(faultOf("api", response(503, good)))
    assert.isUndefined(faultOf("api", response(404, "", "HEAD")))
    assert.isUndefined(faultOf("s3", response(403, "<Error><Code>AccessDenied</Code></Error>")))
    assert.match(faultOf("api", response(500, good)) ?? "", /^500/)
    assert.isUndefined(faultOf("flags", response(500, '{"code":"data_loss"}')))
    assert.match(faultOf("flags", response(500, '{"code":"internal"}')) ?? "", /^500/)
    assert.match(faultOf("api", response(401, "{}")) ?? "", /^no error body: 401/)
    assert.match(faultOf("ofrep", response(404, good)) ?? "", /^no error body/)
  })
})
