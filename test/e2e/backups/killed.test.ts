import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it, vi } from "vitest"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { backUp, backupOver, showBackup } from "../../support/backups/calls.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { dumpKinds } from "../../support/dumps/kinds.ts"
import { postmasterOf, type Service, startService, until } from "../../support/service.ts"

vi.setConfig({ testTimeout: 120_000 })

const files = (dataDir: string) =>
  readdir(join(dataDir, "backups")).then(
    (names) => names.sort(),
    () => []
  )

/** Locks the table, so that dumps of it wait; returns a function that releases the lock. */
const hold = async (service: Service) => {
  const holding = new AbortController()
  const lock = ask(service, "POST /v1/sql", {
    key: service.service_role,
    body: { sql: "do $$ begin lock table notes; perform pg_sleep(50); end $$" },
    signal: holding.signal
  }).catch(() => undefined)
  await until(
    () =>
      sql(
        service,
        "select from pg_locks where relation = 'notes'::regclass and mode = 'AccessExclusiveLock' and granted"
      ),
    ({ length }) => length > 0
  )
  return async () => {
    holding.abort()
    await lock
  }
}

interface Kill {
  readonly how: string
  readonly kill: (service: Service) => Promise<unknown>
}
const onlyService: Kill = { how: "the service is killed", kill: (service) => service.stop("SIGKILL") }
const both: Kill = {
  how: "the service and PostgreSQL are killed",
  kill: async (service) => {
    const postmaster = await postmasterOf(service)
    const ended = service.stop("SIGKILL")
    process.kill(postmaster, "SIGKILL")
    return ended
  }
}

const branchesSql = `select datname::text as name from pg_database where datname like 'svc\\_branch%'
  union all select rolname::text from pg_roles where rolname like 'svc\\_branch%'
  union all select database_name from svc.branches`

for (const [at, [name, tools]] of Object.entries(dumpKinds).entries()) {
  // What is left behind differs by tool and by kill, but not by their combination.
  const [ofBackup, ofRestore] = at === 0 ? [onlyService, both] : [both, onlyService]
  const env = { ...tools, SVC_SQL_TIMEOUT: "1m" }

  describe(`a backup by ${name}`, () => {
    it("runs beside at most one other, and stops when cancelled or deleted", async () => {
      await using service = await startService({ env })
      const call = (line: string, body?: unknown) =>
        ask(service, line, { key: service.service_role, ...(body === undefined ? {} : { body }) })
      await sql(service, "create table notes as select n as id from generate_series(1, 1000) n")
      const release = await hold(service)
      const [first, second] = [await backUp(service, "first"), await backUp(service, "second")]
      const third = await call("POST /api/backups", { label: "third" })
      assertRefused(third, 409, "BACKUP_LIMIT")
      assert.match(third.headers.get("retry-after") ?? "", /^\d+$/)

      const cancelled = await call(`POST /api/backups/${first.id}/cancel`)
      assert.strictEqual(cancelled.status, 200, cancelled.text)
      assert.deepInclude(cancelled.json, { status: "failed", error: "Cancelled" })
      assertRefused(await call(`POST /api/backups/${first.id}/cancel`), 409, "BACKUP_NOT_RUNNING")
      assertRefused(await call(`POST /api/backups/${first.id}/restore`), 409, "BACKUP_NOT_COMPLETED")
      assert.deepStrictEqual((await call(`DELETE /api/backups/${second.id}`)).json, { success: true })
      assert.deepStrictEqual(await files(service.dataDir), [])
      // No session of the backups waits for the lock any longer.
      const left = await until(
        () => sql(service, "select from pg_locks where relation = 'notes'::regclass and not granted"),
        ({ length }) => length === 0
      )
      assert.deepStrictEqual(left, [])
      await release()
    })

    it(`is marked as failed at the next start when ${ofBackup.how}`, async () => {
      const service = await startService({ env })
      const { dataDir } = service
      try {
        // Incompressible data makes the backup slow.
        await sql(
          service,
          `create table notes as select n as id, (select string_agg(md5(random()::text || m), '')
             from generate_series(1, 40) m where n > 0) as text from generate_series(1, 30000) n`
        )
        const cut = await backUp(service, "cut off")
        const sizes = await until(
          async () => {
            const partial = (await files(dataDir)).filter((name) => /(dump|zst)\.partial$/.test(name))
            return Promise.all(partial.map(async (name) => (await stat(join(dataDir, "backups", name))).size))
          },
          ([size = 0]) => size > 0
        )
        assert.strictEqual(sizes.length, 1)
        await ofBackup.kill(service)
        await using again = await startService({ dataDir, env })
        assert.deepInclude(await backupOver(again, cut.id), {
          status: "failed",
          error: "The service ended while the backup was being made"
        })
        const left = await until(
          () => files(dataDir),
          ({ length }) => length === 0
        )
        assert.deepStrictEqual(left, [])
        const next = await backupOver(again, (await backUp(again, "next")).id)
        assert.strictEqual(next.status, "completed", next.error ?? "")
      } finally {
        await service[Symbol.asyncDispose]()
      }
    })
  })

  describe(`a restore by ${name}`, () => {
    /** A service that is restoring a backup, which takes a minute. */
    const restoring = async () => {
      const service = await startService({ env })
      await sql(
        service,
        `create function lag() returns int language plpgsql as $$ begin
           perform pg_sleep(case when current_database() like 'svc\\_branch%' then 60 else 0 end); return 1; end $$`
      )
      await sql(service, "create materialized view lagging as select lag()")
      const { id } = await backUp(service)
      const whole = await backupOver(service, id)
      assert.strictEqual(whole.status, "completed", whole.error ?? "")
      const reply = await ask(service, `POST /api/backups/${id}/restore`, {
        key: service.service_role,
        headers: { prefer: "respond-async" }
      })
      assert.strictEqual(reply.status, 202, reply.text)
      const branch = reply.json as Branch
      await until(
        () =>
          sql(service, "select from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'", [
            branch.database_name
          ]),
        ({ length }) => length > 0,
        20_000
      )
      return { service, id, branch }
    }
    const branchesLeft = (service: Service) =>
      until(
        () => sql(service, branchesSql),
        ({ length }) => length === 0,
        25_000
      )

    it(`is marked as failed after the next start when ${ofRestore.how}`, async () => {
      const { branch, id, service } = await restoring()
      const { dataDir } = service
      try {
        const before = await files(dataDir)
        assert.deepInclude((await showBackup(service, id)).restores[0], {
          branch_id: branch.id,
          status: "in_progress",
          error: null
        })
        await ofRestore.kill(service)
        await using again = await startService({ dataDir, env })
        assert.deepStrictEqual(await branchesLeft(again), [])
        const { restores } = await until(
          () => showBackup(again, id),
          ({ restores }) => restores[0]?.status !== "in_progress",
          20_000
        )
        assert.deepInclude(restores[0], {
          branch_id: null,
          status: "failed",
          error: "The service ended while the backup was being restored"
        })
        assert.deepStrictEqual(await files(dataDir), before)
      } finally {
        await service[Symbol.asyncDispose]()
      }
    })

    it("is cancelled by dropping its branch, and continues when its client disconnects", async () => {
      const { branch, id, service } = await restoring()
      try {
        const call = (line: string) => ask(service, line, { key: service.service_role })
        assertRefused(await call(`DELETE /api/backups/${id}`), 409, "BACKUP_IN_USE")
        assert.deepStrictEqual((await call(`DELETE /api/branches/${branch.id}`)).json, { success: true })
        const { restores } = await until(
          () => showBackup(service, id),
          ({ restores }) => restores[0]?.status !== "in_progress"
        )
        assert.deepInclude(restores[0], { branch_id: null, status: "failed" })
        assert.match(restores[0]?.error ?? "", /Cancelled/)
        assert.deepStrictEqual(await branchesLeft(service), [])

        const leaving = new AbortController()
        const left = ask(service, `POST /api/backups/${id}/restore`, {
          key: service.service_role,
          signal: leaving.signal
        }).catch(() => undefined)
        await until(
          () => showBackup(service, id),
          ({ restores }) => restores.length === 2
        )
        leaving.abort()
        await left
        await sleep(500)
        const [going] = (await showBackup(service, id)).restores
        assert.strictEqual(going?.status, "in_progress")
        assert.deepStrictEqual((await call(`DELETE /api/branches/${going?.branch_id}`)).json, { success: true })
        assert.deepStrictEqual(await branchesLeft(service), [])
      } finally {
        await service[Symbol.asyncDispose]()
      }
    })
  })
}
