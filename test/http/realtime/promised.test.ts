import { Client } from "pg"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "vitest"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { endFeeds, openFeed, subscribe } from "../../support/realtime/feed.ts"

describe("a policy with a function that is wrongly IMMUTABLE", { timeout: 60_000 }, () => {
  let service: InProcessService
  let owner: Client
  const tables = [
    ["by_sql", "owner = me()"],
    ["by_code", "owner = me_in_code()"],
    ["in_a_function", "mine(owner)"]
  ] as const
  const users = ["p", "q", "r", "s"]

  beforeAll(async () => {
    service = await serveInProcess()
    owner = new Client({ connectionString: service.databaseUrl })
    await owner.connect()
    await owner.query(`
      create function me() returns text immutable language sql as $$ select current_setting('request.jwt.sub', true) $$;
      create function me_in_code() returns text immutable language plpgsql as $$ begin return current_setting('request.jwt.sub', true); end $$;
      create function mine(name text) returns boolean stable language plpgsql as $$
        begin return name = me_in_code(); end $$`)
    for (const [table, condition] of tables) {
      await owner.query(`
        create table ${table} (id int primary key, owner text);
        alter table ${table} enable row level security;
        create policy own on ${table} for select using (${condition});
        grant select on ${table} to authenticated`)
      await subscribe(service, table)
    }
  })
  afterEach(endFeeds)
  afterAll(async () => {
    await owner.end()
    await service[Symbol.asyncDispose]()
  })

  it.each(tables)("sends each reader only its own rows: %s, %s", async (table) => {
    const feeds = await Promise.all(
      users.map((user) => openFeed(service, { key: service.anon, token: signedToken(service.jwtSecret, user) }))
    )
    let id = 0
    for (let round = 0; round < 30; round++) {
      for (const user of users) await owner.query(`insert into ${table} values ($1, $2)`, [++id, user])
    }
    for (const [at, user] of users.entries()) {
      await owner.query(`insert into ${table} values ($1, $2)`, [++id, user])
      const last = id
      const events = (await feeds[at]?.upTo(({ row }) => row?.["id"] === last)) ?? []
      assert.lengthOf(events, 31)
      assert.deepStrictEqual(new Set(events.map(({ row }) => row?.["owner"])), new Set([user]))
    }
  })

  it("keeps no reader's identity in a session when the declaration is mended", async () => {
    await owner.query("alter function me() stable; alter function me_in_code() stable")
    const feeds = await Promise.all(
      ["q", "r"].map((user) => openFeed(service, { key: service.anon, token: signedToken(service.jwtSecret, user) }))
    )
    for (const table of ["in_a_function", "by_code"]) {
      await owner.query(`insert into ${table} values (1001, 'p'), (1002, 'q'), (1003, 'r')`)
      for (const [at, [user, last]] of (
        [
          ["q", 1002],
          ["r", 1003]
        ] as const
      ).entries()) {
        const events = (await feeds[at]?.upTo(({ row, table: of }) => of === table && row?.["id"] === last)) ?? []
        assert.deepStrictEqual(
          events.map(({ row }) => row?.["owner"]),
          [user]
        )
      }
    }
  })
})
