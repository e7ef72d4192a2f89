import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Effect } from "effect"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { isProven } from "../../../src/layers/postgres/rows/Epoch.ts"
import { Standbys } from "../../../src/layers/postgres/standbys/Standbys.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { type PostgresCluster, type Standby, startPostgresCluster } from "../../../bench/support/cluster.ts"
import { parseMetrics, valueOf } from "../../support/metrics.ts"
import { operationsUrl, until } from "../../support/service.ts"

let cluster: PostgresCluster
let service: InProcessService
const started = new AsyncDisposableStack()

/** The standbys whose answers counted, in order, by their ports. */
const answered: Array<number> = []
const { read } = Standbys.prototype
Standbys.prototype.read = function (standby, run) {
  return Effect.tap(read.call(this, standby, run), (outcome) =>
    Effect.sync(() => isProven(outcome) && answered.push(Number(standby.name.split(":")[1])))
  )
}
started.defer(() => void (Standbys.prototype.read = read))

const setup = `
  create table todos (id int primary key, task text);
  insert into todos values (1, 'a');
  create table notes (id int primary key, owner text);
  alter table notes enable row level security;
  create policy own on notes using (owner = current_setting('request.jwt.sub', true));
  grant all on todos, notes to anon, authenticated;
  create role reader;
  grant reader to authenticated;
  create table members (id int primary key);
  insert into members values (1);
  revoke all on members from anon, authenticated;
  grant select on members to reader;
  create table versions (version int primary key);
  insert into versions select generate_series(0, 5000);
  alter table versions enable row level security;
  create policy current on versions using (version = 0);
  grant select on versions to anon, authenticated;`

beforeAll(async () => {
  cluster = started.use(await startPostgresCluster(2))
  const { primary, standbys, url } = cluster
  service = started.use(
    await serveInProcess({
      DATABASE_URL: url(primary, ...standbys),
      DATABASE_READ_URLS: standbys.map((one) => url(one)).join(" "),
      SVC_OPERATIONS_PORT: "0"
    })
  )
  await primary.sql(setup)
})
afterAll(() => started.disposeAsync())

type Headers = Readonly<Record<string, string>>
const ask = async (user: string, line: string, { body, headers = {} }: { body?: unknown; headers?: Headers } = {}) => {
  const [method = "", path = ""] = line.split(" ", 2)
  const authorization = `Bearer ${signedToken(service.jwtSecret, user)}`
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { apikey: service.anon, authorization, "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  return { status: response.status, headers: response.headers, json: (await response.json()) as unknown }
}

const strong = { headers: { prefer: "consistency=strong" } }

/** The port of the server that answers a read. */
const reader = async (user: string, options?: { headers: Headers }) => {
  answered.splice(0)
  const { json, status } = await ask(user, "GET /v1/db/todos?select=id", options)
  assert.deepStrictEqual({ json, status }, { json: [{ id: 1 }], status: 200 })
  return answered[0] ?? cluster.primary.port
}
const isStandby = (port: number) => cluster.standbys.some((one) => one.port === port)

/** Waits until the reads of this user come from a standby. */
const fromStandby = (user: string) => until(() => reader(user), isStandby)

/** Stops the standbys until the end of its scope. */
const pauseReplay = async (): Promise<AsyncDisposable & { readonly end: () => Promise<void> }> => {
  for (const standby of cluster.standbys) {
    await cluster.caughtUp(standby)
    await standby.sql("select pg_wal_replay_pause()")
    await until(
      () => standby.sql("select pg_get_wal_replay_pause_state() as state"),
      ([row]) => row?.["state"] === "paused"
    )
  }
  const end = async () => {
    for (const standby of cluster.standbys) await standby.sql("select pg_wal_replay_resume()")
  }
  return { end, [Symbol.asyncDispose]: end }
}

describe("DATABASE_READ_URLS", () => {
  it("sends clean reads to all standbys, and everything else to the primary", async () => {
    await fromStandby("u1")
    const sixty = async () => {
      answered.splice(0)
      await Promise.all(Array.from({ length: 60 }, (_, n) => ask(`u${n}`, "GET /v1/db/todos?select=id")))
      return answered.length
    }
    await until(sixty, (length) => length === 60)
    assert.deepStrictEqual(new Set(answered), new Set(cluster.standbys.map(({ port }) => port)))
    assert.strictEqual(await reader("u1", strong), cluster.primary.port)
    const applied = await ask("u1", "GET /v1/db/todos", strong)
    assert.strictEqual(applied.headers.get("preference-applied"), "consistency=strong")
    const written = await ask("u1", "PATCH /v1/db/todos?id=eq.1", { body: { task: "b" } })
    assert.deepStrictEqual(written.json, [{ id: 1, task: "b" }])
    const invalid = await ask("u1", "GET /v1/db/todos", { headers: { "x-svc-lsn": "1" } })
    assert.deepInclude(invalid.json, { code: "INVALID_REQUEST" })
    assert.strictEqual(invalid.status, 400)
  })

  it("counts the connections to standbys, and those that are in no pool", async () => {
    await fromStandby("u1")
    const response = await fetch(`${operationsUrl(service)}/metrics`)
    const metrics = parseMetrics(await response.text(), "text")
    const open = (labels: Record<string, string>) => valueOf(metrics, "svc_db_connections", labels)
    assert.isAbove(open({ database: "standby", role: "authenticated" }), 0)
    assert.strictEqual(open({ database: "standby", lane: "progress" }), 2)
    assert.strictEqual(open({ database: "main", lane: "fence" }), 1)
    assert.isAbove(valueOf(metrics, "svc_db_connections_limit", { database: "standby", lane: "shared_reads" }), 0)
  })

  it("shows callers what they wrote, though the standbys have not replayed it", async () => {
    await cluster.primary.sql("delete from notes")
    await fromStandby("writer")
    await fromStandby("other")
    await using paused = await pauseReplay()
    const written = await ask("writer", "POST /v1/db/notes", { body: { id: 1, owner: "writer" } })
    assert.strictEqual(written.status, 201)
    const lsn = written.headers.get("x-svc-lsn") ?? ""
    assert.match(lsn, /^[0-9A-F]+\/[0-9A-F]+$/)
    const notes = (headers: Headers = {}) => ask("writer", "GET /v1/db/notes?select=id", { headers })
    for (let n = 0; n < 20; n++) assert.deepStrictEqual((await notes()).json, [{ id: 1 }])
    assert.strictEqual(await reader("writer"), cluster.primary.port)
    assert.isTrue(isStandby(await fromStandby("other")), "others still read from standbys")
    // By the token, as another process would know of it.
    assert.strictEqual(await reader("other", { headers: { "x-svc-lsn": lsn } }), cluster.primary.port)
    assert.deepStrictEqual((await notes({ prefer: "consistency=eventual" })).json, [])
    await paused.end()
    await fromStandby("writer")
    assert.deepStrictEqual((await notes()).json, [{ id: 1 }])
  })

  it("does not answer what was revoked, though the standbys have not replayed that", async () => {
    const { primary } = cluster
    const read = (table: string) => ask("u1", `GET /v1/db/${table}?select=id`)
    assert.deepStrictEqual((await read("members")).json, [{ id: 1 }])
    await fromStandby("u1")
    await using paused = await pauseReplay()
    for (const standby of cluster.standbys) assert.lengthOf(await standby.sql("select from members"), 1)
    await primary.sql("revoke reader from authenticated")
    assert.strictEqual((await read("members")).status, 403, "a membership, which no event trigger reports")
    await primary.sql("grant reader to authenticated")
    assert.deepStrictEqual((await read("members")).json, [{ id: 1 }])
    await primary.sql("revoke select on members from reader")
    assert.strictEqual((await read("members")).status, 403, "a privilege")
    await primary.sql("grant select on members to reader")
    await primary.sql("insert into notes values (2, 'u1') on conflict do nothing")
    await primary.sql("alter policy own on notes using (false)")
    assert.deepStrictEqual((await read("notes")).json, [], "a policy")
    await primary.sql("alter policy own on notes using (owner = current_setting('request.jwt.sub', true))")
    assert.deepStrictEqual((await read("notes")).json, [{ id: 2 }])
    assert.strictEqual(await reader("u1"), primary.port, "the standbys have older definitions")
    await paused.end()
    await fromStandby("u1")
  })

  it("answers with the definitions that hold when the request comes, while these change", async () => {
    const { primary } = cluster
    const end = new AbortController()
    let [version, answers] = [0, 0]
    await primary.sql("alter policy current on versions using (version = 0)")
    const wrong: Array<string> = []
    const readers = Array.from({ length: 8 }, async (_, n) => {
      while (!end.signal.aborted) {
        const before = version
        const { json } = await ask(`u${n}`, "GET /v1/db/versions?select=version")
        const [row] = json as ReadonlyArray<{ readonly version: number }>
        answers++
        // One more than was reported may have been committed.
        if (row === undefined || row.version < before || row.version > version + 1) {
          wrong.push(`${row?.version} instead of ${before} to ${version}`)
        }
      }
    })
    answered.splice(0)
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 5; n++) {
        await primary.sql(`alter policy current on versions using (version = ${version + 1})`)
        version++
        await sleep(n * 3)
      }
      // Until standbys have replayed all of it, and answer.
      const had = answered.length
      await until(
        () => Promise.resolve(answered.length),
        (now) => now > had + 10
      )
    }
    end.abort()
    await Promise.all(readers)
    assert.deepStrictEqual(wrong, [])
    assert.isAbove(answers, 30)
    assert.isAbove(answered.length, 30, "answers of standbys")
  })

  it("makes branches, for which this process gives up its sessions", async () => {
    const response = await fetch(`${service.url}/api/branches`, {
      method: "POST",
      headers: { apikey: service.service_role, "content-type": "application/json" },
      body: JSON.stringify({ label: "copy" })
    })
    assert.strictEqual(response.status, 201, await response.text())
    await fromStandby("u1")
  })

  it("goes on without an error when a standby hangs, and when all have ended", { timeout: 90_000 }, async () => {
    const [first, second] = cluster.standbys as [Standby, Standby]
    await fromStandby("u1")
    let slowest = 0
    const reads = async (users: number) => {
      const statuses = await Promise.all(
        Array.from({ length: users }, async (_, n) => {
          const from = performance.now()
          const { status } = await ask(`u${n}`, "GET /v1/db/todos?select=id")
          slowest = Math.max(slowest, performance.now() - from)
          return status
        })
      )
      assert.deepStrictEqual(new Set(statuses), new Set([200]))
    }
    await reads(20)
    await first.signal("SIGSTOP")
    try {
      for (const until = Date.now() + 2_500; Date.now() < until;) await reads(20)
      assert.isBelow(slowest, 10_000)
      await until(
        () => reader("u1"),
        (port) => port === second.port
      )
    } finally {
      await first.signal("SIGCONT")
    }
    await until(
      () => reader("u1"),
      (port) => port === first.port
    )
    for (const standby of [first, second]) {
      await Promise.all([standby.signal("SIGKILL"), reads(20), sleep(50).then(() => reads(20))])
      await reads(20)
    }
    assert.strictEqual(await reader("u1"), cluster.primary.port)
  })
})
