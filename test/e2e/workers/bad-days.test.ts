import { createClient } from "@supabase/supabase-js"
import { createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { WebSocket } from "ws"
import { type RequestCounts, type RequestList } from "../../../src/domain/requests/Request.ts"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, sql } from "../../support/client.ts"
import { copyDataDir, removeDataDir } from "../../support/dataDir.ts"
import { flagOf, makeFlag } from "../../support/flags/api.ts"
import { endFeeds, openFeed, refusedFeed, statusOf, subscribe } from "../../support/realtime/feed.ts"
import { parseMetrics, valueOf } from "../../support/metrics.ts"
import { operationsUrl, runToEnd, type Service, startService, until } from "../../support/service.ts"
import { call, connection, killWorker, type Outcome, startWorkers, workersOf } from "../../support/workers.ts"

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const times = <A>(count: number, make: (index: number) => A) => Array.from({ length: count }, (_, index) => make(index))

describe("two workers", () => {
  let dataDir: string
  let service: Service
  /** How long the whole start took, in ms. */
  let startMillis = 0
  beforeAll(async () => {
    dataDir = await copyDataDir(inject("preparedDataDir"))
    const from = Date.now()
    const settings = {
      SVC_REALTIME_MAX_CLIENTS: "8",
      SVC_ACCESS_LOG: "true",
      SVC_OPERATIONS_PORT: "0",
      SVC_SUPABASE: "true"
    }
    service = await startWorkers(dataDir, settings)
    startMillis = Date.now() - from
    await sql(service, "create table kept (n int)")
  })
  afterAll(async () => {
    endFeeds()
    await service[Symbol.asyncDispose]()
    await removeDataDir(dataDir)
  })

  /** The metrics of both and of their parent, which serves them again for a second. */
  const metrics = async (good: (families: ReturnType<typeof parseMetrics>) => boolean) =>
    until(async () => parseMetrics((await ask({ url: operationsUrl(service) }, "GET /metrics")).text, "text"), good)
  const reads = { route: "/v1/db/{table}", method: "GET", status: "200" }

  const limitedKey = async (rate_limit: number | null) => {
    const body = { keyType: "service_role", rate_limit }
    const reply = await ask(service, "POST /api/keys", { key: service.service_role, body })
    const { key, secret } = reply.json as { readonly key: { readonly id: number }; readonly secret: string }
    return { id: key.id, headers: { apikey: secret } }
  }

  it("write whole lines of the access log to one pipe, each with its number", async () => {
    const path = `/v1/absent/${"x".repeat(150)}`
    const ids = times(400, (index) => `of-workers-${index}`)
    const send = (id: string) =>
      ask(service, `GET ${path}`, { key: service.anon, headers: { "x-request-id": id, connection: "close" } })
    for (let from = 0; from < ids.length; from += 50) await Promise.all(ids.slice(from, from + 50).map(send))
    const linesOf = () =>
      service
        .output()
        .split("\n")
        .filter((line) => line.includes("of-workers-"))
    const lines = await until(
      () => Promise.resolve(linesOf()),
      ({ length }) => length >= ids.length
    )
    const parsed = lines.map((line) => JSON.parse(line) as { readonly request_id: string; readonly worker: number })
    assert.sameMembers(
      parsed.map(({ request_id }) => request_id),
      ids
    )
    assert.deepStrictEqual([...new Set(parsed.map(({ worker }) => worker))].toSorted(), [1, 2])
  })

  it("admit together exactly as many calls as a key's limit allows, and count them down", async () => {
    const { headers } = await limitedKey(60)
    for (let left = 59; left >= 40; left--) {
      assert.strictEqual((await call(service, "/v1/status", { headers })).remaining, left)
    }
    const outcomes = await Promise.all(times(200, () => call(service, "/v1/status", { headers })))
    const admitted = outcomes.filter(({ status }) => status === 200)
    assert.deepStrictEqual(
      admitted.map(({ remaining }) => remaining).toSorted((a, b) => b - a),
      times(40, (index) => 39 - index)
    )
    assert.strictEqual(outcomes.filter(({ status }) => status === 429).length, 160)
  })

  it("list and count the requests of both", async () => {
    const headers = { apikey: service.service_role }
    await Promise.all(
      times(40, (index) => call(service, "/v1/db/kept", { headers: { ...headers, "x-request-id": `both-${index}` } }))
    )
    const read = async (path: string) => JSON.parse((await call(service, path, { headers })).text) as unknown
    const list = (await read("/api/requests?route=/v1/db/{table}&limit=1000")) as RequestList
    assert.strictEqual(list.processes, 2)
    const ids = new Set(list.requests.map(({ request_id }) => request_id))
    assert.includeMembers(
      Array.from(ids),
      times(40, (index) => `both-${index}`)
    )
    const { minutes, processes, routes } = (await read(
      "/api/requests/minutes?route=/v1/db/{table}&method=GET"
    )) as RequestCounts
    const total = minutes.reduce((sum, { requests }) => sum + requests, 0)
    assert.deepStrictEqual([processes, total, routes[0]?.requests], [2, list.requests.length, total])
    const families = await metrics((now) => valueOf(now, "svc_http_requests_total", reads) >= total)
    assert.strictEqual(valueOf(families, "svc_http_requests_total", reads), total)
    const started = families.get("process_start_time_seconds")?.series.map(({ labels }) => labels["process"])
    assert.sameMembers(started ?? [], ["main", "worker-1", "worker-2"])
    assert.strictEqual(valueOf(families, "svc_build_info"), 1)
  })

  it("answer by what the other one has just changed", async () => {
    for (let round = 0; round < 5; round++) {
      const { headers, id } = await limitedKey(null)
      const all = (path: string, body?: unknown) =>
        Promise.all(
          times(12, () => call(service, path, { headers, body, method: body === undefined ? "GET" : "POST" }))
        )
      const flagKey = `w.${round}`
      let { state } = await makeFlag(service, flagKey)
      for (let toggles = 0; toggles < 3; toggles++) {
        for (const { text } of await all("/api/flags/evaluate", { flagKey })) {
          assert.strictEqual(text.includes('"DISABLED"'), state === "DISABLED", text)
        }
        state = (await flagOf(service, `PATCH /${flagKey}/toggle`)).state
      }
      await ask(service, `DELETE /api/keys/${id}`, { key: service.service_role })
      for (const { status } of await all("/v1/status")) assert.strictEqual(status, 401)
    }
  })

  it("send every event to the clients of both, and limit their number together", async () => {
    const key = service.service_role
    const feeds = await Promise.all(times(8, () => openFeed(service, { key })))
    assert.strictEqual((await refusedFeed(service, { key })).status, 503)
    await sql(service, "create table events (n int)")
    await subscribe(service, "events")
    await Promise.all(
      times(40, (n) => call(service, "/v1/db/events", { method: "POST", headers: { apikey: key }, body: { n } }))
    )
    await sql(service, "insert into events values (-1)")
    const received = await Promise.all(feeds.map((feed) => feed.upTo(({ row }) => row?.["n"] === -1)))
    for (const events of received) assert.deepStrictEqual(events, received[0])
    assert.strictEqual(received[0]?.length, 41)

    // The clients of a killed worker no longer count.
    await killWorker(service, 1)
    const open = () => feeds.filter(({ socket }) => socket.readyState === socket.OPEN).length
    const { connected_clients } = await until(
      () => statusOf(service),
      (status) => status.connected_clients < 8
    )
    assert.strictEqual(connected_clients, open())
    assert.isBelow(open(), 8)
    for (let free = 8 - open(); free > 0; free--) await openFeed(service, { key })
    assert.strictEqual((await refusedFeed(service, { key })).status, 503)
    endFeeds()
  })

  it("are one to channels, and evaluate policies for the clients of both", async () => {
    for (const text of [
      "create table own (id int primary key, owner text)",
      "alter table own enable row level security",
      "create policy own on own to authenticated using (owner = current_setting('request.jwt.sub'))",
      "alter publication supabase_realtime add table own",
      "create policy team on realtime.messages to authenticated using (realtime.topic() = 'team')"
    ]) {
      await sql(service, text)
    }
    const tokens = ["ann", "bob"].map((sub) =>
      hs256(JSON.stringify({ sub, role: "authenticated" }), undefined, service.jwtSecret)
    )
    const members = await Promise.all(
      times(6, async (n) => {
        const client = createClient(service.url, service.anon, {
          accessToken: () => Promise.resolve(tokens[n % 2] ?? ""),
          realtime: { transport: WebSocket as never }
        })
        await client.realtime.setAuth()
        const heard: Array<string> = []
        const ready: Array<string> = []
        const channel = client
          .channel("team", { config: { private: true, presence: { key: String(n) } } })
          .on("postgres_changes", { event: "*", schema: "public", table: "own" }, ({ new: row }) => {
            heard.push(`row ${(row as { id: number }).id}`)
          })
          .on("broadcast", { event: "made" }, ({ payload }) => heard.push(`message ${payload["n"]}`))
          .on("presence", { event: "sync" }, () => undefined)
          .on("system", {}, ({ status }: { status: string }) => ready.push(status))
          .subscribe()
        await until(
          async () => ready.length,
          (count) => count > 0,
          15_000
        )
        assert.strictEqual(ready[0], "ok")
        await channel.track({ n })
        return { channel, client, heard }
      })
    )
    const feed = await openFeed(service, { key: service.anon, token: tokens[0] ?? "" })
    await subscribe(service, "own")
    await sql(service, "insert into own values (1, 'ann'), (2, 'bob')")
    await sql(service, `select realtime.send('{"n": 3}', 'made', 'team')`)
    for (const [n, { channel, heard }] of members.entries()) {
      await until(
        async () => heard.length,
        (count) => count === 2
      )
      assert.sameMembers(heard, [`row ${n % 2 === 0 ? 1 : 2}`, "message 3"])
      await until(
        async () => Object.keys(channel.presenceState()).length,
        (count) => count === 6
      )
      assert.strictEqual(Object.keys(channel.presenceState()).length, 6)
    }
    assert.deepStrictEqual(
      (await feed.upTo(({ row }) => row?.["id"] === 1)).map(({ table }) => table),
      ["own"]
    )
    for (const { client } of members) await client.removeAllChannels()
    endFeeds()
  })

  it("lose one of them with its requests alone, and replace it within 2 s", async () => {
    const headers = { apikey: service.service_role }
    const failures = times(24, () => 0)
    let killedAt = Number.POSITIVE_INFINITY
    let lastFailure = 0
    const load = { ended: false }
    const loops = failures.map(async (_, index) => {
      const agent = connection()
      while (!load.ended) {
        const { status } = await call(service, "/v1/status", { headers, agent })
        if (status === 200) continue
        failures[index] = (failures[index] ?? 0) + 1
        lastFailure = Date.now()
      }
      agent.destroy()
    })
    await sleep(300)
    const counted = valueOf(await metrics(() => true), "svc_http_requests_total", reads)
    killedAt = Date.now()
    const millis = await killWorker(service, 2)
    await sleep(300)
    load.ended = true
    await Promise.all(loops)
    // On a busy machine every start takes longer.
    assert.isBelow(millis, Math.max(2_000, 2 * startMillis))
    assert.isBelow(lastFailure - killedAt, millis, "failures end before the worker is back")
    assert.isTrue(failures.includes(0), "connections to the other worker fail as well")
    // A client may connect once more while the operating system takes the sockets of the process apart.
    assert.isTrue(failures.every((count) => count <= 2) && failures.some((count) => count > 0), failures.join())
    assert.include(service.output(), '"annotations":{"worker":"2"}')
    // Counters must not fall, or rates would show requests that never were.
    await sleep(1_000)
    assert.isAtLeast(valueOf(await metrics(() => true), "svc_http_requests_total", reads), counted)
    assert.match(service.output(), /Worker 2 \(process \d+\) ended unexpectedly \(SIGKILL\); starting another/)
  })

  it("end with their parent, even if it is killed", async () => {
    const workers = Array.from(workersOf(service).values())
    assert.deepStrictEqual(workers.map(isAlive), [true, true])
    await service.stop("SIGKILL")
    const alive = await until(
      async () => workers.filter(isAlive),
      (pids) => pids.length === 0,
      2_000
    )
    assert.deepStrictEqual(alive, [])
  })

  it("finish on SIGTERM what has begun, under load", async () => {
    const ending = await startWorkers(dataDir)
    const headers = { apikey: ending.service_role }
    const slow = times(6, () =>
      call(ending, "/v1/sql", {
        method: "POST",
        headers,
        body: { sql: "insert into kept select 0 from pg_sleep(0.6)" }
      })
    )
    const outcomes: Array<Outcome> = []
    const load = { ended: false }
    const loops = times(12, async (n) => {
      while (!load.ended) {
        const outcome = await call(ending, "/v1/db/kept", { method: "POST", headers, body: { n } })
        outcomes.push(outcome)
        if (outcome.status === undefined) return
      }
    })
    await sleep(400)
    const end = await ending.stop("SIGTERM")
    load.ended = true
    await Promise.all(loops)
    assert.deepStrictEqual([end.code, end.signal], [0, null], end.output)
    assert.notMatch(end.output, /"level":"ERROR"/)
    assert.deepStrictEqual(
      (await Promise.all(slow)).map(({ status }) => status),
      times(6, () => 200)
    )
    const answered = outcomes.filter(({ status }) => status !== undefined)
    assert.deepStrictEqual([...new Set(answered.map(({ status }) => status))], [201])
    for (const { error } of outcomes) assert.oneOf(error, [undefined, "ECONNREFUSED", "ECONNRESET"])

    await using again = await startService({ dataDir })
    const [row] = await sql(again, "select count(*)::int as stored from kept")
    assert.strictEqual(row?.["stored"], answered.length + 6)
  })
})

describe("a start of workers that fails exits with one line", () => {
  it("for an invalid number", async () => {
    const end = await runToEnd({ SVC_WORKERS: "0" })
    assert.strictEqual(end.code, 1)
    assert.strictEqual(end.output, 'svc: SVC_WORKERS must be a whole number from 1 to 256, or auto, but it is "0"\n')
  })

  it("for a port in use", async () => {
    const other = createServer()
    const port = await new Promise<number>((listening) =>
      other.listen(0, "127.0.0.1", () => listening((other.address() as { port: number }).port))
    )
    const dataDir = await copyDataDir(inject("preparedDataDir"))
    try {
      const end = await runToEnd({ SVC_DATA_DIR: dataDir, SVC_WORKERS: "2", PORT: String(port) })
      assert.strictEqual(end.code, 1, end.output)
      assert.match(end.output, new RegExp(`^svc: .*127\\.0\\.0\\.1:${port}.*PORT.*\n$`, "m"))
    } finally {
      other.close()
      await removeDataDir(dataDir)
    }
  })
})
