import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { afterAll, assert, beforeAll, inject, it } from "vitest"
import { ask } from "../../support/client.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { type Service, startService, until } from "../../support/service.ts"

const database = `takeover_${process.pid}`
const started = new AsyncDisposableStack()
const root = new Client({ connectionString: inject("databaseUrl") })
let outside: Client
let [first, second]: [Service | undefined, Service | undefined] = [undefined, undefined]

beforeAll(async () => {
  await root.connect()
  started.defer(() => root.end())
  await root.query(`create database ${database}`)
  started.defer(async () => {
    // The slot is active for a moment after its reader.
    await until(
      () =>
        root.query(`drop database ${database} with (force)`).then(
          () => true,
          () => false
        ),
      (done) => done
    )
  })
  const url = new URL(inject("databaseUrl"))
  url.pathname = database
  const env = {
    DATABASE_URL: url.href,
    SVC_CHANGES: "wal",
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    WEBHOOK_ALLOW_PRIVATE: "true",
    WEBHOOK_DISABLE_AFTER: "100000"
  }
  first = started.use(await startService({ env }))
  outside = new Client({ connectionString: url.href })
  await outside.connect()
  started.defer(() => outside.end())
  await until(reader, (pid) => pid !== undefined)
  second = started.use(await startService({ env, jwtSecret: first.jwtSecret }))
})
afterAll(async () => {
  endFeeds()
  await started.disposeAsync()
})

const reader = async () =>
  (
    await outside.query<{ readonly pid: number }>(
      "select active_pid as pid from pg_replication_slots where active and database = current_database()"
    )
  ).rows[0]?.pid

it("another replica reads the log within seconds after the reader was killed; nothing is lost or twice", async () => {
  const [killed, survivor] = [first ?? assert.fail(), second ?? assert.fail()]
  const key = killed.service_role
  await outside.query("create table kept (n int primary key)")
  const hooked = await ask(killed, "POST /api/webhooks", {
    key,
    body: { name: "kept", table_name: "kept", events: ["INSERT"], url: "http://127.0.0.1:9/" }
  })
  assert.strictEqual(hooked.status, 201, hooked.text)
  await subscribe(killed, "kept")
  const feed = await openFeed(survivor, { key })
  let next = 0
  const write = async (count: number) => {
    for (const end = next + count; next < end; next++) await outside.query("insert into kept values ($1)", [next])
  }
  await write(50)
  const some = await feed.upTo(({ row }) => row?.["n"] === 20)
  const before = await reader()
  const at = performance.now()
  const ended = killed.stop("SIGKILL")
  const writing = write(200)
  await ended
  const taken = await until(reader, (pid) => pid !== undefined && pid !== before, 20_000)
  const millis = performance.now() - at
  await writing
  await write(50)
  assert.isDefined(taken)
  assert.isBelow(millis, 6_000, "until the other one reads")
  const rest = await feed.upTo(({ row }) => row?.["n"] === next - 1, 20_000)
  const numbers = [...some, ...rest].map(({ row }) => Number(row?.["n"]))
  assert.deepStrictEqual(
    numbers,
    Array.from({ length: next }, (_, n) => n),
    "each once, in order, without a gap"
  )
  const { rows } = await outside.query<{ readonly n: number }>(
    "select (payload::json->'row'->>'n')::int as n from svc.webhook_messages order by id"
  )
  assert.deepStrictEqual(
    rows.map(({ n }) => n),
    Array.from({ length: next }, (_, n) => n)
  )
})
