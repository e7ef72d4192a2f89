import { Agent, type IncomingMessage, request } from "node:http"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { WebSocket } from "ws"
import { ask, sql } from "../../support/client.ts"
import { copyDataDir, removeDataDir } from "../../support/dataDir.ts"
import { operationsUrl, type Service, startService, until } from "../../support/service.ts"

interface Reply {
  readonly status: number
  readonly connection: string | undefined
  readonly at: number
}

/** One request; rejects unless the response is complete. */
const get = (url: string, key: string, agent: Agent | false) =>
  new Promise<Reply>((done, failed) => {
    const complete = (response: IncomingMessage) => {
      response.resume().once("error", failed)
      response.once("end", () =>
        done({ status: response.statusCode ?? 0, connection: response.headers.connection, at: Date.now() })
      )
    }
    request(url, { agent, headers: { apikey: key } }, complete)
      .once("error", failed)
      .end()
  })

/** Clients that send one request after the other, each on its connection or each on a new one, until the port is closed. */
const busyClients = (service: Service, count: number, keepAlive: boolean) => {
  const replies: Array<Reply> = []
  const losses: Array<string> = []
  const client = async () => {
    const agent = keepAlive ? new Agent({ keepAlive, maxSockets: 1 }) : false
    for (;;) {
      try {
        replies.push(await get(`${service.url}/v1/db/kept`, service.service_role, agent))
      } catch (cause) {
        const code = String((cause as { code?: unknown }).code)
        if (code !== "ECONNREFUSED") losses.push(code)
        else return
      }
    }
  }
  return { replies, losses, ended: Promise.all(Array.from({ length: count }, client)) }
}

const delay = 1_500

describe.each(["1", "2"])("SIGTERM with SVC_WORKERS=%s", (workers) => {
  let dataDir: string
  beforeAll(async () => {
    dataDir = await copyDataDir(inject("preparedDataDir"))
  })
  afterAll(() => removeDataDir(dataDir))
  const start = async (millis = delay) => {
    const env = { SVC_SHUTDOWN_DELAY: `${millis}ms`, SVC_WORKERS: workers, SVC_OPERATIONS_PORT: "0" }
    const service = await startService({ dataDir, env })
    await sql(service, "create table if not exists kept (n int)")
    return service
  }

  it.each([
    ["kept", true],
    ["new", false]
  ])("drops no request of 64 busy clients, on %s connections", async (_, keepAlive) => {
    const service = await start()
    const { ended, losses, replies } = busyClients(service, 64, keepAlive)
    await until(
      async () => replies.length,
      (count) => count > 500
    )
    const from = Date.now()
    const end = service.stop()
    const readiness = await until(
      () => get(`${service.url}/readyz`, "", false),
      ({ status }) => status === 503
    )
    assert.strictEqual(readiness.connection, "close")
    const probed = await until(
      () => get(`${operationsUrl(service)}/readyz`, "", false),
      ({ status }) => status === 503
    )
    assert.strictEqual(probed.status, 503)
    await ended
    assert.deepStrictEqual(losses, [])
    assert.deepStrictEqual(
      replies.filter(({ status }) => status !== 200),
      []
    )
    const late = replies.filter(({ at }) => at > from + 500)
    assert.isAbove(late.length, 64, "no requests were served after the signal")
    assert.isEmpty(late.filter(({ connection }) => connection !== "close"))
    assert.isAtLeast(Math.max(...late.map(({ at }) => at)), from + delay - 100)
    const { code, output } = await end
    assert.strictEqual(code, 0, output)
  })

  it("answers the request in progress with Connection: close, and closes WebSockets with 1001", async () => {
    const service = await start()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/realtime?apikey=${service.service_role}`)
    const closed = new Promise<number>((done) => socket.once("close", done))
    await new Promise((open) => socket.once("open", open))
    // Neither of these two has a request in progress, so that neither delays the end.
    const idle = new Agent({ keepAlive: true })
    await get(`${service.url}/healthz`, "", idle)
    const { hostname, port } = new URL(service.url)
    const silent = connect(Number(port), hostname).on("error", () => undefined)
    await new Promise((open) => silent.once("connect", open))

    await ask(service, "POST /v1/sql", { key: service.service_role, body: { sql: "select 1" } })
    const slow = new Promise<IncomingMessage>((done, failed) => {
      const headers = { apikey: service.service_role, "content-type": "application/json" }
      request(`${service.url}/v1/sql`, { agent, method: "POST", headers }, done)
        .once("error", failed)
        .end(JSON.stringify({ sql: "select pg_sleep(1)" }))
    })
    await sleep(300)
    const from = Date.now()
    const end = service.stop()
    const response = await slow
    assert.strictEqual(response.statusCode, 200)
    assert.strictEqual(response.headers.connection, "close")
    response.resume()
    assert.strictEqual(await closed, 1001)
    assert.strictEqual((await end).code, 0)
    assert.isBelow(Date.now() - from, delay + 5_000)
    idle.destroy()
    silent.destroy()
  })

  it("does not wait on SIGINT", async () => {
    const service = await start(40_000)
    const from = Date.now()
    assert.strictEqual((await service.stop("SIGINT")).code, 0)
    assert.isBelow(Date.now() - from, 20_000)
  })
})
