import { Client } from "pg"
import { assert, describe, inject, it } from "vitest"
import { makePgBouncer } from "../../../bench/support/pgbouncer.ts"
import { branchSql, makeBranch } from "../../support/branches/branches.ts"
import { ask } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"
import { tagged, ways, witnessSql } from "../../support/rows/witness.ts"
import { isWithout } from "../../support/skips.ts"

const setup = `${witnessSql(inject("databaseUrl"))}
  create table written (id int primary key, note text);
  create trigger raises before insert or update or delete on written for each row execute function raising_row();
  create table deferred (id int primary key);
  create constraint trigger raises after insert on deferred deferrable initially deferred
    for each row execute function raising_row();
  grant all on written, deferred to anon, authenticated;
  grant execute on all functions in schema public to anon, authenticated;`

const prepare = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(setup)
  return client
}

/** Checks that each of these requests ran once, whatever it raised. `count`: of a tag in the database of the requests. */
const runOnce = async (
  service: InProcessService,
  headers: Readonly<Record<string, string>>,
  count: (tag: string) => Promise<number>
) => {
  let tags = 0
  for (const way of ways) {
    for (const line of ["rpc/raising", "written", "deferred"]) {
      for (let n = 1; n <= 2; n++) {
        const tag = `${++tags}`
        const body = line === "rpc/raising" ? { tag, state: way } : { id: tags }
        const more = { ...headers, ...tagged(tag, way) }
        const answer = await ask(service, `POST /v1/db/${line}`, { key: service.service_role, body, headers: more })
        assert.strictEqual(await count(tag), 1, `${line} with ${way}: ${answer.status} ${answer.text}`)
      }
    }
  }
}

describe("what may run user code runs once, whatever it raises,", () => {
  it("on a branch", async () => {
    await using service = await serveInProcess()
    const client = await prepare(service.databaseUrl)
    await client.end()
    const branch = await makeBranch(service)
    await runOnce(service, { "x-svc-branch": String(branch.id) }, async (tag) => {
      const [row] = await branchSql(service, branch.id, `select count(*)::int as n from witnessed where tag = '${tag}'`)
      return Number(row?.["n"])
    })
  }, 240_000)

  it.skipIf(isWithout("pgbouncer"))(
    "behind PgBouncer in transaction mode",
    async () => {
      await using pooler = await makePgBouncer(inject("databaseUrl"), { default_pool_size: 2 })
      await using service = await serveInProcess({}, (url) => ({
        DATABASE_URL: pooler.through(url),
        DATABASE_DIRECT_URL: url
      }))
      const client = await prepare(service.databaseUrl)
      try {
        await runOnce(service, {}, async (tag) => {
          const { rows } = await client.query<{ n: number }>(
            "select count(*)::int as n from witnessed where tag = $1",
            [tag]
          )
          return rows[0]?.n ?? -1
        })
      } finally {
        await client.end()
      }
    },
    240_000
  )
})
