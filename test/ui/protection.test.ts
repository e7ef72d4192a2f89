import { readFile } from "node:fs/promises"
import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, it } from "vitest"
import { sql } from "../support/client.ts"
import { archivedUntilNow } from "../support/recovery/calls.ts"
import { type Service, startService, until } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { checkStates, type States } from "../support/ui/states.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
let service: Service
/** A second after which rows were deleted, as the field has it: browsers leave out seconds that are 0. */
let then: string
beforeAll(async () => {
  service = await startService({ env: { SVC_PITR: "true" } })
  await sql(service, "create table orders (id int primary key)")
  await sql(service, "create unlogged table cache (id int)")
  await sql(service, "insert into orders select generate_series(1, 50)")
  await until(
    () => archivedUntilNow(service),
    ({ earliest, latest }) =>
      Math.floor(Date.parse(latest ?? "") / 1000) > Math.ceil(Date.parse(earliest ?? "") / 1000) + 1,
    60_000
  )
  then = new Date().toISOString().slice(0, 19).replace(/:00$/, "")
  await until(
    () => Promise.resolve(Date.now()),
    (now) => now > Date.parse(`${then}Z`) + 1000,
    5000
  )
  await sql(service, "delete from orders where id > 20")
  await archivedUntilNow(service)
})
afterAll(() => service[Symbol.asyncDispose]())

const moment = () => new Date(`${then}Z`).toISOString()
const open = async (page: Page) => {
  await page.goto(at("/protection", service))
  await page.getByRole("img", { name: /^Times that can be restored/ }).waitFor()
}
const restoring = async (page: Page) => {
  await page.getByRole("button", { name: "Restore to a time" }).click()
  return page.getByRole("dialog", { name: "Restore to a time" })
}

it("rows come back in a branch of a second, which is chosen within both ends and whose changes are shown", async () => {
  const page = await openPage({ on: service, timezoneId: "Europe/Berlin" })
  await open(page)
  await page.getByRole("button", { name: "Restore to a time" }).focus()
  await page.keyboard.press("Enter")
  const form = page.getByRole("dialog", { name: "Restore to a time" })
  const time = form.getByLabel("Time (UTC)")
  await form.getByText("In your time zone, Europe/Berlin").waitFor()
  await page.waitForFunction(() => document.activeElement?.matches("input[type=datetime-local]"))
  await time.fill("2020-01-01T00:00:01")
  await form.getByText(/^The earliest time that can be restored is .* UTC/).waitFor()
  assert.strictEqual(await time.getAttribute("aria-invalid"), "true")
  await form.getByText("Choose a time that can be restored").waitFor()
  await form.getByRole("button", { name: "Restore", exact: true }).click()
  await time.fill("2099-01-01T00:00:01")
  await form.getByText(/^The latest time that can be restored is .* UTC/).waitFor()

  await time.fill(then)
  const changed = form.getByRole("table", { name: "Changed tables" }).getByRole("row", { name: /orders/ })
  await changed.getByText("30", { exact: true }).waitFor()
  assert.strictEqual(await form.getByLabel("Label").inputValue(), `As of ${moment().slice(0, 19).replace("T", " ")}Z`)
  await form.getByLabel("Label").fill("before the delete")
  await form.getByLabel("Expires").selectOption("in an hour")
  await form.getByRole("button", { name: "Restore", exact: true }).click()
  const once = page.getByRole("dialog", { name: "The restore has started" })
  assert.match((await once.locator("code").textContent()) ?? "", /^postgres:\/\/svc_branch_/)
  await once.getByRole("button", { name: "I have kept it" }).click()
  const row = page.getByRole("table", { name: "Restored branches" }).getByRole("row", { name: /before the delete/ })
  await row.getByRole("progressbar").waitFor()
  await row.getByRole("button", { name: "Work on it" }).click({ timeout: 60_000 })
  await page.getByText("Protection is always of the main database").waitFor()
  await page.getByRole("link", { name: "Tables" }).click()
  await page.getByRole("link", { name: "orders" }).click()
  await page.getByText("50 rows").waitFor()
})

it("a restore is cancelled, and a time is chosen on the line or pasted from a log", async () => {
  const page = await openPage({ on: service })
  await open(page)
  await page.getByRole("img", { name: /^Times that can be restored/ }).click({ position: { x: 2, y: 10 } })
  const form = page.getByRole("dialog", { name: "Restore to a time" })
  const time = form.getByLabel("Time (UTC)")
  assert.isBelow(Date.parse(`${await time.inputValue()}Z`), Date.parse(`${then}Z`))
  await time.evaluate(
    (element, text) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData("text", text)
      element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
    },
    moment().replace("T", " ").replace("Z", "+00")
  )
  await page.waitForFunction(
    (value) => document.querySelector<HTMLInputElement>("input[type=datetime-local]")?.value === value,
    then
  )
  await form.getByLabel("Label").fill("to cancel")
  await form.getByRole("button", { name: "Restore", exact: true }).click()
  await page.getByRole("button", { name: "I have kept it" }).click()
  const row = page.getByRole("row", { name: /to cancel/ })
  await row.getByRole("button", { name: "Cancel" }).click()
  await page.getByRole("button", { name: "Cancel restore" }).click()
  await row.waitFor({ state: "detached" })
})

it("the recovery key is asked for until it is confirmed, shown once, copied and saved", async () => {
  const page = await openPage({ on: service })
  await open(page)
  const missing = page.getByRole("region", { name: "What is not protected" })
  await missing.getByText("There is no recovery key").waitFor()
  await missing.getByText("The archive is on the same disk as the data", { exact: false }).first().waitFor()
  await missing.getByText("alter table public.cache set logged;").waitFor()
  await missing.getByRole("button", { name: "Make a recovery key" }).click()
  const once = page.getByRole("dialog", { name: "Keep this recovery key elsewhere" })
  const key = (await once.locator("code.secret").textContent()) ?? ""
  assert.match(key, /^(?:\w{4}-){13}\w{4}$/)
  const downloading = page.waitForEvent("download")
  await once.getByRole("button", { name: "Download" }).click()
  assert.include(await readFile(await (await downloading).path(), "utf8"), key)
  await once.getByRole("button", { name: "Confirm later" }).click()

  await missing.getByText("The recovery key is not confirmed").waitFor()
  assert.notInclude(await page.content(), key)
  await missing.getByRole("button", { name: "Confirm the key" }).click()
  const form = page.getByRole("dialog", { name: "Confirm the recovery key" })
  await form.getByLabel("Recovery key").fill("ABCD")
  await form.getByRole("button", { name: "Confirm", exact: true }).click()
  await form.getByText("RECOVERY_KEY_WRONG").waitFor()
  await form.getByLabel("Recovery key").fill(key)
  await form.getByRole("button", { name: "Confirm", exact: true }).click()
  await missing.getByText("The recovery key is not confirmed").waitFor({ state: "detached" })
  const kept = page.getByRole("region", { name: "Recovery key" })
  await kept.getByRole("button", { name: "Make another key" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Make another key" }).click()
  await once.getByRole("button", { name: "I have kept it" }).click()
  await once.waitFor({ state: "detached" })
  await kept.waitFor()
})

it("without point-in-time recovery the page says how to switch it on", async () => {
  const page = await openPage()
  await page.goto(at("/protection"))
  const missing = page.getByRole("region", { name: "What is not protected" })
  await missing.getByText("SVC_PITR=true").waitFor()
  await assertCount(page.getByRole("button", { name: "Restore to a time" }), 0)
  await page.keyboard.press("Control+k")
  await page.keyboard.type("protection")
  await page.getByRole("option", { name: /Protection/ }).waitFor()
})

const hours = (count: number) => new Date(Date.now() - count * 3_600_000).toISOString()
const tried = (id: number, status: string, error: string | null) => ({
  id,
  status,
  error,
  started_at: hours(id),
  finished_at: status === "running" ? null : hours(id),
  target_time: hours(id + 1),
  seconds: status === "running" ? null : 95,
  tables: status === "passed" ? 48 : null,
  rows: status === "passed" ? 18_234_234 : null
})

/** A week of an archive that lost some of it, which no test can wait for. */
const week = async (page: Page) => {
  await page.route("**/api/backups/pitr", async (route) => {
    if (route.request().method() !== "GET") return route.continue()
    const response = await route.fetch()
    const json = (await response.json()) as object
    return route.fulfill({
      json: {
        ...json,
        earliest: hours(160),
        spans: [
          { from: hours(160), to: hours(60) },
          { from: hours(50), to: new Date().toISOString() }
        ],
        base_backups: [160, 110, 50, 20].map((at) => ({
          id: String(at),
          started_at: hours(at),
          completed_at: hours(at),
          size_bytes: 5e9,
          stored_bytes: 1e9
        })),
        unversioned_buckets: ["photos"]
      }
    })
  })
  const drills = [
    tried(1, "running", null),
    tried(20, "failed", "Log is missing from 0/5A000000 on"),
    tried(44, "passed", null)
  ]
  await page.route("**/api/backups/pitr/drills", (route) =>
    route.fulfill(route.request().method() === "POST" ? { status: 202, json: {} } : { json: { drills } })
  )
  await open(page)
}

it("trial restores are listed with their results, and run from the page", async () => {
  const page = await openPage({ on: service })
  await week(page)
  const list = page.getByRole("table", { name: "Trial restores" })
  await list.getByRole("row", { name: /passed .* 18,234,234/ }).waitFor()
  await list.getByRole("row", { name: /failed Log is missing/ }).waitFor()
  await page.getByRole("region", { name: "What is not protected" }).getByText("The last trial restore failed").waitFor()
  await page.unroute("**/api/backups/pitr/drills")
  let runs = 0
  await page.route("**/api/backups/pitr/drills", (route) => {
    if (route.request().method() === "POST") runs++
    return route.fulfill({ json: { drills: runs === 0 ? [] : [tried(1, "running", null)] } })
  })
  await page.reload()
  await page.getByText("No restore has been tried yet").waitFor()
  await page
    .getByRole("region", { name: "Trial restores" })
    .getByRole("button", { name: "Run a trial restore" })
    .click()
  await list.getByText("running").waitFor()
  assert.strictEqual(runs, 1)
})

it("an archive that can't be read any more takes the place of what could be restored", async () => {
  const page = await openPage({ on: service })
  await open(page)
  const body = { error: "The archive of the write-ahead log is unusable", code: "PITR_ARCHIVE_UNUSABLE" }
  const json = { ...body, details: "its disk is not mounted", hint: null, request_id: "1" }
  await page.route("**/api/backups/pitr", (route) => route.fulfill({ status: 503, json }))
  await page.getByRole("heading", { name: "The archive could not be read" }).waitFor()
  await assertCount(page.locator(".verdict"), 0)
})

const states: States = {
  "protection, a week with a gap": week,
  "protection, restore to a time": async (page) => {
    await open(page)
    const form = await restoring(page)
    await form.getByLabel("Time (UTC)").fill(then)
    await form.getByRole("table", { name: "Changed tables" }).waitFor()
  },
  "protection, a recovery key that is replaced": async (page) => {
    await open(page)
    await page.getByRole("button", { name: "Make another key" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Make another key" }).click()
    await page.getByRole("dialog", { name: "Keep this recovery key elsewhere" }).waitFor()
  }
}
checkStates(states, { on: () => service })
