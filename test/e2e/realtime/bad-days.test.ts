import { appendFile, readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { hs256 } from "../../support/access/jwts.ts"
import { getRealtime, type FeedEvent, openFeed, refusedFeed, statusOf, subscribe } from "../../support/realtime/feed.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { postmasterOf, type Service, startService, until } from "../../support/service.ts"

let dataDir: string
let service: Service
beforeAll(async () => {
  dataDir = await makeDataDir()
  service = await startService({ dataDir })
  await sql(service, "create table notes (id int generated always as identity primary key, v text)")
  await subscribe(service, "notes")
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await removeDataDir(dataDir)
})

const write = (v: string) => sql(service, "insert into notes (v) values ($1)", [v])
const isRow = (v: string) => (event: FeedEvent) => event.row?.["v"] === v
const restart = async (env: Readonly<Record<string, string>> = {}) => {
  await service.stop()
  const { jwtSecret } = service
  service = await startService({ dataDir, env, jwtSecret })
}

/** A client that completes the handshake and then never responds, not even to a close. */
const unresponsiveClient = () =>
  new Promise<() => void>((done) => {
    const { hostname, port } = new URL(service.url)
    const socket = connect(Number(port), hostname)
    socket.on("error", () => undefined)
    socket.once("data", () => done(() => socket.destroy()))
    socket.write(
      [
        `GET /realtime?apikey=${service.service_role} HTTP/1.1`,
        "Host: x",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "",
        ""
      ].join("\r\n")
    )
  })

describe("a client that does not read", () => {
  it("is closed, and the others do not wait for it", async () => {
    const key = service.service_role
    const [slow, fast] = [await openFeed(service, { key }), await openFeed(service, { key })]
    slow.socket.pause()
    // More than the sockets and the queue behind them hold.
    for (let n = 1; n <= 10; n++) {
      const last = `${n} ${"x".repeat(7000)}`
      await sql(
        service,
        "insert into notes (v) select case n when 500 then $1 else repeat('y', 7000) end from generate_series(1, 500) n",
        [last]
      )
      const events = await fast.upTo(({ row }) => row?.["v"] === last, 30_000)
      assert.strictEqual(events.length, 500)
    }
    slow.socket.resume()
    // 1013, or 1006 on a busy machine: 2 s later the connection ends without a reason.
    assert.match(await slow.closed, /^(1013 |1006)/)
    assert.strictEqual(fast.socket.readyState, fast.socket.OPEN)
    fast.socket.send("x".repeat(64 * 1024 + 1))
    assert.match(await fast.closed, /^1009/)
  })
})

describe("PostgreSQL killed", () => {
  it("is reconnected to, and clients with since get a gap", async () => {
    const key = service.service_role
    await write("before")
    const plain = await openFeed(service, { key })
    const { id = 0 } =
      (
        (await until(
          () => getRealtime(service, "events"),
          (all) => isRow("before")((all as ReadonlyArray<FeedEvent>)[0] ?? ({} as FeedEvent))
        )) as ReadonlyArray<FeedEvent>
      )[0] ?? {}
    const resumed = await openFeed(service, { key, since: id })
    const { listener_since } = await statusOf(service)
    process.kill(await postmasterOf(service), "SIGKILL")
    const gap = (await resumed.upTo(({ gap }) => gap === true, 20_000)).at(-1)
    assert.deepInclude(gap, { gap: true, since: id })
    await until(
      () => ask(service, "POST /v1/sql", { key, body: { sql: "insert into notes (v) values ('after')" } }),
      ({ status }) => status === 200,
      20_000
    )
    const back = await statusOf(service)
    assert.isTrue(back.listener_connected)
    assert.isAbove(Date.parse(back.listener_since), Date.parse(listener_since))
    for (const feed of [plain, resumed]) {
      const [event, ...more] = await feed.upTo(isRow("after"))
      assert.deepStrictEqual([event?.operation, more], ["INSERT", []])
      assert.isAtLeast(event?.id ?? 0, gap?.oldest ?? Number.NaN)
      feed.socket.terminate()
    }
    // A later client with an earlier id gets the gap too; one with the id of the gap's end does not.
    const late = await openFeed(service, { key, since: id })
    assert.deepStrictEqual(
      (await late.upTo(isRow("after"))).map(({ gap }) => gap),
      [true, undefined]
    )
    const current = await openFeed(service, { key, since: gap?.oldest ?? 0 })
    assert.strictEqual((await current.upTo(isRow("after"))).length, 1)
    for (const { socket } of [late, current]) socket.terminate()
  })
})

describe("the shutdown of the service", () => {
  it("closes all clients, waits for none of them, and keeps subscriptions", async () => {
    const feeds = await Promise.all(Array.from({ length: 20 }, () => openFeed(service, { key: service.service_role })))
    const end = await unresponsiveClient()
    feeds[1]?.socket.pause()
    const [{ id = 0 } = {}] = (await getRealtime(service, "events")) as ReadonlyArray<FeedEvent>
    const from = Date.now()
    const ended = await service.stop()
    assert.deepStrictEqual([ended.code, ended.signal], [0, null], ended.output)
    assert.isBelow(Date.now() - from, 5_000)
    end()
    feeds[1]?.socket.resume()
    for (const { closed } of feeds) assert.match(await closed, /^1001 /)

    await restart()
    const [subscription] = (await getRealtime(service, "subscriptions")) as ReadonlyArray<Record<string, unknown>>
    assert.deepInclude(subscription, { table: "notes", status: "active" })
    const feed = await openFeed(service, { key: service.service_role, since: id })
    assert.deepInclude((await feed.upTo(({ gap }) => gap === true))[0], { since: id })
    await write("again")
    const [event] = await feed.upTo(isRow("again"))
    assert.isAbove(event?.id ?? 0, id)
    feed.socket.terminate()
  })
})

describe("SVC_REALTIME_PUBLIC and SVC_REALTIME_MAX_CLIENTS", () => {
  it("require no key and send all events; one client beyond the limit is 503", async () => {
    await restart({ SVC_REALTIME_PUBLIC: "true", SVC_REALTIME_MAX_CLIENTS: "3" })
    await sql(service, "alter table notes enable row level security")
    const feeds = [
      await openFeed(service, {}),
      await openFeed(service, { key: service.anon }),
      await openFeed(service, { key: service.service_role })
    ]
    const refused = await refusedFeed(service, {})
    assertRefused(refused, 503, "TOO_MANY_CLIENTS")
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
    await write("open")
    for (const feed of feeds) assert.strictEqual((await feed.upTo(isRow("open"))).length, 1)
    feeds[0]?.socket.close()
    const again = await until(
      () => openFeed(service, {}).catch(() => undefined),
      (feed) => feed !== undefined
    )
    assert.isDefined(again)
    again?.socket.close()
    feeds[1]?.socket.close()
    // A key that is sent must still be valid.
    await until(
      () => statusOf(service),
      (status) => status.connected_clients === 1
    )
    assertRefused(await refusedFeed(service, { key: "svc_pk_x" }), 401)
  })
})

describe("SVC_REALTIME_MAX_PER_CLIENT", () => {
  it("leaves places for others when one client takes all that it may have", async () => {
    await restart({ SVC_REALTIME_MAX_CLIENTS: "5", SVC_REALTIME_MAX_PER_CLIENT: "2" })
    const jwt = (sub: string) => hs256(JSON.stringify({ sub }), undefined, service.jwtSecret)
    const anon = { key: service.anon }
    const clients = [anon, { ...anon, query: { jwt: jwt("ann") } }, { ...anon, query: { jwt: jwt("ben") } }]
    const first = await openFeed(service, anon)
    await openFeed(service, anon)
    const refused = await refusedFeed(service, anon)
    assertRefused(refused, 429, "TOO_MANY_CONNECTIONS")
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
    for (const client of clients.slice(1)) await openFeed(service, client)
    await openFeed(service, clients[2] ?? {})
    assertRefused(await refusedFeed(service, clients[1] ?? {}), 503, "TOO_MANY_CLIENTS")
    first.socket.close()
    await until(
      () => openFeed(service, anon).catch(() => undefined),
      (feed) => feed !== undefined
    )
  })
})

describe("a trace", () => {
  it("contains no API key and no JWT, but the id of each request; and metrics are not sent", async () => {
    let exported = ""
    const paths: Array<string> = []
    const collector = createServer((request, response) => {
      paths.push(request.url ?? "")
      request.setEncoding("utf8").on("data", (text: string) => (exported += text))
      request.once("end", () => response.end("{}"))
    })
    await new Promise<void>((listening) => collector.listen(0, "127.0.0.1", listening))
    const { port } = collector.address() as { port: number }
    await restart({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` })
    const { service_role } = service
    const jwt = hs256(JSON.stringify({ sub: "ann" }), undefined, service.jwtSecret)
    const feed = await openFeed(service, { key: service_role, query: { jwt } })
    const { headers } = await ask(service, `GET /v1/status?apikey=${service_role}`, { key: service_role })
    feed.socket.close()
    await feed.closed
    await service.stop()
    collector.close()
    assert.include(exported, "v1/status")
    assert.notInclude(exported, service_role)
    assert.notInclude(exported, jwt)
    assert.include(exported, headers.get("x-request-id") ?? "none")
    assert.sameMembers([...new Set(paths)], ["/v1/logs", "/v1/traces"])
    // Logs are JSON on the standard output all the same.
    for (const line of service.output().trimEnd().split("\n")) assert.doesNotThrow(() => JSON.parse(line), line)
  })
})

describe("another listener that does not read", () => {
  it("makes no write fail, although PostgreSQL's notification queue is full", async () => {
    await appendFile(join(dataDir, "postgres/postgresql.auto.conf"), "max_notify_queue_pages = 64\n")
    await restart()
    const [{ version, port } = {}] = await sql(
      service,
      "select current_setting('server_version_num')::int as version, current_setting('port')::int as port"
    )
    if (Number(version) < 170_000) return
    const secrets = JSON.parse(await readFile(join(dataDir, "secrets.json"), "utf8")) as Record<string, string>
    const password = secrets["postgres_password"] ?? ""
    const session = async () => {
      const client = new Client({
        host: "127.0.0.1",
        port: Number(port),
        user: "postgres",
        password,
        database: "postgres"
      })
      await client.connect()
      return client
    }
    const [other, writer] = [await session(), await session()]
    await other.query("listen something")
    await other.query("begin")
    const usage = async () => Number((await sql(service, "select pg_notification_queue_usage() as u"))[0]?.["u"])
    const many = (v: string, times: number) =>
      writer.query(`do $$ begin for n in 1..${times} loop
        insert into notes (v) values (${v}); commit; end loop; end $$`)
    await writer.query("set synchronous_commit = off")
    await many("repeat('x', 7000)", 60)
    assert.isAbove(await usage(), 0.5)
    // Gaps fill the queue further, until nothing is sent any more.
    await many("'more'", 3000)
    const full = await usage()
    assert.isAbove(full, 0.85)
    await many("'more'", 500)
    assert.strictEqual(await usage(), full)
    await Promise.all([other.end(), writer.end()])
    const feed = await openFeed(service, { key: service.service_role })
    await until(usage, (u) => u < 0.1)
    await write("sent")
    await feed.upTo(isRow("sent"))
    feed.socket.terminate()
  })
})
