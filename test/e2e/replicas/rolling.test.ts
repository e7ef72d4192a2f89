import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { type Balancer, makeBalancer } from "../../../bench/replicas/balancer.ts"
import { Replica } from "../../../bench/replicas/servers/replica.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { ask, sql } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { evaluate, flagOf, makeFlag } from "../../support/flags/api.ts"
import { asMember, register } from "../../support/identity/people.ts"
import { nextVersion, previousVersion, type SourceVersion } from "../../support/install/versions.ts"
import { endFeeds, type Feed, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { root, testSettings, until } from "../../support/service.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

const database = `rolling_${process.pid}`
const started = new AsyncDisposableStack()
let sink: Receiver
let previous: SourceVersion
let older: Replica
let newer: Replica
let balancer: Balancer
let keys: { readonly service_role: string; readonly anon: string }

const admin = async (statement: string) => {
  const client = new Client({ connectionString: inject("databaseUrl") })
  await client.connect()
  await client.query(statement)
  await client.end()
}

const begin = async (replica: Replica) => {
  replica.launch()
  await until(
    async () => replica.ready || (await replica.check(), replica.ready),
    (ready) => ready,
    60_000
  )
  assert.isTrue(replica.ready, replica.output)
}

beforeAll(async () => {
  sink = started.use(await startReceiver())
  await admin(`create database ${database}`)
  started.defer(() => admin(`drop database ${database} with (force)`))
  const databaseUrl = new URL(inject("databaseUrl"))
  databaseUrl.pathname = database
  const env = {
    ...testSettings,
    PATH: process.env["PATH"] ?? "",
    DATABASE_URL: databaseUrl.href,
    SVC_JWT_SECRET: randomBytes(32).toString("base64url"),
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    SVC_DB_POOL_SIZE: "4",
    SVC_SHUTDOWN_DELAY: "1s",
    WEBHOOK_ALLOW_PRIVATE: "true"
  }
  const [before, after] = await Promise.all([previousVersion(), nextVersion()])
  previous = started.use(before)
  started.use(after)
  process.stdout.write(`Rolling upgrade: ${before.name} beside ${after.name}\n`)
  const make = async (entry: string) => {
    const dataDir = await makeDataDir()
    started.defer(() => removeDataDir(dataDir))
    const replica = new Replica({
      entry,
      port: await freePort(),
      operationsPort: await freePort(),
      env: { ...env, SVC_DATA_DIR: dataDir },
      clock: undefined
    })
    started.defer(async () => void (await replica.end("SIGKILL")))
    return { dataDir, replica }
  }
  const first = await make(before.entry)
  older = first.replica
  newer = (await make(after.entry)).replica
  await begin(older)
  keys = JSON.parse(await readFile(join(first.dataDir, "keys.json"), "utf8")) as typeof keys
  balancer = started.use(makeBalancer({ replicas: [older, newer] }))
  // The older version may need packages of its own.
}, 240_000)

afterAll(async () => {
  endFeeds()
  await started.disposeAsync()
})

const at = ({ url }: Replica) => ({ url, ...keys })

/** Requests through both, until it is ended, and those that were not answered as they should have been. */
const stream = () => {
  const failed: Array<string> = []
  const [asked, written] = [new Map<Replica, number>(), new Set<number>()]
  let next = 0
  const ending = new AbortController()
  const send = async (method: string, path: string, status: number, body?: unknown) => {
    const answer = await balancer.send(method, path, { apikey: keys.service_role }, body)
    if (answer?.replica !== undefined) asked.set(answer.replica, (asked.get(answer.replica) ?? 0) + 1)
    if (answer?.status === status) return true
    failed.push(
      `${method} ${path}: ${answer === undefined ? "no replica is ready" : `${answer.status} ${answer.error}${answer.text}`}`
    )
    return false
  }
  const caller = async () => {
    while (!ending.signal.aborted) {
      const n = next++
      if (await send("POST", "/v1/db/streamed", 201, { n })) written.add(n)
      await send("GET", `/v1/db/streamed?n=eq.${n}`, 200)
      await send("POST", "/v1/sql", 200, { sql: "select count(*) from streamed" })
      await send("GET", "/api/webhooks", 200)
      await sleep(50)
    }
  }
  const callers = Promise.all(Array.from({ length: 3 }, caller))
  return {
    asked,
    end: async () => {
      ending.abort()
      await callers
      return { failed, written }
    }
  }
}

/** What is done at one of them is seen, obeyed and passed on by the other. */
const worksAcross = async (one: Replica, other: Replica, feed: Feed, name: string) => {
  const [here, there] = [at(one), at(other)]
  const [row] = await sql(here, "insert into across (name) values ($1) returning name", [name])
  assert.deepStrictEqual(await sql(there, "select name from across where name = $1", [name]), [row])
  await feed.upTo((event) => event.row?.["name"] === name)
  const delivered = await sink.count(`/${name}`, 1)
  assert.strictEqual(delivered.length, 1)

  const made = await ask(here, "POST /api/keys", { key: keys.service_role, body: { keyType: "anon", label: name } })
  assert.strictEqual(made.status, 201, made.text)
  const { key: record, secret: key } = made.json as { readonly key: { readonly id: number }; readonly secret: string }
  assert.strictEqual((await ask(there, "GET /v1/db/across", { key })).status, 200)
  assert.oneOf((await ask(here, `DELETE /api/keys/${record.id}`, { key: keys.service_role })).status, [200, 204])
  const revoked = await until(
    () => ask(there, "GET /v1/db/across", { key }),
    ({ status }) => status === 401
  )
  assert.strictEqual(revoked.status, 401)

  await makeFlag(here, name)
  await until(
    () => ask(there, "POST /api/flags/evaluate", { key: keys.service_role, body: { flagKey: name, context: {} } }),
    ({ status }) => status === 200
  )
  assert.strictEqual((await evaluate(there, name)).value, false)
  await flagOf(there, `PUT /${name}`, { defaultVariant: "on" })
  const toggled = await until(
    () => evaluate(here, name),
    ({ value }) => value === true
  )
  assert.strictEqual(toggled.value, true)

  const member = await register(here)
  const session = await asMember(there, member.cookie, "GET /api/auth/session")
  assert.strictEqual(session.status, 200, session.text)
  const left = await asMember(there, member.cookie, "POST /api/auth/logout")
  assert.oneOf(left.status, [200, 204], left.text)
  assert.strictEqual((await asMember(here, member.cookie, "GET /api/auth/session")).status, 401)
}

/** A webhook for the rows of `worksAcross`, one for each name. */
const hook = async (replica: Replica, name: string) => {
  const reply = await ask(at(replica), "POST /api/webhooks", {
    key: keys.service_role,
    body: { name, table_name: "across", events: ["INSERT"], url: `${sink.url}/${name}` }
  })
  assert.strictEqual(reply.status, 201, reply.text)
  return (reply.json as { readonly id: number }).id
}

describe("two versions on one database", () => {
  it("serve together without a failed request, forth and back", { timeout: 180_000, retry: 0 }, async () => {
    await sql(at(older), "create table streamed (n int primary key)")
    await sql(at(older), "create table across (name text primary key)")
    await sql(at(older), "grant select on across to anon")
    await subscribe(at(older), "across")
    const heard = await openFeed(at(older), { key: keys.service_role })
    const requests = stream()

    await begin(newer)
    const [migrated] = await sql(at(newer), "select count(*) as n from svc.migrations where migration_id = 9999")
    assert.strictEqual(Number(migrated?.["n"]), 1)
    const newerHears = await openFeed(at(newer), { key: keys.service_role })
    const byOlder = await hook(older, "by-older")
    await worksAcross(older, newer, newerHears, "by-older")
    assert.strictEqual(
      (await ask(at(newer), `DELETE /api/webhooks/${byOlder}`, { key: keys.service_role })).status < 300,
      true
    )
    const byNewer = await hook(newer, "by-newer")
    await worksAcross(newer, older, heard, "by-newer")
    assert.strictEqual(
      (await ask(at(older), `DELETE /api/webhooks/${byNewer}`, { key: keys.service_role })).status < 300,
      true
    )

    // On with the newer one alone, then back: the older one starts on a database that it does not know all of.
    assert.strictEqual(await older.end("SIGTERM"), 0, older.output)
    const alone = requests.asked.get(newer) ?? 0
    await begin(older)
    assert.match(older.output, /The database has been migrated by version \S+, which only adds/)
    assert.isAbove(requests.asked.get(newer) ?? 0, alone)
    const again = await hook(older, "again")
    await worksAcross(older, newer, newerHears, "again")
    assert.isAbove(again, byNewer)
    assert.strictEqual(await newer.end("SIGTERM"), 0, newer.output)
    await sleep(300)

    const { failed, written } = await requests.end()
    assert.deepStrictEqual(failed, [])
    const [row] = await sql(at(older), "select array_agg(n) as all from streamed")
    assert.deepStrictEqual(new Set(row?.["all"] as ReadonlyArray<number>), written)
    for (const replica of [older, newer]) assert.isAbove(requests.asked.get(replica) ?? 0, 20)
  })
})

describe("two versions on one data directory", () => {
  it("start in turn, with what the other has written", async () => {
    const dataDir = await makeDataDir()
    started.defer(() => removeDataDir(dataDir))
    const env = { ...testSettings, PATH: process.env["PATH"] ?? "", SVC_DATA_DIR: dataDir }
    const replicaOf = async (entry: string) => {
      const [port, operationsPort] = [await freePort(), await freePort()]
      const replica = new Replica({ entry, port, operationsPort, env, clock: undefined })
      started.defer(async () => void (await replica.end("SIGKILL")))
      return replica
    }
    const run = async (entry: string, name: string, expected: ReadonlyArray<string>) => {
      const replica = await replicaOf(entry)
      await begin(replica)
      const its = JSON.parse(await readFile(join(dataDir, "keys.json"), "utf8")) as typeof keys
      const service = { url: replica.url, ...its }
      const call = (line: string, body?: unknown) =>
        ask(service, line, { key: its.service_role, ...(body === undefined ? {} : { body }) })
      await sql(service, "create table if not exists kept (name text primary key)")
      await call("POST /api/storage/buckets", { name: "kept" })
      await sql(service, "insert into kept values ($1)", [name])
      const signed = await call("POST /api/storage/buckets/kept/objects/presign-upload", {
        key: name,
        contentType: "text/plain"
      })
      const { headers, url } = signed.json as { readonly url: string; readonly headers: Record<string, string> }
      assert.strictEqual((await fetch(url, { method: "PUT", headers, body: name })).status, 200)
      const rows = await sql(service, "select name from kept order by name")
      const { objects } = (await call("GET /api/storage/buckets/kept/objects")).json as {
        readonly objects: ReadonlyArray<{ readonly key: string }>
      }
      assert.deepStrictEqual([rows.map((row) => row["name"]), objects.map(({ key }) => key)], [expected, expected])
      assert.strictEqual(await replica.end("SIGTERM"), 0, replica.output)
    }

    await run(previous.entry, "by-1", ["by-1"])
    await run(join(root, "src/main.ts"), "by-2", ["by-1", "by-2"])
    if (previous.hasSameIndex) return run(previous.entry, "by-3", ["by-1", "by-2", "by-3"])
    // A pre-release: it says that it can't, and changes nothing.
    const refusing = await replicaOf(previous.entry)
    refusing.launch()
    const output = await until(
      async () => refusing.output,
      (text) => text.includes("written by a newer version"),
      60_000
    )
    assert.include(output, "written by a newer version")
    return run(join(root, "src/main.ts"), "by-3", ["by-1", "by-2", "by-3"])
  }, 240_000)
})
