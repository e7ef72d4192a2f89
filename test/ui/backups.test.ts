import { readFile, rm } from "node:fs/promises"
import { createHash } from "node:crypto"
import { join } from "node:path"
import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
let service: Service
beforeAll(async () => {
  service = await startService({ env: { SVC_BACKUP_VERIFY: "all" } })
  await sql(service, "create table parts (id int primary key)")
  await sql(service, "insert into parts select generate_series(1, 50)")
})
afterAll(() => service[Symbol.asyncDispose]())

it("a backup brings back in a branch what was deleted, and is downloaded whole", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/backups", service))
  await page.getByText("No backups").waitFor()
  await page.getByRole("button", { name: "Start backup" }).click()
  await page.getByLabel("Label").fill("before the sale")
  await page.getByRole("dialog").getByRole("button", { name: "Start backup" }).click()
  const row = page.getByRole("row", { name: /before the sale/ })
  await row.getByText("completed").waitFor({ timeout: 40_000 })

  const downloading = page.waitForEvent("download")
  await row.getByRole("link", { name: "Download" }).click()
  const file = await (await downloading).path()
  const [backup] = (await ask(service, "GET /api/backups", { key: service.service_role })).json as ReadonlyArray<{
    readonly id: number
    readonly sha256: string
  }>
  assert.strictEqual(
    createHash("sha256")
      .update(await readFile(file))
      .digest("hex"),
    backup?.sha256
  )

  await sql(service, "delete from parts")
  await row.getByRole("button", { name: "Restore" }).click()
  const form = page.getByRole("dialog", { name: "Restore into a branch" })
  assert.strictEqual(await form.getByLabel("Label").inputValue(), "Restore of before the sale")
  await form.getByRole("button", { name: "Restore" }).click()
  const once = page.getByRole("dialog", { name: "The restore has started" })
  assert.match((await once.locator("code").textContent()) ?? "", /^postgres:\/\/svc_branch_/)
  await once.getByRole("button", { name: "I have kept it" }).click()
  const restore = page.getByRole("table", { name: "Restores" })
  await restore.getByText("completed").waitFor({ timeout: 40_000 })
  await restore.getByRole("button", { name: "Work on it" }).click()
  await page.getByText("You work on the branch").waitFor()
  await page.getByRole("link", { name: "Tables" }).click()
  await page.getByRole("link", { name: "parts" }).click()
  await page.getByText("50 rows").waitFor()

  await page.goto(at(`/backups/${backup?.id}?branch=main`, service))
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type before the sale to confirm").fill("before the sale")
  await page.getByRole("button", { name: "Delete backup" }).click()
  await page.getByText("No backups").waitFor()
})

it("a backup in progress is cancelled, and a failed one says why", async () => {
  // pg_dump waits for a lock on a table that another session holds.
  const lock = ask(service, "POST /v1/sql/transaction", {
    key: service.service_role,
    body: { statements: [{ sql: "lock table parts in access exclusive mode" }, { sql: "select pg_sleep(8)" }] }
  })
  const page = await openPage({ on: service })
  await page.goto(at("/backups", service))
  await page.getByRole("button", { name: "Start backup" }).click()
  await page.getByLabel("Label").fill("to cancel")
  await page.getByRole("dialog").getByRole("button", { name: "Start backup" }).click()
  const row = page.getByRole("row", { name: /to cancel/ })
  await row.getByRole("progressbar").waitFor()
  await row.getByRole("button", { name: "Cancel" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Cancel backup" }).click()
  await row.getByText("Cancelled", { exact: true }).waitFor()
  await assertCount(row.getByRole("link", { name: "Download" }), 0)
  await assertCount(row.getByRole("button", { name: "Restore" }), 0)
  await row.getByRole("button", { name: "Delete" }).click()
  await page.getByRole("button", { name: "Delete backup" }).click()
  await row.waitFor({ state: "detached" })
  await lock
})

it(
  "a backup shows that it was verified, why it can't be restored, and that its file is gone",
  { timeout: 150_000 },
  async () => {
    await sql(service, "create function sum_of(a int) returns int language sql leakproof as 'select a'")
    const start = async (label: string) =>
      ((await ask(service, "POST /api/backups", { key: service.service_role, body: { label } })).json as { id: number })
        .id
    const failing = await start("cannot be restored")
    const page = await openPage({ on: service })
    await page.goto(at(`/backups/${failing}`, service))
    await page.getByText("function public.sum_of(integer) is LEAKPROOF").waitFor()
    await page.getByText("only superuser can define a leakproof function").waitFor({ timeout: 60_000 })
    await sql(service, "drop function sum_of(int)")

    await start("is good")
    await page.goto(at("/backups", service))
    const row = page.getByRole("row", { name: /is good/ })
    await row.getByText("verified", { exact: true }).waitFor({ timeout: 60_000 })
    await assertCount(row.getByRole("button", { name: "Restore" }), 1)
    await rm(join(service.dataDir, "backups"), { recursive: true })
    await row.getByText("file missing").waitFor({ timeout: 30_000 })
    await assertCount(row.getByRole("button", { name: "Restore" }), 0)
    await assertCount(row.getByRole("link", { name: "Download" }), 0)
  }
)

it("a backup that does not exist is said", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/backups/424242", service))
  await page.getByText("No such backup").waitFor()
})
