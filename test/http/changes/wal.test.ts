import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type ChangeStatus } from "../../../src/domain/changes/ChangeStatus.ts"
import { ask } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { parseMetrics, valueOf } from "../../support/metrics.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { operationsUrl, until } from "../../support/service.ts"
import { type Receiver, startReceiver } from "../../support/webhooks/receiver.ts"

const env = { SVC_CHANGES: "wal", WEBHOOK_ALLOW_PRIVATE: "true", SVC_OPERATIONS_PORT: "0" }

let service: InProcessService
let sink: Receiver
let outside: Client

beforeAll(async () => {
  service = await serveInProcess(env)
  sink = await startReceiver()
  outside = new Client({ connectionString: service.databaseUrl, options: "-c timezone=UTC" })
  outside.on("error", () => undefined)
  await outside.connect()
  await outside.query(
    "create type mood as enum ('sad', 'good day'); create domain short as text check (length(value) < 100)"
  )
  // PostgreSQL makes a slot when the transactions of all databases that were running have ended.
  assert.isDefined(await until(slot, (found) => found !== undefined, 40_000))
})

afterAll(async () => {
  endFeeds()
  await outside.end()
  await service[Symbol.asyncDispose]()
  await sink[Symbol.asyncDispose]()
})

const rows = async (text: string, params: ReadonlyArray<unknown> = []) =>
  (await outside.query<Readonly<Record<string, unknown>>>(text, [...params])).rows

const slot = async () =>
  (
    await rows(`select slot_name, active_pid from pg_replication_slots where active and confirmed_flush_lsn is not null
        and database = current_database()`)
  )[0]

const statusOf = async () => {
  const reply = await ask(service, "GET /api/changes", { key: service.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json as ChangeStatus
}

/** Waits until a process reads again. */
const reads = () => until(slot, (found) => found !== undefined, 40_000)
/** What was logged since, once it has this text. */
const logged = async (since: number, text: string) => {
  const said = await until(
    async () => service.output().slice(since),
    (output) => output.includes(text),
    40_000
  )
  assert.include(said, text)
  return said
}

const hook = async (table: string, path: string, on = service) => {
  const reply = await ask(on, "POST /api/webhooks", {
    key: on.service_role,
    body: { table_name: table, events: ["INSERT", "UPDATE", "DELETE"], url: `${sink.url}${path}` }
  })
  assert.strictEqual(reply.status, 201, reply.text)
}

/** Triggers of the service on a table. */
const triggers = async (table: string) =>
  (
    await rows("select tgname from pg_trigger where tgrelid = $1::regclass and tgname like 'svc%' order by 1", [table])
  ).map(({ tgname }) => String(tgname))
const published = async (table: string) =>
  (await rows("select from pg_publication_tables where pubname = 'svc_changes' and tablename = $1", [table])).length ===
  1

describe("changes from the write-ahead log", () => {
  it("have the payloads of triggers, whatever the columns' types, without a trigger", async () => {
    await rows(`create table kinds (id bigint primary key, b boolean, i int, n numeric, f float8, t text, c char(4),
      j json, jb jsonb, d date, ts timestamp, tz timestamptz, iv interval, by bytea, u uuid, m mood, s short,
      ti int[], tt text[], tj jsonb[], tm mood[], ss short[], bx box[], r int4range, ip inet, "odd "" name" int,
      g int generated always as (i + 1) stored)`)
    await rows("alter table kinds alter t set storage external")
    await hook("kinds", "/kinds")
    await subscribe(service, "kinds")
    assert.deepStrictEqual(await triggers("kinds"), [])
    assert.isTrue(await published("kinds"))
    const feed = await openFeed(service, { key: service.service_role })
    const expected: Array<readonly [string, string]> = []
    const row = async () =>
      String((await rows("select row_to_json(k)::text as row from kinds k where id = 9007199254740993"))[0]?.["row"])

    await rows(`insert into kinds values (9007199254740993, true, -5, 'NaN', 1e300, repeat('ä"\\', 20000) || e'\\n\\t', 'ab',
      '{"a":  1}', '{"a": [1, null]}', '2026-02-03', '2026-02-03 04:05:06.789', '2026-02-03 04:05:06+02', '1 day 2 hours',
      '\\xdeadbeef', gen_random_uuid(), 'good day', 'short', '[0:1]={1,NULL}', array['a', null, 'NULL', 'x"y\\z,{}', ''],
      array['{"a": "b,}"}'::jsonb], '{sad,"good day"}', array['one', 'two']::short[],
      array[box '((1,2),(3,4))', box '((5,6),(7,8))'], '[1,5)', '10.0.0.1/8', 3)`)
    const inserted = await row()
    expected.push([inserted, "null"])
    await rows(
      "update kinds set i = null, b = false, ti = '{{1,2},{3,4}}', tt = '{}', tz = 'infinity', ts = '0044-03-15 01:02:03 BC', f = '-Infinity'"
    )
    const updated = await row()
    expected.push([updated, inserted])
    await rows("delete from kinds")
    expected.push(["null", updated])

    const received = await sink.count("/kinds", 3)
    for (const [n, operation] of ["INSERT", "UPDATE", "DELETE"].entries()) {
      const body = received
        .map((one) => one.body.toString("utf8"))
        .find((text) => text.startsWith(`{"event":"${operation}"`))
      const [now, before] = expected[n] ?? []
      const head = `{"event":"${operation}","schema":"public","table":"kinds","row":${now},"old_row":${before},"timestamp":"`
      assert.strictEqual(body?.slice(0, head.length), head)
      assert.match(String(body).slice(head.length), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"\}$/)
    }
    const events = await feed.upTo(({ operation }) => operation === "DELETE")
    assert.deepStrictEqual(
      events.map(({ row, old_row }) => [row, old_row]),
      expected.map(([now, before]) => [JSON.parse(now) as null, JSON.parse(before) as null])
    )
    assert.isTrue(events.every((event) => !("truncated" in event)))
    const answer = await ask(service, "GET /api/realtime/events", { key: service.service_role })
    assert.include(answer.text, `"row":${inserted},"old_row":null`, "numbers are exact")

    await rows("truncate kinds")
    const [truncated] = await feed.upTo(({ operation }) => operation === "TRUNCATE")
    assert.deepInclude(truncated, { schema: "public", table: "kinds", row: null, old_row: null })
  })

  it("are in the order of commits, and those of a transaction that is rolled back do not exist", async () => {
    await rows("create table ordered (n int)")
    await subscribe(service, "ordered")
    const feed = await openFeed(service, { key: service.service_role })
    const other = new Client({ connectionString: service.databaseUrl })
    await other.connect()
    await other.query("begin")
    await other.query("insert into ordered values (2)")
    await rows("insert into ordered values (1)")
    await other.query("commit")
    await other.end()
    await rows("begin")
    await rows("insert into ordered values (0)")
    await rows("rollback")
    await rows("insert into ordered values (3)")
    const events = await feed.upTo(({ row }) => row?.["n"] === 3)
    assert.deepStrictEqual(
      events.map(({ row }) => row?.["n"]),
      [1, 2, 3]
    )
    assert.isTrue(events.every(({ id }, n) => n === 0 || id > (events[n - 1]?.id ?? 0)))
  })

  it("are in order, and whole, also where large ones are among small ones", async () => {
    await rows("create table sized (n int, t text)")
    await subscribe(service, "sized")
    const feed = await openFeed(service, { key: service.service_role })
    await rows(
      "insert into sized select n, repeat('é', case n % 3 when 0 then 10000 else n end) from generate_series(1, 300) n"
    )
    const events = await feed.upTo(({ row }) => row?.["n"] === 300)
    assert.deepStrictEqual(
      events.map(({ row }) => row),
      Array.from({ length: 300 }, (_, n) => ({ n: n + 1, t: "é".repeat((n + 1) % 3 === 0 ? 10_000 : n + 1) }))
    )
  })

  it("come from triggers where the log does not have them, also after DDL, and none is missing in between", async () => {
    await rows(`create table parts (n int) partition by list (n); create table parts_1 partition of parts for values in (1);
      create unlogged table quick (n int); create type pair as (a int, b int); create table pairs (n int, p pair);
      create table turning (id int generated always as identity primary key, n int)`)
    for (const table of ["parts", "quick", "pairs", "turning"]) {
      await subscribe(service, table)
      await hook(table, `/${table}`)
      assert.strictEqual((await triggers(table)).length > 0, table !== "turning", table)
    }
    const feed = await openFeed(service, { key: service.service_role })
    await rows("insert into parts values (1); insert into quick values (1); insert into pairs values (1, '(1,2)')")
    await rows("insert into turning (n) values (1)")
    for (const table of ["parts", "quick", "pairs"]) assert.strictEqual((await sink.count(`/${table}`, 1)).length, 1)
    await feed.upTo(({ table }) => table === "turning")
    await rows("alter table turning add column p pair")
    await until(
      () => triggers("turning"),
      (found) => found.length > 1
    )
    await rows("insert into turning (n, p) values (2, '(3,4)')")
    const [event] = await feed.upTo(({ row }) => row?.["n"] === 2)
    assert.deepStrictEqual(event?.row?.["p"], { a: 3, b: 4 })
    assert.deepStrictEqual(await rows("select relreplident from pg_class where relname = 'turning'"), [
      { relreplident: "d" }
    ])
    await rows("alter table turning drop column p")
    await until(
      () => triggers("turning"),
      (found) => found.length === 0
    )
    await rows("alter table turning add column q text default 'new'")
    await rows("insert into turning (n) values (3)")
    const [last] = await feed.upTo(({ row }) => row?.["n"] === 3)
    assert.strictEqual(last?.row?.["q"], "new")
    assert.deepStrictEqual((await sink.count("/turning", 3)).map(({ json }) => json.row?.["n"]).sort(), [1, 2, 3])
    await rows("drop table turning; create table turning (n int)")
    await until(
      () => published("turning"),
      (is) => is
    )
    await rows("insert into turning values (4)")
    await feed.upTo(({ row, table }) => table === "turning" && row?.["n"] === 4)
  })

  it("are queued once each while connections of the log are killed", async () => {
    await rows("create table killed (n int)")
    await hook("killed", "/killed")
    for (let n = 0; n < 30; n++) {
      await rows("insert into killed select $1::int * 10 + g from generate_series(0, 9) g", [n])
      if (n % 10 === 5)
        await rows(
          "select pg_terminate_backend(active_pid) from pg_replication_slots where active and database = current_database()"
        )
    }
    const queued = () =>
      rows(
        "select payload::json->'row'->>'n' as n from svc.webhook_messages where payload like '%\"killed\"%' order by id"
      )
    const all = await until(queued, ({ length }) => length >= 300, 20_000)
    assert.deepStrictEqual(
      all.map(({ n }) => Number(n)),
      Array.from({ length: 300 }, (_, n) => n)
    )
  })

  it("are reported as missing when PostgreSQL has lost the slot, and continue", async () => {
    await rows("create table lossy (n int)")
    await subscribe(service, "lossy")
    const feed = await openFeed(service, { key: service.service_role, since: 0 })
    const name = (await until(slot, (found) => found !== undefined))?.["slot_name"]
    await until(
      async () => {
        await rows(
          "select pg_terminate_backend(active_pid) from pg_replication_slots where active and slot_name = $1",
          [name]
        )
        return outside.query("select pg_drop_replication_slot($1)", [name]).then(
          () => true,
          () => false
        )
      },
      (gone) => gone
    )
    const said = await until(
      async () => service.output(),
      (output) => output.includes("Changes are missing"),
      40_000
    )
    assert.match(
      said,
      /Changes are missing from webhooks and the realtime feed: the slot svc_changes_\d+ has disappeared/
    )
    await reads()
    await feed.upTo(({ gap }) => gap === true)
    await until(
      () => published("lossy"),
      (is) => is
    )
    await rows("insert into lossy values (1)")
    await feed.upTo(({ row, table }) => table === "lossy" && row?.["n"] === 1)
  })

  it("are measured: metrics, readiness and status say how far the reader is", async () => {
    const operations = { url: operationsUrl(service) }
    await reads()
    const ready = await until(
      () => ask(operations, "GET /readyz"),
      ({ text }) => text.includes('"ok","changes":"ok"')
    )
    assert.deepStrictEqual(ready.json, { status: "ok", changes: "ok" })
    assert.deepStrictEqual((await ask(service, "GET /readyz")).json, ready.json)
    const metrics = parseMetrics((await ask(operations, "GET /metrics")).text, "text")
    assert.strictEqual(valueOf(metrics, "svc_changes_read"), 1)
    assert.strictEqual(valueOf(metrics, "svc_changes_slot"), 1)
    assert.strictEqual(valueOf(metrics, "svc_changes_slot", { status: "reserved" }), 1)
    assert.strictEqual(valueOf(metrics, "svc_changes_limit_bytes"), 256 * 1024 * 1024)
    assert.isAbove(valueOf(metrics, "svc_changes_remaining_bytes"), 0)
    assert.isAbove(valueOf(metrics, "svc_changes_retained_bytes"), 0)
    assert.isBelow(valueOf(metrics, "svc_changes_lag_seconds"), 30)
    assert.strictEqual(valueOf(metrics, "svc_db_connections", { lane: "change_log" }), 2)
    const { health, lag_seconds, slot: name, source, wal_status } = await statusOf()
    assert.deepInclude({ health, source, wal_status }, { health: "ok", source: "wal", wal_status: "reserved" })
    assert.isNumber(lag_seconds)
    assert.match(String(name), /^svc_changes_\d+$/)
  })

  it("are reported as missing, with tables and webhooks, when the log exceeds what PostgreSQL keeps", async () => {
    await rows("create table exceeded (n int)")
    await hook("exceeded", "/exceeded")
    await subscribe(service, "exceeded")
    const [webhook] = await rows("select id from svc.webhooks where table_name = 'exceeded'")
    const feed = await openFeed(service, { key: service.service_role, since: 0 })
    await rows("insert into exceeded values (1)")
    assert.lengthOf(await sink.count("/exceeded", 1), 1)
    const at = service.output().length
    const name = (await reads())?.["slot_name"]
    // The slot needs the log from the beginning of the oldest transaction.
    const holder = new Client({ connectionString: service.databaseUrl })
    await holder.connect()
    await holder.query("begin")
    await holder.query("insert into exceeded values (2)")
    const fill = async (segments: number) => {
      for (let n = 0; n < segments; n++) {
        await rows("select pg_logical_emit_message(false, 'fill', 'the log'), pg_switch_wal()")
      }
    }
    await rows("select pg_log_standby_snapshot()")
    // Of 16 MB each; the server keeps 256 MB, because other tests write at the same time.
    await fill(9)
    await logged(at, "and drops it after")
    await fill(9)
    await rows("checkpoint")
    await logged(at, "Creating a replication slot, which waits for running transactions to end: PostgreSQL has dropped")
    await holder.query("commit")
    await holder.end()
    const said = await logged(at, "Changes are missing")
    assert.include(
      said,
      `PostgreSQL has dropped the log that the slot ${String(name)} needed, because it exceeded max_slot_wal_keep_size. The last ones were passed on at `
    )
    assert.match(
      said,
      new RegExp(`Tables: .*public\\.exceeded.* Webhooks that may lack deliveries: .*\\b${String(webhook?.["id"])}\\b`)
    )
    await feed.upTo(({ gap }) => gap === true)
    const [gap] = (await statusOf()).gaps
    assert.include(gap?.reason, "max_slot_wal_keep_size")
    assert.include(gap?.tables ?? [], "public.exceeded")
    assert.match(String(gap?.after_at), /^\d{4}-\d\d-\d\dT/)
    await reads()
    await until(
      () => published("exceeded"),
      (is) => is
    )
    await rows("insert into exceeded values (3)")
    const [event] = await feed.upTo(({ row, table }) => table === "exceeded" && row?.["n"] === 3)
    assert.isDefined(event)
    const delivered = await sink.count("/exceeded", 2)
    assert.deepStrictEqual(delivered.map(({ json }) => json.row?.["n"]).slice(-1), [3])
  })

  it("wait while the name of their slot belongs to something else, and the log says to what", async () => {
    const name = String((await reads())?.["slot_name"])
    const at = service.output().length
    await until(
      async () => {
        await rows(
          "select pg_terminate_backend(active_pid) from pg_replication_slots where active and slot_name = $1",
          [name]
        )
        return outside
          .query(
            `do $$ begin perform pg_drop_replication_slot('${name}'); perform pg_create_physical_replication_slot('${name}'); end $$`
          )
          .then(
            () => true,
            () => false
          )
      },
      (taken) => taken
    )
    await logged(
      at,
      `the replication slot ${name} belongs to something else (physical). Drop it if it is not needed: select pg_drop_replication_slot('${name}')`
    )
    assert.strictEqual((await ask(service, "GET /readyz")).status, 200)
    await rows("select pg_drop_replication_slot($1)", [name])
    await logged(at, `the slot ${name} has disappeared`)
    await reads()
  })

  it("reach the clients of every process, one of which reads the log", async () => {
    await rows("create table taken (n int)")
    await subscribe(service, "taken")
    await hook("taken", "/taken")
    const first = (await until(slot, (found) => found !== undefined))?.["active_pid"]
    const second = await serveInProcess(env, () => service.databaseUrl)
    try {
      const feed = await openFeed(second, { key: service.service_role })
      await rows("insert into taken values (1)")
      await feed.upTo(({ row }) => row?.["n"] === 1)
      assert.strictEqual((await slot())?.["active_pid"], first, "one process reads")
      assert.isTrue(await published("taken"))
    } finally {
      await second[Symbol.asyncDispose]()
    }
  })
})

describe("SVC_CHANGES=wal", () => {
  it("is refused for a login that may not replicate", async () => {
    // A role of this attempt alone, as another would fail by what a failed one left.
    const role = `no_replication_${process.pid}_${Date.now()}`
    const database = new URL(service.databaseUrl).pathname.slice(1)
    await rows(`create role ${role} login createrole password 'x'; grant create on database ${database} to ${role}`)
    const failed = await serveInProcess({ ...env, SVC_SERVICE_ROLE: role }, (url) => {
      const address = new URL(url)
      Object.assign(address, { username: role, password: "x" })
      return address.href
    }).then(
      async (started) => started[Symbol.asyncDispose]().then(() => "started"),
      (cause: unknown) => String(cause)
    )
    // Branches that other files make at this time grant rights to all roles.
    const isDropped = () =>
      rows(`revoke all on database ${database} from ${role}; drop role ${role}`).then(
        () => true,
        () => false
      )
    assert.isTrue(await until(isDropped, (done) => done))
    assert.match(
      failed,
      new RegExp(
        `SVC_CHANGES=wal requires a database login that may replicate. As an administrator: alter role "${role}" replication`
      )
    )
  })
})
