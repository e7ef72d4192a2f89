import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { Client } from "pg"
import { signedToken } from "../../../bench/isolation/callers.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { makePgBouncer, type PgBouncer } from "../../support/postgres/pgbouncer.ts"
import { until } from "../../support/service.ts"

let pooler: PgBouncer
let service: InProcessService
const started = new AsyncDisposableStack()

/** One session for each login, so that each caller gets that of the caller before. */
const onePerLogin = { default_pool_size: 1 }

const behind = (pooler: PgBouncer) => (url: string) => ({ DATABASE_URL: pooler.through(url), DATABASE_DIRECT_URL: url })

const setup = `
  create table notes (id int generated always as identity primary key, owner text default current_setting('request.jwt.sub', true), body text);
  alter table notes enable row level security;
  create policy own on notes using (owner = current_setting('request.jwt.sub', true));
  grant all on notes to anon, authenticated`

beforeAll(async () => {
  pooler = started.use(await makePgBouncer(inject("databaseUrl"), onePerLogin))
  service = started.use(await serveInProcess({}, behind(pooler)))
  for (const statement of setup.split(";\n")) await sql(service, statement)
})
afterAll(() => started.disposeAsync())

const asUser = (user: string, line: string, body?: unknown) =>
  ask(service, line, { key: service.anon, token: signedToken(service.jwtSecret, user), ...(body !== undefined && { body }) })

describe("behind PgBouncer in transaction mode", () => {
  it("serves rows with claims", async () => {
    for (const user of ["ann", "bob"]) {
      const made = await asUser(user, "POST /v1/db/notes", { body: `${user}'s` })
      assert.strictEqual(made.status, 201, made.text)
    }
    for (const user of ["ann", "bob", "ann"]) {
      const { json } = await asUser(user, "GET /v1/db/notes?select=owner,body")
      assert.deepStrictEqual(json, [{ owner: user, body: `${user}'s` }])
    }
    assert.deepStrictEqual((await ask(service, "GET /v1/db/notes", { key: service.anon })).json, [])
  })
})
