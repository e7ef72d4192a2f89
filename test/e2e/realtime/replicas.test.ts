import { createClient } from "@supabase/supabase-js"
import { Client } from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { WebSocket } from "ws"
import { hs256 } from "../../support/access/jwts.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { getRealtime, type FeedEvent, openFeed, statusOf, subscribe } from "../../support/realtime/feed.ts"
import { startOtherPostgres } from "../../support/postgres/external.ts"
import { type Service, startService, until } from "../../support/service.ts"

// Of its own: the roles of other databases on a shared server could not be dropped.
const own = await startOtherPostgres()
const server = new URL(own.url)
const database = "realtime_replicas"
const owner = "realtime_owner"
const as = (user: string) => {
  const url = new URL(server)
  url.pathname = database
  if (user !== "postgres") [url.username, url.password] = [user, "secret"]
  return url.href
}
const run = async (url: string, ...statements: ReadonlyArray<string>) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
const clean = () =>
  run(
    server.href,
    `drop database if exists ${database} with (force)`,
    `do $$ declare name text; begin
       for name in select rolname from pg_roles where rolname like 'svc\\_authenticator%' loop
         execute format('drop role %I', name);
       end loop;
     end $$`,
    ...["anon", "authenticated", owner].map((role) => `drop role if exists ${role}`)
  )
afterAll(() => own[Symbol.asyncDispose]())

describe("two services on one database", () => {
  let first: Service
  let second: Service
  beforeAll(async () => {
    await run(server.href, `create database ${database}`)
    first = await startService({ env: { DATABASE_URL: as("postgres") } })
    const started = await startService({ env: { DATABASE_URL: as("postgres") } })
    second = { ...started, service_role: first.service_role, anon: first.anon }
  })
  afterAll(async () => {
    await first[Symbol.asyncDispose]()
    await second[Symbol.asyncDispose]()
    await run(server.href, `drop database ${database} with (force)`)
  })

  it("send the same events with the same ids, share subscriptions, and replay each other's ids", async () => {
    const key = first.service_role
    await sql(first, "create table notes (id int generated always as identity primary key, v text)")
    const feeds = [await openFeed(first, { key }), await openFeed(second, { key })]
    const from = Date.now()
    const { channel } = await subscribe(first, "notes")
    const { active_channels } = await until(
      () => statusOf(second),
      (status) => status.active_channels.includes(String(channel))
    )
    assert.deepStrictEqual(active_channels, [String(channel)])
    assert.isBelow(Date.now() - from, 5_000)

    await Promise.all(
      [first, second].map(async (service, n) => {
        for (let i = 0; i < 50; i++) await sql(service, "insert into notes (v) values ($1)", [`${n} ${i}`])
      })
    )
    // Transactions that commit in another order than they wrote.
    const slow = sql(first, "with made as (insert into notes (v) values ('slow')) select pg_sleep(0.3)")
    for (let i = 0; i < 10; i++) await sql(second, "insert into notes (v) values ('quick')")
    await slow
    await sql(second, "insert into notes (v) values ('last')")
    const [ours = [], theirs = []] = await Promise.all(
      feeds.map((feed) => feed.upTo(({ row }) => row?.["v"] === "last"))
    )
    assert.strictEqual(ours.length, 112)
    assert.deepStrictEqual(theirs, ours)
    for (const { socket } of feeds) socket.terminate()
    const known = ours[60]?.id ?? 0
    const moved = await openFeed(second, { key, since: known })
    assert.deepStrictEqual(await moved.upTo(({ row }) => row?.["v"] === "last"), ours.slice(61))
    const [a, b] = (await Promise.all([first, second].map((service) => getRealtime(service, "events")))) as [
      ReadonlyArray<FeedEvent>,
      ReadonlyArray<FeedEvent>
    ]
    assert.deepStrictEqual(a, b)
    moved.socket.terminate()

    await ask(second, "POST /api/realtime/clear-log", { key })
    const cleared = await until(
      () => getRealtime(first, "events") as Promise<ReadonlyArray<FeedEvent>>,
      (all) => all.length === 0
    )
    assert.deepStrictEqual(cleared, [])
    await ask(second, "DELETE /api/realtime/subscribe", { key, body: { table: "notes" } })
    const left = await until(
      () => statusOf(first),
      (status) => status.active_channels.length === 0
    )
    assert.deepStrictEqual(left.active_channels, [])
  })
})

describe("a login that is not a superuser", () => {
  let service: Service
  beforeAll(async () => {
    await clean()
    await run(server.href, `create role ${owner} login createrole password 'secret'`)
    await run(server.href, `create database ${database} owner ${owner}`)
    await run(as("postgres"), "create table theirs (id int)", `grant select, insert on theirs to ${owner}`)
    service = await startService({
      env: { DATABASE_URL: as(owner), SVC_SERVICE_ROLE: owner, SVC_SUPABASE: "true" }
    })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it("subscribes to its own tables, and is rejected for others", async () => {
    const key = service.service_role
    const ask_ = (table: string) => ask(service, "POST /api/realtime/subscribe", { key, body: { table } })
    const body = assertRefused(await ask_("theirs"), 403, "TABLE_NOT_OWNED")
    assert.isString(body["hint"])
    assert.deepStrictEqual(await getRealtime(service, "subscriptions"), [])

    await run(as(owner), "create table mine (id int)")
    assert.strictEqual((await ask_("mine")).status, 201)
    const feed = await openFeed(service, { key })
    const anon = await openFeed(service, { key: service.anon })
    await sql(service, "insert into mine values (1)")
    await feed.upTo(({ row }) => row?.["id"] === 1)
    // DDL is not reported here: privileges are checked again after at most a second.
    await run(as(owner), "grant select on mine to anon")
    const received = await until(
      async () => {
        await sql(service, "insert into mine values (2)")
        return anon.messages.length
      },
      (count) => count > 0
    )
    assert.isAbove(received, 0)
    await run(as("postgres"), `grant trigger on theirs to ${owner}`)
    assert.strictEqual((await ask_("theirs")).status, 201)
    await sql(service, "insert into theirs values (3)")
    await feed.upTo(({ table }) => table === "theirs")
    for (const { socket } of [feed, anon]) socket.terminate()
  })

  it("has what the SQL of a Supabase project refers to, and serves its clients", async () => {
    assert.match(service.output(), /The role service_role does not bypass row-level security/)
    const mine = "owner = auth.uid()"
    for (const text of [
      "create table lists (id int primary key, owner uuid, v uuid default extensions.uuid_generate_v4())",
      "alter table lists enable row level security",
      `create policy own on lists to authenticated using (${mine}) with check (${mine})`,
      "grant select, insert on lists to authenticated",
      "alter publication supabase_realtime add table lists",
      `create policy mine on storage.objects to authenticated using (${mine}) with check (${mine})`,
      "create policy team on realtime.messages for select to authenticated using (realtime.topic() = 'team')",
      "insert into storage.buckets (id, name) values ('files', 'files')"
    ]) {
      await sql(service, text)
    }
    const sub = "11111111-1111-4111-8111-111111111111"
    const token = hs256(JSON.stringify({ sub, role: "authenticated" }), undefined, service.jwtSecret)
    const client = createClient(service.url, service.anon, {
      accessToken: () => Promise.resolve(token),
      realtime: { transport: WebSocket as never }
    })
    await client.realtime.setAuth()
    const heard: Array<string> = []
    const ready: Array<string> = []
    const channel = client
      .channel("team", { config: { private: true } })
      .on("postgres_changes", { event: "*", schema: "public", table: "lists" }, ({ new: row }) => {
        heard.push(`row ${(row as { id: number }).id}`)
      })
      .on("broadcast", { event: "made" }, ({ payload }) => heard.push(`message ${payload["n"]}`))
      .on("system", {}, ({ status }: { status: string }) => ready.push(status))
      .subscribe()
    await until(
      async () => ready,
      (all) => all.length > 0
    )
    assert.deepStrictEqual(ready, ["ok"])
    const feed = await openFeed(service, { key: service.anon, token })
    assert.isNull((await client.from("lists").insert({ id: 1, owner: sub })).error)
    await feed.upTo(({ row }) => row?.["id"] === 1)
    await sql(service, `select realtime.send('{"n": 2}', 'made', 'team')`)
    await until(
      async () => heard,
      (all) => all.length === 2
    )
    assert.sameMembers(heard, ["row 1", "message 2"])
    const files = client.storage.from("files")
    assert.isNull((await files.upload("a.txt", "x")).error)
    assert.strictEqual(await (await files.download("a.txt")).data?.text(), "x")
    feed.socket.terminate()
    await channel.unsubscribe()
  })
})
