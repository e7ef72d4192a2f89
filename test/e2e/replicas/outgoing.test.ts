import { ConfigProvider, Layer, ManagedRuntime, Effect } from "effect"
import { decodeJwt } from "jose"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Client } from "pg"
import { afterAll, afterEach, assert, beforeAll, it } from "vitest"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { layerEmbedded } from "../../../src/layers/postgres/embedded/Embedded.ts"
import { ask } from "../../support/client.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { databaseUrl } from "../../support/postgres/server.ts"
import { operationsUrl, type Service, startService, until } from "../../support/service.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

/** Two replicas on one PostgreSQL, whose log shows what they ask it. */
const started = new AsyncDisposableStack()
let receiver: Receiver
let outside: Client
let key: string
let log: string
let [survivor, victim]: [Service | undefined, Service | undefined] = [undefined, undefined]
let launch: () => Promise<Service>
const none = () => assert.fail("The replica has not started")

beforeAll(async () => {
  const path = await makeDataDir()
  started.defer(() => removeDataDir(path))
  log = join(path, "postgres.log")
  const settings = ConfigProvider.layer(ConfigProvider.fromEnvRecord({}))
  const postgres = ManagedRuntime.make(Layer.provide(layerEmbedded, [DataDir.at(path), settings]))
  started.defer(() => postgres.dispose())
  const url = databaseUrl(await postgres.runPromise(Effect.service(PostgresAddress)))
  receiver = started.use(await startReceiver())
  const jwtSecret = randomBytes(32).toString("base64url")
  const env = {
    DATABASE_URL: url,
    SVC_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    PUBLIC_URL: "http://localhost:3000",
    WEBHOOK_ALLOW_PRIVATE: "true",
    SVC_OAUTH2_ALLOW_PRIVATE: "true",
    SVC_OPERATIONS_PORT: "0",
    // No attempt may end by itself.
    WEBHOOK_TIMEOUT: "60s"
  }
  launch = async () => started.use(await startService({ env, jwtSecret }))
  survivor = await launch()
  key = survivor.service_role
  outside = new Client({ connectionString: url })
  outside.on("error", () => undefined)
  await outside.connect()
  started.defer(() => outside.end())
  await outside.query("create table sent (id int primary key)")
  await outside.query("alter system set log_statement = 'all'")
  await outside.query("select pg_reload_conf()")
  victim = await launch()
}, 60_000)
afterAll(() => started.disposeAsync())
afterEach(() => {
  receiver.answer = () => ({})
})

const query = async (text: string, params: ReadonlyArray<unknown> = []) =>
  (await outside.query<Record<string, unknown>>(text, [...params])).rows
const waiting = async () =>
  Number(
    (await query("select count(*)::int as n from svc.webhook_messages where next_attempt_at is not null"))[0]?.["n"]
  )
const rowsAt = (path: string) => receiver.at(path).map(({ json }) => Number(json.row?.["id"]))
const watch = async (path: string) => {
  const body = { table_name: "sent", events: ["INSERT"], url: `${receiver.url}${path}` }
  const made = await ask(survivor ?? none(), "POST /api/webhooks", { key, body })
  assert.strictEqual(made.status, 201, made.text)
  return (made.json as { id: number }).id
}
const unwatch = (id: number) => ask(survivor ?? none(), `DELETE /api/webhooks/${id}`, { key })
/** What PostgreSQL was asked while `during` ran. */
const askedDuring = async (during: () => Promise<unknown>) => {
  const statements = async () => (await readFile(log, "utf8")).split(/^.*LOG:/m)
  const before = (await statements()).length
  await during()
  return (await statements()).slice(before)
}

it(
  "deliver each row once, woken up by the write, and leave PostgreSQL alone afterwards",
  { timeout: 60_000 },
  async () => {
    const id = await watch("/once")
    for (let round = 0; round < 3; round++) {
      // Both sleep after a second without a message, for up to ten.
      await sleep(2_500)
      await query("insert into sent select generate_series($1::int, $1::int + 9)", [round * 10])
      await receiver.count("/once", (round + 1) * 10, 5_000)
    }
    await until(waiting, (count) => count === 0)
    assert.deepStrictEqual(
      rowsAt("/once").toSorted((a, b) => a - b),
      Array.from({ length: 30 }, (_, n) => n)
    )
    await sleep(2_500)
    const asked = await askedDuring(() => sleep(5_000))
    const count = (part: string) => asked.filter((text) => text.includes(part)).length
    assert.isAtMost(count("claim = $4::uuid"), 2, "each looks at most once in ten seconds")
    assert.isAtMost(count("pg_try_advisory_lock"), 2, "the one without the lock asks for it every five seconds")
    await unwatch(id)
  }
)

it("take over what a killed replica had claimed, as soon as its claims expire", { timeout: 90_000 }, async () => {
  const id = await watch("/taken")
  await sleep(2_500)
  const suspended = survivor ?? none()
  process.kill(suspended.pid, "SIGSTOP")
  receiver.answer = () => ({ hang: true })
  await query("insert into sent select generate_series(100, 119)")
  await receiver.count("/taken", 20)
  await victim?.stop("SIGKILL")
  receiver.answer = () => ({})
  process.kill(suspended.pid, "SIGCONT")
  // Those that were in flight may have been received, so they are sent again: once each, and none is lost.
  await receiver.count("/taken", 40, 40_000)
  assert.strictEqual(await until(waiting, (count) => count === 0), 0)
  assert.deepStrictEqual(
    rowsAt("/taken")
      .slice(20)
      .toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, n) => 100 + n)
  )
  const logged = await query(
    "select count(*)::int as n from svc.webhook_logs l join svc.webhook_messages m on m.id = l.message_id where m.webhook_id = $1 and l.status_code = 200",
    [id]
  )
  assert.deepStrictEqual(logged, [{ n: 20 }])
  await unwatch(id)
  victim = await launch()
})

it("notify apps of sign-outs once each, also after one of them was killed", { timeout: 90_000 }, async () => {
  const clients = await Promise.all(
    Array.from({ length: 4 }, async (_, n) => {
      const made = await ask(survivor ?? none(), "POST /api/oauth2/clients", {
        key,
        body: {
          client_name: `app ${n}`,
          redirect_uris: ["https://app.example.com/back"],
          backchannel_logout_uri: `${receiver.url}/notices/${n}`,
          backchannel_logout_session_required: true
        }
      })
      assert.strictEqual(made.status, 201, made.text)
      return String((made.json as { client_id: string }).client_id)
    })
  )
  /** The sessions whose end a client has accepted. */
  const accepted = new Map<string, number>()
  receiver.answer = ({ body, path }) => {
    if (!path.startsWith("/notices/")) return {}
    const { aud, sid } = decodeJwt(new URLSearchParams(body.toString("utf8")).get("logout_token") ?? "")
    const name = `${String(aud)} ${String(sid)}`
    accepted.set(name, (accepted.get(name) ?? 0) + 1)
    return {}
  }
  const answering = receiver.answer
  const end = (sessions: ReadonlyArray<string>) =>
    query(
      `insert into svc.oauth2_logout_notices (client_id, subject, sid)
       select client_id, 'ann', sid from unnest($1::text[]) client_id, unnest($2::text[]) sid`,
      [clients, sessions]
    )
  const left = async () => Number((await query("select count(*)::int as n from svc.oauth2_logout_notices"))[0]?.["n"])

  const suspended = survivor ?? none()
  process.kill(suspended.pid, "SIGSTOP")
  receiver.answer = () => ({ hang: true })
  await end(["first"])
  await until(
    () => Promise.resolve(receiver.open),
    (open) => open >= clients.length
  )
  await victim?.stop("SIGKILL")
  receiver.answer = answering
  process.kill(suspended.pid, "SIGCONT")
  // As after the 30 s for which they are left to the replica that was killed.
  await query("update svc.oauth2_logout_notices set due_at = now()")
  victim = await launch()
  const sessions = Array.from({ length: 10 }, (_, n) => `session ${n}`)
  await end(sessions)
  assert.strictEqual(await until(left, (count) => count === 0, 40_000), 0)
  assert.deepStrictEqual(
    Object.fromEntries(accepted),
    Object.fromEntries(clients.flatMap((client) => ["first", ...sessions].map((sid) => [`${client} ${sid}`, 1])))
  )
  const metrics = await Promise.all(
    [operationsUrl(suspended), operationsUrl(victim)].map(async (url) => (await ask({ url }, "GET /metrics")).text)
  )
  const succeeded = metrics.map((text) =>
    Number(/^svc_oauth2_logout_notices_total\{[^}]*outcome="succeeded"[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0)
  )
  assert.strictEqual((succeeded[0] ?? 0) + (succeeded[1] ?? 0), clients.length * 11, metrics[0])
})
