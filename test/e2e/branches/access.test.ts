import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { hs256 } from "../../support/access/jwts.ts"
import { backupOver, backUp } from "../../support/backups/calls.ts"
import { branchSql, makeBranch, onBranch } from "../../support/branches/branches.ts"
import { ask, assertRefused, type Reply, sql } from "../../support/client.ts"
import { type Service, startService, until } from "../../support/service.ts"

let service: Service
beforeAll(async () => {
  service = await startService({
    env: { SVC_BRANCH_MAX_CONNECTIONS: "6", SVC_BRANCH_POOL_SIZE: "4" }
  })
  await sql(service, "create table notes (id int primary key, body text)")
  await sql(service, "insert into notes values (1, 'secret')")
  await sql(
    service,
    "create function nap(s float) returns int language plpgsql as 'begin perform pg_sleep(s); return 1; end'"
  )
})
afterAll(() => service[Symbol.asyncDispose]())

const call = (line: string, body?: unknown) =>
  ask(service, line, { key: service.service_role, ...(body === undefined ? {} : { body }) })

const jwt = () =>
  hs256(JSON.stringify({ sub: "u1", exp: Math.floor(Date.now() / 1000) + 600 }), undefined, service.jwtSecret)

/** A request to a branch of each kind of client that is not a service key: without and with a JWT. */
const asClients = (id: number, line: string, body?: unknown): ReadonlyArray<Promise<Reply>> =>
  [{}, { authorization: `Bearer ${jwt()}` }].map((more) =>
    ask(service, line, {
      key: service.anon,
      headers: { "x-svc-branch": String(id), ...more },
      ...(body === undefined ? {} : { body })
    })
  )

const lines: ReadonlyArray<readonly [string, unknown?]> = [
  ["GET /v1/db/notes"],
  ["HEAD /v1/db/notes"],
  ["POST /v1/db/notes", { id: 2 }],
  ["PATCH /v1/db/notes?id=eq.1", { body: "x" }],
  ["DELETE /v1/db/notes?id=eq.1"],
  ["POST /v1/db/rpc/nap", { s: 0 }],
  ["GET /v1/db/rpc/nap?s=0"],
  ["GET /v1/db/"]
]

const assertClosed = async (id: number) => {
  for (const [line, body] of lines) {
    for (const reply of await Promise.all(asClients(id, line, body))) {
      if (line.startsWith("HEAD")) assert.strictEqual(reply.status, 403)
      else assertRefused(reply, 403, "BRANCH_CLOSED")
      assert.notInclude(reply.text, "secret")
    }
  }
}

const readable = async (id: number) =>
  (await Promise.all(asClients(id, "GET /v1/db/notes?select=body&id=eq.1"))).map(({ status, text }) => [status, text])
const secretRow = [200, '[{"body":"secret"}]']

describe("access to a branch", () => {
  it("is for service keys alone by default, on every route that takes the header", async () => {
    const { access, id } = await makeBranch(service)
    assert.strictEqual(access, "service_role")
    assert.deepStrictEqual((await onBranch(service, id, "GET /v1/db/notes?select=body")).json, [{ body: "secret" }])
    await assertClosed(id)
    const withJwt = await ask(service, "GET /v1/db/notes?select=body", {
      key: service.service_role,
      headers: { "x-svc-branch": String(id), authorization: `Bearer ${jwt()}` }
    })
    assert.strictEqual(withJwt.status, 200, withJwt.text)
  })

  it("can be given when it is made, taken and given back, at once", async () => {
    const { access, id } = await makeBranch(service, "open", { access: "clients" })
    assert.strictEqual(access, "clients")
    for (let n = 0; n < 3; n++) {
      assert.deepStrictEqual(await readable(id), [secretRow, secretRow])
      const closed = await call(`PATCH /api/branches/${id}`, { access: "service_role" })
      assert.deepInclude(closed.json, { id, access: "service_role" })
      await assertClosed(id)
      const opened = await call(`PATCH /api/branches/${id}`, { access: "clients" })
      assert.deepInclude(opened.json, { id, access: "clients" })
    }
    for (const body of [{}, { access: "anon" }, { access: null }]) {
      assertRefused(await call(`PATCH /api/branches/${id}`, body), 400, "INVALID_REQUEST")
    }
    assertRefused(await call("PATCH /api/branches/987654", { access: "clients" }), 404, "BRANCH_NOT_FOUND")
    const anon = await ask(service, `PATCH /api/branches/${id}`, { key: service.anon, body: { access: "clients" } })
    assertRefused(anon, 403, "FORBIDDEN")
  })

  it("changes while statements of the branch go on", async () => {
    const { id } = await makeBranch(service, "busy", { access: "clients" })
    const naps = [0, 1].map((n) =>
      ask(service, "POST /v1/db/rpc/nap", {
        key: n === 0 ? service.service_role : service.anon,
        headers: { "x-svc-branch": String(id) },
        body: { s: 1.5 }
      })
    )
    await sleep(500)
    const closed = await call(`PATCH /api/branches/${id}`, { access: "service_role" })
    assert.strictEqual(closed.status, 200, closed.text)
    for (const { json, status, text } of await Promise.all(naps)) {
      assert.strictEqual(status, 200, text)
      assert.strictEqual(json, 1)
    }
  })

  it("is not given to a restored backup either, unless it is opened", async () => {
    const { id } = await backupOver(service, (await backUp(service)).id)
    const closed = await call(`POST /api/backups/${id}/restore`)
    assert.strictEqual(closed.status, 201, closed.text)
    await assertClosed((closed.json as { id: number }).id)
    const open = await call(`POST /api/backups/${id}/restore`, { access: "clients" })
    assert.strictEqual(open.status, 201, open.text)
    assert.deepStrictEqual(await readable((open.json as { id: number }).id), [secretRow, secretRow])
  })
})

describe("connections to branches", () => {
  const sessions = async () => {
    const [row] = await sql(
      service,
      "select count(*)::int as n from pg_stat_activity where datname like 'svc\\_branch\\_%' and backend_type = 'client backend'"
    )
    return Number(row?.["n"])
  }

  it("are bounded over all branches; a busy branch starves neither the others nor the main database", async () => {
    const busy = await makeBranch(service, "busy", { access: "clients" })
    const quiet = await makeBranch(service, "quiet", { access: "clients" })
    await branchSql(service, busy.id, "select 1")
    const flood = Array.from({ length: 30 }, () =>
      onBranch(service, busy.id, "POST /v1/db/rpc/nap", { s: 1 }, service.anon)
    )
    const others = Array.from({ length: 10 }, () => onBranch(service, busy.id, "POST /v1/db/rpc/nap", { s: 1 }))
    await sleep(300)
    let most = 0
    const watch = (async () => {
      for (let n = 0; n < 20; n++) {
        most = Math.max(most, await sessions())
        await sleep(50)
      }
    })()
    // Each waits for at most one of the naps.
    for (const key of [service.anon, service.service_role]) {
      const reply = await onBranch(service, quiet.id, "GET /v1/db/notes?select=body", undefined, key)
      assert.strictEqual(reply.status, 200, reply.text)
    }
    assert.strictEqual((await ask(service, "GET /v1/db/notes", { key: service.anon })).status, 200)
    await watch
    assert.isAtMost(most, 6)
    const replies = await Promise.all([...flood, ...others])
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      assert.include(["BRANCH_POOL_EXHAUSTED", "POOL_EXHAUSTED"], (reply.json as { code: string }).code, reply.text)
      assertRefused(reply, 503)
    }
    assert.isAbove(replies.filter(({ status }) => status === 200).length, 5)
  })

  it("pass to branches that are used from those that are not", async () => {
    const made = []
    for (let n = 0; n < 5; n++) made.push(await makeBranch(service, `turn ${n}`, { access: "clients" }))
    for (let round = 0; round < 3; round++) {
      for (const { id } of made) {
        const reply = await onBranch(service, id, "GET /v1/db/notes?select=body", undefined, service.anon)
        assert.strictEqual(reply.status, 200, reply.text)
        assert.strictEqual((await onBranch(service, id, "POST /v1/db/rpc/nap", { s: 0 })).status, 200)
        assert.deepStrictEqual(await branchSql(service, id, "select 1 as n"), [{ n: 1 }])
        assert.isAtMost(await until(sessions, (n) => n <= 6), 6)
      }
    }
  })
})
