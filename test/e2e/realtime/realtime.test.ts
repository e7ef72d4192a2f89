import { afterAll, afterEach, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, assertRefused, replyOf, sql, talk } from "../../support/client.ts"
import {
  getRealtime,
  endFeeds,
  type FeedEvent,
  openFeed,
  refusedFeed,
  statusOf,
  subscribe
} from "../../support/realtime/feed.ts"
import { hs256 } from "../../support/access/jwts.ts"
import { until } from "../../support/service.ts"

const service = inject("service")
const key = service.service_role
const tables = ["heard", "closed", "hidden", "marks"]

beforeAll(async () => {
  for (const table of tables) {
    await sql(service, `create table rt_${table} (id int generated always as identity primary key, v text)`)
    await subscribe(service, `rt_${table}`)
  }
  await sql(service, "revoke select on rt_closed from anon, authenticated")
  await sql(service, "alter table rt_hidden enable row level security")
  await sql(service, "create policy all_rows on rt_hidden using (true)")
})
afterEach(endFeeds)
afterAll(async () => {
  for (const table of tables) await sql(service, `drop table rt_${table}`)
})

const write = (table: string, v: string) => sql(service, `insert into rt_${table} (v) values ($1)`, [v])
let marks = 0
/** The tables whose events each client received, once all have arrived. */
const receivedBy = async (feeds: ReadonlyArray<Awaited<ReturnType<typeof openFeed>>>) => {
  const mark = `mark ${marks++}`
  await write("marks", mark)
  const all = await Promise.all(feeds.map((feed) => feed.upTo(({ row }) => row?.["v"] === mark)))
  return all.map((events) =>
    events.slice(0, -1).flatMap(({ gap, table }) => (gap === true ? [] : table.replace("rt_", "")))
  )
}
const newKey = async (keyType: string) => {
  const made = await ask(service, "POST /api/keys", { key, body: { keyType } })
  const { key: record, secret } = made.json as { key: { id: number }; secret: string }
  return { secret, revoke: () => ask(service, `DELETE /api/keys/${record.id}`, { key }) }
}
const token = (seconds: number) =>
  hs256(JSON.stringify({ sub: "ann", exp: Math.floor(Date.now() / 1000) + seconds }), undefined, service.jwtSecret)

describe("connecting to /realtime", () => {
  it("requires a valid key, before the upgrade", async () => {
    const revoked = await newKey("service_role")
    await revoked.revoke()
    assertRefused(await refusedFeed(service, {}), 401, "INVALID_API_KEY")
    assertRefused(await refusedFeed(service, { key: "" }), 401, "INVALID_API_KEY")
    assertRefused(await refusedFeed(service, { key: `${key.slice(0, -1)}x` }), 401, "INVALID_API_KEY")
    assertRefused(await refusedFeed(service, { key: revoked.secret }), 401, "INVALID_API_KEY")
    assertRefused(await refusedFeed(service, { key: service.anon, token: token(-60) }), 401, "JWT_EXPIRED")
    assertRefused(await refusedFeed(service, { key: service.anon, query: { jwt: token(-60) } }), 401, "JWT_EXPIRED")
    assertRefused(await refusedFeed(service, { key: service.anon, query: { jwt: "" } }), 401, "JWT_INVALID")
    assertRefused(await refusedFeed(service, { query: { jwt: token(60) } }), 401, "INVALID_API_KEY")
    const two = { key: service.anon, token: token(60), query: { jwt: token(61) } }
    assertRefused(await refusedFeed(service, two), 400, "AMBIGUOUS_JWT")
    for (const name of ["access_token", "token", "JWT"]) {
      const refused = await refusedFeed(service, { key: service.anon, query: { [name]: token(60) } })
      assert.include(assertRefused(refused, 400, "INVALID_REQUEST")["error"], name)
    }
    const other = { key, headers: { apikey: service.anon } }
    assertRefused(await refusedFeed(service, other), 400, "AMBIGUOUS_API_KEY")
    assertRefused(await refusedFeed(service, { key, headers: { "x-api-key": service.anon } }), 400, "AMBIGUOUS_API_KEY")
    for (const since of ["", "-1", "1.5", "abc", "1e3", "9007199254740993", "99999999999999999"])
      assertRefused(await refusedFeed(service, { key, since }), 400, "INVALID_REQUEST")
    for (const headers of [{ apikey: key }, { "x-api-key": key }, { apikey: key, "x-api-key": key }])
      await openFeed(service, { headers })
    await openFeed(service, { key, headers: { apikey: key } })
  })

  it("is for WebSockets only, and has a route", async () => {
    assertRefused(await ask(service, "GET /realtime", { key }), 426, "UPGRADE_REQUIRED")
    assert.strictEqual((await ask(service, "GET /realtime", { key })).headers.get("upgrade"), "websocket")
    assertRefused(await ask(service, "GET /realtime"), 401)
    assertRefused(await ask(service, "POST /realtime", { key }), 405, "METHOD_NOT_ALLOWED")
    assertRefused(await ask(service, "GET /realtime/", { key }), 404)
  })

  it("survives invalid handshakes, and releases them", async () => {
    const head = (path: string, ...fields: ReadonlyArray<string>) =>
      [`GET ${path} HTTP/1.1`, "Host: x", "Connection: Upgrade", "Upgrade: websocket", ...fields, "", ""].join("\r\n")
    const path = `/realtime?apikey=${key}`
    const good = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    assert.strictEqual(replyOf(await talk(service, head(path))).status, 400)
    assert.strictEqual(replyOf(await talk(service, head(path, good[1] ?? "", "Sec-WebSocket-Version: 7"))).status, 400)
    assert.strictEqual(replyOf(await talk(service, head("/healthz", ...good, "Connection: close"))).status, 200)
    assert.strictEqual(replyOf(await talk(service, head("/realtime", ...good))).status, 401)
    // The default subprotocol of Java's client, which the service does not support.
    const sqlBody = '{"sql":"select 1 as n"}'
    const h2c = `POST /v1/sql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\napikey: ${key}\r\n`
    const fields = `Content-Type: application/json\r\nContent-Length: ${sqlBody.length}\r\n\r\n`
    assert.include(await talk(service, h2c + fields + sqlBody), '"rows":[{"n":1}]')
    // Sent right after the handshake: a frame that is too large, an unmasked one, and garbage.
    const tooLarge = Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 3, 4])
    const close = Buffer.from([0x88, 0x80, 1, 2, 3, 4])
    for (const frame of [tooLarge, Buffer.from([0x82, 0x01, 0x00]), Buffer.from("GET / HTTP/1.1\r\n\r\n"), close]) {
      const reply = await talk(service, Buffer.concat([Buffer.from(head(path, ...good)), frame]))
      assert.match(reply, /^HTTP\/1\.1 101 /)
    }
    const { connected_clients } = await until(
      () => statusOf(service),
      (status) => status.connected_clients === 0
    )
    assert.strictEqual(connected_clients, 0)
  })
})

describe("events by role", () => {
  it("service_role gets all; anon and authenticated get tables they may SELECT, with a JWT as policies let them", async () => {
    const feeds = await Promise.all([
      openFeed(service, { key }),
      openFeed(service, { key: service.anon }),
      openFeed(service, { key: service.anon, token: token(60) }),
      openFeed(service, { key, token: token(60) }),
      openFeed(service, { key: service.anon, since: (await newest()) ?? 0 }),
      // As a browser, which can set no headers.
      openFeed(service, { key: service.anon, query: { jwt: token(60) } })
    ])
    for (const table of ["heard", "closed", "hidden"]) await write(table, "x")
    const everything = ["heard", "closed", "hidden"]
    assert.deepStrictEqual(await receivedBy(feeds), [
      everything,
      ["heard"],
      ["heard", "hidden"],
      everything,
      ["heard"],
      ["heard", "hidden"]
    ])
    // Changes while clients are connected.
    await sql(service, "grant select on rt_closed to authenticated")
    await sql(service, "alter table rt_heard enable row level security")
    for (const table of ["heard", "closed", "hidden"]) await write(table, "x")
    assert.deepStrictEqual(await receivedBy(feeds), [
      everything,
      [],
      ["closed", "hidden"],
      everything,
      [],
      ["closed", "hidden"]
    ])
    await sql(service, "revoke select on rt_closed from authenticated")
    await sql(service, "alter table rt_heard disable row level security")
    await sql(service, "alter table rt_hidden disable row level security")
    for (const table of ["heard", "closed", "hidden"]) await write(table, "x")
    const opened = ["heard", "hidden"]
    assert.deepStrictEqual(await receivedBy(feeds), [everything, opened, opened, everything, opened, opened])
    await sql(service, "alter table rt_hidden enable row level security")
    await receivedBy(feeds)
    // Replays depend on the current privileges.
    const late = await openFeed(service, { key: service.anon, since: 0 })
    const [replayed = []] = await receivedBy([late])
    assert.sameMembers(
      [...new Set(replayed)].filter((table) => table !== "marks"),
      ["heard"]
    )
  })

  it("end with the key, within a second, and with the JWT", async () => {
    const { revoke, secret } = await newKey("anon")
    const [gone, stays, expires] = await Promise.all([
      openFeed(service, { key: secret }),
      openFeed(service, { key: service.anon, token: token(60) }),
      openFeed(service, { key: service.anon, token: token(-28) }) // accepted for 30 s after it expires
    ])
    const from = Date.now()
    await revoke()
    assert.match(await gone.closed, /^1008 /)
    assert.isBelow(Date.now() - from, 5_000)
    assert.match(await expires.closed, /^1008 /)
    assert.isBelow(Date.now() - from, 10_000)
    assert.strictEqual(stays.socket.readyState, stays.socket.OPEN)
  })
})

describe("a table with row-level security", () => {
  const tokenOf = (sub: string, claims: object = {}) =>
    hs256(JSON.stringify({ sub, exp: Math.floor(Date.now() / 1000) + 60, ...claims }), undefined, service.jwtSecret)
  const feedOf = (sub: string, claims?: object, since?: number) =>
    openFeed(service, { key: service.anon, token: tokenOf(sub, claims), ...(since === undefined ? {} : { since }) })
  /** Operation, row and old row of the events of a table so far. */
  const heardBy = async (table: string, ...feeds: ReadonlyArray<Awaited<ReturnType<typeof openFeed>>>) => {
    const mark = `mark ${marks++}`
    await write("marks", mark)
    const all = await Promise.all(feeds.map((feed) => feed.upTo(({ row }) => row?.["v"] === mark, 15_000)))
    return all.map((events) =>
      events.filter((event) => event.table === table).map(({ old_row, operation, row }) => [operation, row, old_row])
    )
  }
  const admin = (text: string) => sql(service, text)
  const made: Array<string> = []
  /** A table of rows that have an owner, with a policy. */
  const secured = async (name: string, policy: string, key = "primary key") => {
    made.push(name)
    await admin(`drop table if exists ${name}`)
    await admin(`create table ${name} (id bigint ${key}, owner text, v text)`)
    await admin(`alter table ${name} enable row level security`)
    await admin(`create policy own on ${name} for select to authenticated using (${policy})`)
    return subscribe(service, name)
  }
  const ofOwner = "owner = (select current_setting('request.jwt.sub', true))"
  afterAll(async () => {
    for (const name of made) await admin(`drop table if exists ${name} cascade`)
  })

  it("is heard by those who may read the row, with the key alone of old and deleted rows", async () => {
    const { warning } = await secured("rt_own", ofOwner)
    assert.match(String(warning), /^The table has row-level security: clients with a JWT receive only the rows/)
    const [ann, bob, anon, all] = await Promise.all([
      feedOf("ann"),
      feedOf("bob"),
      openFeed(service, { key: service.anon }),
      openFeed(service, { key })
    ])
    const id = "9007199254740993"
    await admin(`insert into rt_own values (${id}, 'ann', 'mine'), (2, 'bob', 'his')`)
    // Whether a row may be read is asked when its event is sent, so it must still be there.
    const heard = [await heardBy("rt_own", ann, bob, anon, all)]
    await admin(`update rt_own set v = 'changed' where owner = 'ann'`)
    heard.push(await heardBy("rt_own", ann, bob, anon, all))
    await admin("delete from rt_own where owner = 'bob'")
    await admin("truncate rt_own")
    heard.push(await heardBy("rt_own", ann, bob, anon))
    const [forAnn, forBob, forAnon] = [0, 1, 2].map((feed) => heard.flatMap((all) => all[feed] ?? []))
    const number = Number(id) // as JSON.parse reads it
    assert.deepStrictEqual(forAnn, [
      ["INSERT", { id: number, owner: "ann", v: "mine" }, null],
      ["UPDATE", { id: number, owner: "ann", v: "changed" }, { id: number }],
      ["DELETE", null, { id: 2 }]
    ])
    assert.deepStrictEqual(forBob, [
      ["INSERT", { id: 2, owner: "bob", v: "his" }, null],
      ["DELETE", null, { id: 2 }]
    ])
    assert.deepStrictEqual(forAnon, [])
  })

  it("is asked by claims, which count as they are in each socket's token, and again for a replay", async () => {
    await secured("rt_teams", "owner = current_setting('request.jwt.claims', true)::jsonb ->> 'team'")
    const [red, blue] = [await feedOf("ann", { team: "red" }), await feedOf("ann", { team: "blue" })]
    await admin("insert into rt_teams values (1, 'red', 'a')")
    const [forRed = [], forBlue] = await heardBy("rt_teams", red, blue)
    assert.strictEqual(forRed.length, 1)
    assert.deepStrictEqual(forBlue, [])
    const before = (await events()).find(({ table }) => table === "rt_teams")
    const since = (before?.id ?? 0) - 1
    const late = [await feedOf("ann", { team: "red" }, since), await feedOf("ann", { team: "blue" }, since)]
    assert.deepStrictEqual(
      (await heardBy("rt_teams", ...late)).map((some) => some.length),
      [1, 0]
    )
    await admin("revoke select on rt_teams from authenticated")
    await admin("insert into rt_teams values (2, 'red', 'a')")
    assert.deepStrictEqual(await heardBy("rt_teams", red), [[]])
    assert.match(
      String((await subscribe(service, "rt_teams"))["warning"]),
      /no grant and policy let authenticated select/
    )
  })

  it("is asked once for all sockets of a user, and what its policies write or set is undone", async () => {
    await admin("create sequence rt_asked")
    await admin("create table rt_audit (v text)")
    await admin(
      `create function rt_judge(owner text) returns boolean language plpgsql volatile security definer as $$
       declare seen text := current_setting('app.user', true); me text := current_setting('request.jwt.sub', true);
       begin
         perform nextval('rt_asked');
         insert into rt_audit values (me);
         -- A cache in the session, as some projects have it: that of another user must not count.
         if coalesce(seen, '') = '' then perform set_config('app.user', me, false); end if;
         if me = 'eve' then raise exception 'not for eve'; end if;
         return owner = current_setting('app.user');
       end $$`
    )
    await secured("rt_judged", "rt_judge(owner)")
    const many = await Promise.all(Array.from({ length: 100 }, () => feedOf("ann")))
    const [eve, bob] = [await feedOf("eve"), await feedOf("bob")]
    await admin("insert into rt_judged values (1, 'bob', 'x')")
    const counts = await heardBy("rt_judged", ...many, eve, bob)
    assert.deepStrictEqual([counts.flat().length, counts.at(-1)?.length], [1, 1])
    const [state] = await sql(
      service,
      "select last_value::int as asked, (select count(*)::int from rt_audit) as left from rt_asked"
    )
    assert.deepStrictEqual(state, { asked: 3, left: 0 })
    made.push("rt_audit")
    await admin("drop function rt_judge cascade")
    await admin("drop sequence rt_asked")
  })

  it("does not keep others from their events when a policy takes too long; those who wait for it get a gap", async () => {
    await secured("rt_slow", `${ofOwner} and case when owner = 'bob' then true else pg_sleep(20) is not null end`)
    await admin("insert into rt_slow values (0, 'ann', 'x')")
    const [ann, bob, all] = [
      await feedOf("ann", {}, await newest()),
      await feedOf("bob"),
      await openFeed(service, { key })
    ]
    const since = Date.now()
    await admin("insert into rt_slow values (1, 'ann', 'x'), (2, 'bob', 'y')")
    await all.upTo(({ row }) => row?.["id"] === 2)
    // The policy takes 20 s for the row of another owner.
    assert.isBelow(Date.now() - since, 5_000)
    assert.strictEqual((await bob.upTo(({ row }) => row?.["id"] === 2, 15_000)).length, 1)
    const first = Date.now() - since
    const [gap] = await ann.upTo(() => true, 15_000)
    assert.strictEqual(gap?.gap, true)
    // For a while it is not asked again, so that the others need not wait.
    const again = Date.now()
    await admin("insert into rt_slow values (3, 'bob', 'z')")
    await bob.upTo(({ row }) => row?.["id"] === 3)
    assert.isBelow(Date.now() - again, first)
  })

  it("whose policies wait for a lock sends a gap, and is heard again after it", async () => {
    made.push("rt_gate")
    await admin("create table rt_gate as select 1 as v")
    await admin("grant select on rt_gate to authenticated")
    await secured("rt_gated", "exists (select from rt_gate)")
    await admin("insert into rt_gated values (0, 'ann', 'x')")
    const ann = await feedOf("ann", {}, await newest())
    const held = ask(service, "POST /v1/sql/transaction", {
      key,
      body: { statements: [{ sql: "lock table rt_gate" }, { sql: "select pg_sleep(1.2)" }] }
    })
    await until(
      () => sql(service, "select from pg_locks where relation = 'rt_gate'::regclass and mode = 'AccessExclusiveLock'"),
      (locks) => locks.length > 0
    )
    await admin("insert into rt_gated values (1, 'ann', 'x')")
    const [gap] = await ann.upTo(() => true)
    assert.strictEqual(gap?.gap, true)
    await held
    // It is not asked for a while after that, which may not have passed.
    let next = 2
    const heard = await until(
      async () => {
        await admin(`insert into rt_gated values (${next++}, 'ann', 'x')`)
        return (await ann.upTo(() => true))[0]
      },
      (event) => event?.gap !== true
    )
    assert.strictEqual(heard?.row?.["id"], next - 1)
  })

  it("without a policy for clients is for service keys only, also the keys of deleted rows", async () => {
    await secured("rt_silent", "true")
    await admin("drop policy own on rt_silent")
    await admin("create policy others on rt_silent for insert to authenticated with check (true)")
    const [ann, all] = [await feedOf("ann"), await openFeed(service, { key })]
    await admin("insert into rt_silent values (1, 'ann', 'x')")
    await admin("delete from rt_silent")
    assert.deepStrictEqual(
      (await heardBy("rt_silent", ann, all)).map((some) => some.length),
      [0, 2]
    )
  })

  it("without a primary key is for service keys only", async () => {
    const { warning } = await secured("rt_loose", "true", "")
    assert.match(String(warning), /no primary key/)
    const [ann, all] = [await feedOf("ann"), await openFeed(service, { key })]
    await admin("insert into rt_loose values (1, 'ann', 'x')")
    await admin("delete from rt_loose")
    assert.deepStrictEqual(
      (await heardBy("rt_loose", ann, all)).map((some) => some.length),
      [0, 2]
    )
  })
})

const events = async (query = "") => (await getRealtime(service, `events${query}`)) as ReadonlyArray<FeedEvent>
const newest = async () => (await events())[0]?.id

describe("replay", () => {
  it("the log has the last 200, newest first, and can be cleared", async () => {
    await sql(service, "insert into rt_heard (v) select n::text from generate_series(1, 250) n")
    const all = await until(events, ([first]) => first?.row?.["v"] === "250")
    assert.deepStrictEqual(
      all.map(({ row }) => row?.["v"]),
      Array.from({ length: 200 }, (_, n) => String(250 - n))
    )
    assert.strictEqual((await statusOf(service)).event_log_size, 200)
    const [, second, , fourth] = all
    assert.deepStrictEqual(await events(`?since=${fourth?.id}`), all.slice(0, 3))
    const [last] = (await events("?since=0")).slice(-1)
    assert.deepInclude(last, { gap: true, since: 0 })
    assertRefused(await ask(service, "GET /api/realtime/events?since=abc", { key }), 400, "INVALID_REQUEST")
    for (const path of ["events", "status", "tables", "subscriptions"]) {
      assertRefused(await ask(service, `GET /api/realtime/${path}`, { key: service.anon }), 403)
      assertRefused(await ask(service, `GET /api/realtime/${path}`), 401)
    }

    const back = await openFeed(service, { key, since: second?.id ?? 0 })
    assert.deepStrictEqual(
      (await back.upTo(({ row }) => row?.["v"] === "250")).map(({ row }) => row?.["v"]),
      ["250"]
    )
    const cleared = await ask(service, "POST /api/realtime/clear-log", { key })
    assert.deepStrictEqual(cleared.json, { success: true })
    assert.deepStrictEqual(await events(), [])
    const gone = await openFeed(service, { key, since: second?.id ?? 0 })
    assert.deepInclude((await gone.upTo(() => true))[0], { gap: true, since: second?.id ?? 0 })
  })

  it("loses nothing and repeats nothing over 20 reconnects while rows are written", async () => {
    const done = new AbortController()
    let written = 0
    const writer = (async () => {
      while (!done.signal.aborted) await write("heard", String(++written))
    })()
    const received: Array<number> = []
    await until(newest, (id) => id !== undefined)
    let since = (await newest()) ?? 0
    for (let n = 0; n < 20; n++) {
      const feed = await openFeed(service, { key, since })
      const some = await feed.upTo(() => feed.messages.length > n % 5)
      feed.socket.terminate()
      // Messages received before the socket closed count, as they would for a client.
      for (const event of [...some, ...feed.messages]) {
        assert.notProperty(event, "gap")
        since = event.id
        if (event.table === "rt_heard") received.push(Number(event.row?.["v"]))
      }
    }
    done.abort()
    await writer
    const feed = await openFeed(service, { key, since })
    const last = String(written)
    if (received.at(-1) !== written)
      for (const { row } of await feed.upTo(({ row }) => row?.["v"] === last)) received.push(Number(row?.["v"]))
    const first = received[0] ?? 0
    assert.isAbove(received.length, 20)
    assert.deepStrictEqual(
      received,
      Array.from({ length: received.length }, (_, n) => first + n)
    )
    assert.strictEqual(received.at(-1), written)
  })
})

describe("many clients", () => {
  it("receive all events and nothing else, with 500 clients", async () => {
    const noneLeft = () =>
      until(
        () => statusOf(service),
        (status) => status.connected_clients === 0
      )
    await noneLeft()
    const feeds = await Promise.all(
      Array.from({ length: 500 }, (_, n) => openFeed(service, { key: n % 2 === 0 ? key : service.anon }))
    )
    assert.strictEqual((await statusOf(service)).connected_clients, 500)
    await write("heard", "to all")
    await Promise.all(feeds.map((feed) => feed.upTo(({ row }) => row?.["v"] === "to all")))
    for (const { messages, socket } of feeds) {
      assert.deepStrictEqual(messages, [])
      socket.close()
    }
    assert.strictEqual((await noneLeft()).connected_clients, 0)
  })
})
