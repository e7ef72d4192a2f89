import { Client } from "pg"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "vitest"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { endFeeds, type FeedEvent, openFeed, subscribe } from "../../support/realtime/feed.ts"
import { until } from "../../support/service.ts"

describe.each(["trigger", "wal"])("values of changes from SVC_CHANGES=%s", (source) => {
  let service: InProcessService
  let owner: Client

  beforeAll(async () => {
    service = await serveInProcess({ SVC_CHANGES: source })
    owner = new Client({ connectionString: service.databaseUrl })
    await owner.connect()
    await owner.query(`
      create table notes (id int primary key, owner text, body text, at timestamptz default now(), n numeric default 1.50, j json default '{"b":1,"a":[1.0]}', d float8 default 0.1);
      alter table notes enable row level security;
      create policy own on notes for select using (owner = current_setting('request.jwt.sub', true));
      create table members (name text);
      create table shared (id int primary key, body text);
      alter table shared enable row level security;
      create policy members on shared for select using (exists (select from members where name = current_setting('request.jwt.sub', true)));
      grant select on notes, shared, members to authenticated`)
    if (source === "wal") {
      const active =
        "select from pg_replication_slots where active and confirmed_flush_lsn is not null and database = current_database()"
      await until(
        async () => (await owner.query(active)).rows.length,
        (count) => count === 1,
        40_000
      )
    }
    await subscribe(service, "notes")
    await subscribe(service, "shared")
  })
  afterEach(endFeeds)
  afterAll(async () => {
    await owner.end()
    await service[Symbol.asyncDispose]()
  })

  const feedOf = (user: string) => openFeed(service, { key: service.anon, token: signedToken(service.jwtSecret, user) })
  type Received = Pick<FeedEvent, "operation" | "row"> & { readonly truncated?: boolean }
  const shown = ({ operation, row, truncated }: Received) => [operation, row?.["body"], truncated === true]

  /** What a reader has heard of, up to a row that is only for it. */
  const heard = async (feed: Awaited<ReturnType<typeof feedOf>>, user: string, id: number) => {
    await owner.query("insert into notes (id, owner, body) values ($1, $2, 'end')", [id, user])
    return (await feed.upTo(({ row }) => row?.["id"] === id)).slice(0, -1) as ReadonlyArray<Received>
  }

  it("are not sent to the owner of a later version", async () => {
    const [u1, u2] = [await feedOf("u1"), await feedOf("u2")]
    await owner.query(
      "begin; insert into notes (id, owner, body) values (1, 'u1', 'S3CRET'); update notes set owner = 'u2', body = 'given' where id = 1; commit"
    )
    const events = await heard(u2, "u2", 2)
    assert.notInclude(JSON.stringify(events), "S3CRET")
    assert.deepStrictEqual(events.map(shown), [
      ["INSERT", undefined, true],
      ["UPDATE", "given", false]
    ])
    assert.deepStrictEqual(events[0]?.row, { id: 1 })
    assert.deepStrictEqual(await heard(u1, "u1", 3), [])
  })

  it("are sent whole when the row still has them, whatever the types", async () => {
    const ann = await feedOf("ann")
    await owner.query("set timezone = 'Asia/Tokyo'")
    await owner.query("insert into notes (id, owner, body) values (10, 'ann', 'mine')")
    await owner.query("reset timezone")
    assert.deepStrictEqual((await heard(ann, "ann", 11)).map(shown), [["INSERT", "mine", false]])
  })

  it("of a wide row are those that fit, if the row still has them", async () => {
    const [u1, u2] = [await feedOf("u1"), await feedOf("u2")]
    const wide = `repeat(md5(random()::text), ${source === "wal" ? 200_000 : 1_000})`
    await owner.query(`insert into notes (id, owner, body) values (30, 'u1', ${wide})`)
    const [first] = await heard(u1, "u1", 31)
    assert.deepInclude(first?.row, { id: 30, owner: "u1" })
    assert.notProperty(first?.row, "body")
    assert.isTrue(first?.truncated)
    await owner.query(
      `begin; insert into notes (id, owner, body) values (32, 'u1', ${wide}); update notes set owner = 'u2' where id = 32; commit`
    )
    assert.deepStrictEqual(
      (await heard(u2, "u2", 33)).map(({ operation, row }) => [operation, row?.["id"], row?.["owner"]]),
      [
        ["INSERT", 32, undefined],
        ["UPDATE", 32, "u2"]
      ]
    )
  })

  it("that cannot be compared are replaced by the key, and keep no event back", async () => {
    const ann = await feedOf("ann")
    await owner.query(
      String.raw`insert into notes (id, owner, body, j) values (40, 'ann', 'odd', '"\u0000"'), (41, 'ann', 'half', '"\ud800"'), (42, 'ann', 'large', '1e400000'), (43, 'ann', 'plain', '{}')`
    )
    const events = await heard(ann, "ann", 44)
    assert.deepStrictEqual(
      events.map(({ row }) => row?.["id"]),
      [40, 41, 42, 43]
    )
    assert.deepStrictEqual(
      events.slice(0, 3).map(({ row }) => row),
      [{ id: 40 }, { id: 41 }, { id: 42 }]
    )
    await owner.query("insert into notes (id, owner, body) values (45, 'ann', 'whole')")
    assert.deepStrictEqual((await heard(ann, "ann", 46)).map(shown), [["INSERT", "whole", false]])
  })

  it("follow policies that read another table", async () => {
    await owner.query("insert into members values ('bob')")
    const [bob, eve] = [await feedOf("bob"), await feedOf("eve")]
    await owner.query("begin; insert into shared values (1, 'first'); update shared set body = 'second'; commit")
    assert.deepStrictEqual((await heard(bob, "bob", 20)).map(shown), [
      ["INSERT", undefined, true],
      ["UPDATE", "second", false]
    ])
    assert.deepStrictEqual(await heard(eve, "eve", 21), [])
  })

  it("are only ever those of versions that the reader may read", { timeout: 60_000 }, async () => {
    const users = ["p", "q", "r"]
    const feeds = await Promise.all(users.map(feedOf))
    const pick = () => users[Math.floor(Math.random() * users.length)] ?? "p"
    let version = 0
    for (let round = 0; round < 40; round++) {
      const id = 1000 + (round % 7)
      await owner.query("begin")
      for (let n = Math.ceil(Math.random() * 4); n > 0; n--) {
        const to = pick()
        await owner.query(
          "insert into notes (id, owner, body) values ($1, $2, $3) on conflict (id) do update set owner = excluded.owner, body = excluded.body",
          [id, to, `${to} ${version++}`]
        )
      }
      await owner.query(Math.random() < 0.2 ? "rollback" : "commit")
    }
    let whole = 0
    for (const [at, user] of users.entries()) {
      for (const { row } of await heard(feeds[at] ?? assert.fail(), user, 2000 + at)) {
        const body = row?.["body"]
        if (body === undefined) continue
        whole++
        assert.match(String(body), new RegExp(`^${user} `), `received by ${user}`)
        assert.strictEqual(row?.["owner"], user)
      }
    }
    assert.isAbove(whole, 0)
  })
})
