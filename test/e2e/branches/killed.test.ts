import { mkdir, readdir, utimes, writeFile } from "node:fs/promises"
import { assert, describe, it } from "vitest"
import { branchSql, makeBranch } from "../../support/branches/branches.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { postmasterOf, type Service, startService, until } from "../../support/service.ts"

const leftovers = `select datname::text from pg_database where datname like 'svc\\_branch%'
  union all select rolname::text from pg_roles where rolname like 'svc\\_branch%'`

/** A service that is copying a large database. */
const startCopying = async () => {
  const slow = await startService()
  await sql(slow, "create table load (id int, text text)")
  for (let i = 0; i < 3; i++) {
    await sql(slow, "insert into load select n, repeat('x', 1000) from generate_series(1, 100000) n")
  }
  const body = { label: "never" }
  const creation = ask(slow, "POST /api/branches", { key: slow.service_role, body }).catch(() => undefined)
  // Counts the server's files, because the database accepts no connections now.
  await until(
    () => copies(slow.dataDir),
    (begun) => begun > 0
  )
  return { slow, creation }
}

/** The number of database directories, except those that every server has. */
const copies = async (dataDir: string) => {
  return (await readdir(`${dataDir}/postgres/base`)).filter((name) => Number(name) >= 16_384).length
}

describe("an interrupted creation of a branch", () => {
  it("leaves nothing behind when the copy times out", async () => {
    await using hasty = await startService({ env: { SVC_BRANCH_TIMEOUT: "1ms" } })
    const body = { label: "never" }
    const refused = await ask(hasty, "POST /api/branches", { key: hasty.service_role, body })
    assertRefused(refused, 503, "BRANCH_TIMEOUT")
    assert.deepStrictEqual(await sql(hasty, `select id::text from svc.branches union all ${leftovers}`), [])
  })

  for (const [how, kill] of Object.entries({
    "the service is killed": (service: Service) => service.stop("SIGKILL"),
    "the service and PostgreSQL are killed": async (service: Service) => {
      const postmaster = await postmasterOf(service)
      const ended = service.stop("SIGKILL")
      process.kill(postmaster, "SIGKILL")
      return ended
    }
  })) {
    it(`leaves nothing behind when ${how} during the copy`, async () => {
      const { creation, slow } = await startCopying()
      const { dataDir } = slow
      try {
        await kill(slow)
        await creation
        await using again = await startService({ dataDir })
        assert.deepStrictEqual(await sql(again, "select count(*)::int as n from load"), [{ n: 300_000 }])
        const gone = await until(
          () => sql(again, `select id::text from svc.branches union all ${leftovers}`),
          ({ length }) => length === 0,
          20_000
        )
        assert.deepStrictEqual(gone, [])
        assert.strictEqual(
          await until(
            () => copies(dataDir),
            (left) => left === 0
          ),
          0
        )
        await makeBranch(again)
      } finally {
        await slow[Symbol.asyncDispose]()
      }
    })
  }

  it("removes the files of a database that a killed PostgreSQL leaves behind, and nothing else", async () => {
    const first = await startService()
    const { dataDir } = first
    try {
      const { database_name } = await makeBranch(first)
      const before = await copies(dataDir)
      await first.stop()
      const orphaned = `${dataDir}/postgres/base/987654`
      await mkdir(orphaned)
      await writeFile(`${orphaned}/1259`, "a table")
      await utimes(orphaned, 1, 1)
      await using again = await startService({ dataDir })
      assert.strictEqual(
        await until(
          () => copies(dataDir),
          (left) => left === before
        ),
        before
      )
      const [row] = await sql(again, "select count(*)::int as n from pg_database where datname = $1", [database_name])
      assert.strictEqual(row?.["n"], 1)
    } finally {
      await first[Symbol.asyncDispose]()
    }
  })

  it("is completed before the service shuts down", async () => {
    const { creation, slow } = await startCopying()
    try {
      assert.strictEqual((await slow.stop("SIGTERM")).code, 0)
      const made = await creation
      if (made === undefined) throw new Error("The request was cut off")
      assert.strictEqual(made.status, 201, made.text)
      await using again = await startService({ dataDir: slow.dataDir })
      const { id } = made.json as { id: number }
      assert.deepStrictEqual(await branchSql(again, id, "select count(*)::int as n from load"), [{ n: 300_000 }])
    } finally {
      await slow[Symbol.asyncDispose]()
    }
  })
})
