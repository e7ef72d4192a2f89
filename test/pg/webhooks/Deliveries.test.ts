import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { wakeUpLock } from "../../../src/domain/sql/AdvisoryLocks.ts"
import { Webhooks } from "../../../src/services/webhooks/Webhooks.ts"
import { connect, live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"
import { hook, layerWebhooks, receiver, worker } from "../../support/webhooks/webhooks.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))

/** The logged attempts of a webhook, oldest first. */
const logs = (id: number) =>
  sql(
    `select status_code as status, error, attempt, message_id::int as message, latency_ms as latency,
       extract(epoch from created_at)::float8 * 1000 as at from svc.webhook_logs where webhook_id = $1 order by id`,
    [id]
  )
const logged = (id: number, count: number, millis?: number) =>
  eventually(logs(id), (rows) => rows.length >= count, millis)
const found = (id: Parameters<Webhooks["Service"]["find"]>[0]) =>
  Effect.flatMap(Webhooks, (webhooks) => webhooks.find(id))
const waiting = (id: number) =>
  Effect.map(
    sql("select count(*)::int as n from svc.webhook_messages where webhook_id = $1 and next_attempt_at is not null", [
      id
    ]),
    ([row]) => Number(row?.["n"])
  )
/** A new table with one column for each test. */
let tables = 0
const table = Effect.gen(function* () {
  const name = `d${++tables}`
  yield* sql(`create table ${name} (id int)`)
  return name
})

layer(layerWebhooks({ name: "webhook_deliveries" }), live)("deliveries", (it) => {
  it.effect("reach the receiver at once, signed, and are completed", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x`, secret: "hush", headers: { "X-Mine": "yes" } })
      yield* worker()
      yield* eventually(
        sql(
          `select from pg_locks where locktype = 'advisory' and granted and (classid::int8 << 32 | objid::int8) = $1
             and database = (select oid from pg_database where datname = current_database())`,
          [wakeUpLock]
        ),
        (asleep) => asleep.length > 0
      )
      const from = Date.now()
      yield* sql(`insert into ${name} values (1)`)
      const [one] = yield* Effect.promise(() => sink.count("/x", 1))
      assert.isBelow((one?.at ?? 0) - from, 500, "the worker was notified and did not just poll")
      assert.deepInclude(one?.json, { event: "INSERT", schema: "public", table: name, row: { id: 1 }, old_row: null })
      assert.deepInclude(one?.headers, { "content-type": "application/json", "x-mine": "yes" })
      assert.match(String(one?.headers["webhook-id"]), /^msg_[\da-f-]{36}$/)
      const [log] = yield* logged(id, 1)
      assert.deepInclude(log, { status: 200, error: null, attempt: 1 })
      assert.strictEqual(yield* waiting(id), 0)
    })
  )

  it.effect("are retried by the schedule, with one id, and end with it", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ status: 500, body: "broken" })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker({ WEBHOOK_RETRY_SCHEDULE: "300ms,600ms" })
      yield* sql(`insert into ${name} values (1)`)
      const rows = yield* logged(id, 3)
      assert.deepStrictEqual(
        rows.map(({ attempt, status }) => [attempt, status]),
        [
          [1, 500],
          [2, 500],
          [3, 500]
        ]
      )
      const [first = 0, second = 0, third = 0] = rows.map(({ at }) => Number(at))
      assert.isAtLeast(second - first, 265)
      assert.isAtLeast(third - second, 535)
      assert.lengthOf(new Set(sink.received.map(({ headers }) => headers["webhook-id"])), 1)
      assert.lengthOf(new Set(sink.received.map(({ body }) => body.toString())), 1)
      yield* Effect.sleep("300 millis")
      assert.lengthOf(sink.received, 3)
      assert.deepStrictEqual([yield* waiting(id), (yield* found(id)).fail_count], [0, 3])
    })
  )

  it.effect("that end soon after each other are recorded together", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      sink.answer = ({ json }) => ({ delay: 10 * Number(json.row?.["id"]) })
      yield* worker()
      const from = Date.now()
      yield* sql(`insert into ${name} select generate_series(1, 40)`)
      yield* logged(id, 40)
      const passed = Date.now() - from
      const [row] = yield* sql(
        "select count(distinct xmin::text)::int as statements from svc.webhook_logs where webhook_id = $1",
        [id]
      )
      assert.isAtMost(Number(row?.["statements"]), passed / 25 + 1)
      assert.strictEqual(yield* waiting(id), 0)
    })
  )

  it.effect("schedule the next attempt in the database, where another worker finds it", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ status: 503 })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      const scope = yield* Scope.make()
      yield* Scope.provide(worker({ WEBHOOK_RETRY_SCHEDULE: "5m,30m" }), scope)
      yield* sql(`insert into ${name} values (1)`)
      yield* logged(id, 1)
      yield* Scope.close(scope, Exit.void)
      const [row] = yield* sql(
        `select claim, attempt, extract(epoch from next_attempt_at - now())::float8 as seconds
         from svc.webhook_messages where webhook_id = $1`,
        [id]
      )
      assert.deepInclude(row, { claim: null, attempt: 1 })
      assert.isAtLeast(Number(row?.["seconds"]), 260)
      assert.isAtMost(Number(row?.["seconds"]), 331)
      sink.answer = () => ({ status: 204 })
      yield* sql("update svc.webhook_messages set next_attempt_at = now() where webhook_id = $1", [id])
      yield* worker()
      const rows = yield* logged(id, 2)
      assert.deepInclude(rows[1], { attempt: 2, status: 204 })
      assert.strictEqual((yield* found(id)).fail_count, 0)
    })
  )

  it.effect("honour Retry-After, up to twice the step", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ status: 429, headers: { "retry-after": "3600" } })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker({ WEBHOOK_RETRY_SCHEDULE: "10m" })
      yield* sql(`insert into ${name} values (1)`)
      yield* logged(id, 1)
      const [row] = yield* sql(
        "select extract(epoch from next_attempt_at - now())::float8 as seconds from svc.webhook_messages where webhook_id = $1",
        [id]
      )
      assert.isAtLeast(Number(row?.["seconds"]), 1_190)
      assert.isAtMost(Number(row?.["seconds"]), 1_200)
    })
  )

  it.effect("log the error: timeout, rejected connection, private address", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ hang: true })
      const name = yield* table
      const hooks = [yield* hook(name, { url: `${sink.url}/x` }), yield* hook(name, { url: "http://127.0.0.1:9/" })]
      yield* worker({ WEBHOOK_TIMEOUT: "300ms", WEBHOOK_RETRY_SCHEDULE: "1h" })
      yield* sql(`insert into ${name} values (1)`)
      const [slow] = yield* logged(hooks[0]?.id ?? 0, 1)
      assert.match(String(slow?.["error"]), /^Timeout/)
      assert.isNull(slow?.["status"])
      assert.isAtLeast(Number(slow?.["latency"]), 290)
      const [refused] = yield* logged(hooks[1]?.id ?? 0, 1)
      assert.deepInclude(refused, { status: null, error: "Connection refused" })
    })
  )

  it.effect("to private addresses are rejected unless allowed, also through a redirect", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker({ WEBHOOK_ALLOW_PRIVATE: "false", WEBHOOK_RETRY_SCHEDULE: "1h" })
      yield* sql(`insert into ${name} values (1)`)
      const [log] = yield* logged(id, 1)
      assert.isNull(log?.["status"])
      assert.match(
        String(log?.["error"]),
        /^Refused: 127\.0\.0\.1 is not on the public Internet \(WEBHOOK_ALLOW_PRIVATE\)$/
      )
      assert.lengthOf(sink.received, 0)
    })
  )

  it.effect("that receive a 410 disable the webhook at once; pending messages are sent once it is active again", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ status: 410 })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker()
      yield* sql(`insert into ${name} values (1)`)
      const off = yield* eventually(found(id), ({ active }) => !active)
      assert.strictEqual(off.disabled_reason, "The receiver answered 410 Gone")
      assert.match(off.disabled_at ?? "", /^\d{4}-.*Z$/)
      yield* sql(`insert into ${name} values (2)`)
      yield* Effect.sleep("500 millis")
      assert.lengthOf(sink.received, 1, "an inactive webhook does not fire")
      sink.answer = () => ({})
      const on = yield* Effect.flatMap(Webhooks, (webhooks) => webhooks.update(id, { active: true }))
      assert.deepInclude(on, { active: true, fail_count: 0, disabled_at: null, disabled_reason: null })
      const [, again] = yield* Effect.promise(() => sink.count("/x", 2))
      assert.deepStrictEqual(again?.json.row, { id: 1 }, "changes made while it was inactive are not sent")
    })
  )

  it.effect("that fail repeatedly disable the webhook; a success resets the count", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = ({ json }) => ({ status: json.row?.["id"] === 3 ? 200 : 500 })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker({ WEBHOOK_DISABLE_AFTER: "3", WEBHOOK_RETRY_SCHEDULE: "1h" })
      for (const n of [1, 2, 3, 4, 5]) {
        yield* sql(`insert into ${name} values (${n})`)
        yield* logged(id, n)
      }
      assert.deepInclude(yield* found(id), { active: true, fail_count: 2 })
      yield* sql(`insert into ${name} values (6)`)
      const off = yield* eventually(found(id), ({ active }) => !active)
      assert.deepInclude(off, { fail_count: 3, disabled_reason: "3 consecutive failures" })
    })
  )

  it.effect("of two workers on one database are not duplicated", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker()
      yield* worker()
      for (let i = 0; i < 20; i++) yield* sql(`insert into ${name} select g from generate_series(1, 50) g`)
      yield* Effect.promise(() => sink.count("/x", 1_000, 20_000))
      yield* logged(id, 1_000)
      assert.lengthOf(sink.received, 1_000)
      assert.lengthOf(new Set(sink.received.map(({ headers }) => headers["webhook-id"])), 1_000)
    })
  )

  it.effect("to a quick receiver don't wait for hanging ones", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = ({ path }) => (path === "/quick" ? {} : { hang: true })
      const name = yield* table
      for (const path of ["/h1", "/h2", "/h3"]) yield* hook(name, { url: sink.url + path })
      yield* worker({ WEBHOOK_CONCURRENCY: "5", WEBHOOK_TIMEOUT: "20s" })
      yield* sql(`insert into ${name} select g from generate_series(1, 100) g`)
      yield* eventually(
        Effect.sync(() => sink.open),
        (open) => open >= 3
      )
      yield* hook(name, { url: `${sink.url}/quick` })
      const from = Date.now()
      yield* sql(`insert into ${name} select g from generate_series(1, 100) g`)
      yield* Effect.promise(() => sink.count("/quick", 100))
      assert.isBelow(Date.now() - from, 5_000)
      assert.isAtMost(sink.mostOpen, 5 + 4, "the limit, and one of each beyond it")
      // Otherwise they would keep the next worker busy.
      yield* sql("update svc.webhooks set active = false where table_name = $1", [name])
    })
  )

  it.effect("in flight are completed when the worker ends, and waiting ones are released", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ delay: 700 })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      const scope = yield* Scope.make()
      yield* Scope.provide(worker({ WEBHOOK_CONCURRENCY: "2", WEBHOOK_TIMEOUT: "5s" }), scope)
      yield* sql(`insert into ${name} select g from generate_series(1, 10) g`)
      yield* Effect.promise(() => sink.count("/x", 2))
      const from = Date.now()
      yield* Scope.close(scope, Exit.void)
      assert.isBelow(Date.now() - from, 4_000)
      const done = (yield* logs(id)).length
      assert.strictEqual(done, sink.received.length, "all that were started")
      const [row] = yield* sql(
        `select count(*)::int as n, bool_and(claim is null and attempt = 0 and next_attempt_at <= now()) as free
         from svc.webhook_messages where webhook_id = $1 and next_attempt_at is not null`,
        [id]
      )
      assert.deepStrictEqual(row, { n: 10 - done, free: true })
      sink.answer = () => ({})
      yield* worker()
      yield* Effect.promise(() => sink.count("/x", 10))
      yield* logged(id, 10)
      assert.lengthOf(new Set(sink.received.map(({ headers }) => headers["webhook-id"])), 10)
      assert.lengthOf(sink.received, 10)
    })
  )

  it.effect("that outlast the shutdown are logged as interrupted and retried", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ hang: true })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      const scope = yield* Scope.make()
      yield* Scope.provide(worker({ WEBHOOK_TIMEOUT: "60s" }), scope)
      yield* sql(`insert into ${name} values (1)`)
      yield* Effect.promise(() => sink.count("/x", 1))
      const from = Date.now()
      yield* Scope.close(scope, Exit.void)
      assert.isAtLeast(Date.now() - from, 4_900)
      assert.isBelow(Date.now() - from, 9_000)
      sink.answer = () => ({})
      yield* worker()
      const rows = yield* logged(id, 2)
      assert.match(String(rows[0]?.["error"]), /^Interrupted/)
      assert.deepInclude(rows[1], { attempt: 2, status: 200 })
      assert.strictEqual((yield* found(id)).fail_count, 0)
    })
  )

  it.effect("whose lease expires are taken over; the result of the first worker is ignored", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      let first = true
      sink.answer = () => {
        if (!first) return { status: 200 }
        first = false
        return { delay: 1_500, status: 500 }
      }
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker({ WEBHOOK_TIMEOUT: "5s" })
      yield* sql(`insert into ${name} values (1)`)
      yield* Effect.promise(() => sink.count("/x", 1))
      // As if a minute had passed without a renewal.
      yield* sql(
        "update svc.webhook_messages set next_attempt_at = now() - interval '1 s', claim = gen_random_uuid() where webhook_id = $1",
        [id]
      )
      const other = yield* Scope.make()
      yield* Effect.addFinalizer(() => Scope.close(other, Exit.void))
      yield* Scope.provide(worker(), other)
      yield* eventually(logs(id), (rows) => rows.length === 2)
      assert.deepStrictEqual((yield* logs(id)).map(({ attempt, status }) => [attempt, status]).sort(), [
        [1, 500],
        [2, 200]
      ])
      yield* Effect.sleep("500 millis")
      assert.strictEqual(yield* waiting(id), 0)
    })
  )

  it.effect("that take long renew their lease", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      sink.answer = () => ({ delay: 9_000 })
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker()
      yield* sql(`insert into ${name} values (1)`)
      yield* Effect.promise(() => sink.count("/x", 1))
      const lease = Effect.map(
        sql(
          "select extract(epoch from next_attempt_at)::float8 as ends from svc.webhook_messages where webhook_id = $1",
          [id]
        ),
        ([row]) => Number(row?.["ends"])
      )
      const first = yield* lease
      yield* eventually(lease, (ends) => ends > first + 5)
      const rows = yield* logged(id, 1)
      assert.deepInclude(rows[0], { status: 200, attempt: 1 })
      assert.lengthOf(sink.received, 1)
    })
  )

  it.effect("need no NOTIFY, which serializes commits, unless a worker sleeps", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      const { login } = yield* Outside
      const listener = yield* connect(login)
      let notifications = 0
      listener.on("notification", () => notifications++)
      yield* Effect.promise(() => listener.query("listen svc_webhooks"))
      yield* sql(`insert into ${name} values (0)`)
      yield* Effect.sleep("200 millis")
      assert.strictEqual(notifications, 0, "no worker listens")
      yield* worker()
      const clients = yield* Effect.all(Array.from({ length: 8 }, () => connect(login)))
      const open = (text: string) => Effect.promise(async () => void (await clients[0]?.query(text)))
      let written = 0
      const write = (until: number) =>
        Effect.promise(() =>
          Promise.all(
            clients.map(async (client) => {
              for (; Date.now() < until || written <= 50; written++) {
                await client.query(`insert into ${name} values (1)`)
              }
            })
          )
        )
      yield* write(Date.now() + 500)
      ;[notifications, written] = [0, 0]
      yield* write(Date.now() + 1_000)
      assert.isBelow(notifications, written / 20)
      // Does not notify: the worker is awake.
      yield* open("begin")
      yield* open(`insert into ${name} values (2)`)
      yield* eventually(waiting(id), (n) => n === 0, 20_000)
      const sent = sink.received.length - 1
      // Once it sleeps again, the next write must wake it, even while that transaction is open. Until then the worker waits
      // for the lock, half a second at a time.
      yield* eventually(
        sql(
          `select from pg_locks where locktype = 'advisory' and mode = 'ExclusiveLock' and not granted
             and (classid::int8 << 32 | objid::int8) = $1 and waitstart > clock_timestamp() - interval '100 milliseconds'
             and database = (select oid from pg_database where datname = current_database())`,
          [wakeUpLock]
        ),
        (waits) => waits.length > 0
      )
      notifications = 0
      yield* sql(`insert into ${name} values (2)`)
      yield* eventually(
        Effect.sync(() => notifications),
        (count) => count === 1
      )
      yield* open("commit")
      yield* Effect.promise(() => sink.count("/x", sent + 3, 5_000))
    })
  )

  it.effect("continue after an outage of the database without a restart", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      const name = yield* table
      const { id } = yield* hook(name, { url: `${sink.url}/x` })
      yield* worker()
      for (let round = 0; round < 3; round++) {
        yield* sql(`insert into ${name} select g from generate_series(1, 100) g`)
        yield* sql(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
        )
        yield* Effect.sleep("300 millis")
      }
      yield* eventually(waiting(id), (n) => n === 0, 30_000)
      const ids = new Set(sink.received.map(({ json }) => JSON.stringify(json.row) + json.timestamp))
      assert.lengthOf(Array.from(ids), 300)
    })
  )

  it.effect("of a payload that is too large are not sent, and do not block others", () =>
    Effect.gen(function* () {
      const sink = yield* receiver
      yield* sql("create table wide (t text)")
      const { id } = yield* hook("wide", { url: `${sink.url}/x` })
      yield* sql("insert into wide select repeat('x', 1024 * 1024 * g) from unnest(array[1, 11, 9, 9, 9, 1]) g")
      yield* worker({ WEBHOOK_TIMEOUT: "20s" })
      const rows = yield* logged(id, 6, 20_000)
      assert.strictEqual(rows.filter(({ status }) => status === 200).length, 5)
      const refused = rows.find(({ status }) => status === null)
      assert.strictEqual(refused?.["error"], "Not sent: the payload exceeds 10 MiB")
      assert.strictEqual(yield* waiting(id), 0)
    })
  )
})
