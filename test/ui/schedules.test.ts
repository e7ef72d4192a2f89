import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()
let service: Service
beforeAll(async () => {
  service = await startService({})
})
afterAll(() => service[Symbol.asyncDispose]())

it("a schedule is made with a look at its next times, run, paused, changed, and deleted by its name", async () => {
  await sql(service, "create table notes (id int generated always as identity, at timestamptz default now())")
  await sql(service, "insert into notes default values")
  const page = await openPage({ on: service })
  await page.goto(at("/schedules", service))
  await page.getByText("No schedules").waitFor()
  await page.getByRole("table", { name: "Own jobs" }).getByText("audit.retention").waitFor()
  await page.getByRole("button", { name: "Create schedule" }).click()
  const form = page.getByRole("dialog", { name: "Create a schedule" })
  await form.getByLabel("Name", { exact: true }).fill("old notes")
  await form.getByLabel("Times", { exact: true }).fill("0 0 31 2 *")
  await form.getByText("there is no such day").waitFor()
  await form.getByLabel("Time zone").fill("Europe/Berlin")
  await form.getByLabel("Times", { exact: true }).fill("0 3 1 1 *")
  await form.getByRole("list", { name: "The next times" }).getByRole("listitem").nth(4).waitFor()
  await form.getByRole("button", { name: "Create schedule" }).click()
  await form.getByText("The SQL is missing").waitFor()
  await form.getByLabel("SQL").fill("delete from notes")
  await form.getByRole("button", { name: "Create schedule" }).click()

  await page.getByRole("heading", { name: "old notes", level: 2 }).waitFor()
  await page.getByText("No runs").waitFor()
  await page.getByRole("button", { name: "Run now" }).click()
  const runs = page.getByRole("table", { name: "Runs" })
  await runs.getByText("succeeded").waitFor()
  await runs.getByText("DELETE 1").waitFor()
  await page.getByRole("button", { name: "Pause" }).click()
  await page.getByText("paused", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Edit" }).click()
  const edit = page.getByRole("dialog", { name: "Change the schedule" })
  assert.strictEqual(await edit.getByLabel("SQL").inputValue(), "delete from notes")
  await edit.getByLabel("Name", { exact: true }).fill("all notes")
  await edit.getByRole("button", { name: "Save" }).click()
  await page.getByRole("heading", { name: "all notes", level: 2 }).waitFor()
  const { json } = await ask(service, "GET /api/schedules", { key: service.service_role })
  const [record] = json as ReadonlyArray<Readonly<Record<string, unknown>>>
  assert.deepInclude(record, { name: "all notes", active: false, timezone: "Europe/Berlin", cron: "0 3 1 1 *" })

  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByRole("dialog").getByRole("textbox").fill("all notes")
  await page.getByRole("button", { name: "Delete schedule" }).click()
  await page.getByText("No schedules").waitFor()
})

it("the service's own jobs are run, and can't be changed", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/schedules", service))
  await page.getByRole("link", { name: "audit.retention" }).click()
  await page.getByRole("heading", { name: "audit.retention", level: 2 }).waitFor()
  assert.strictEqual(await page.getByRole("button", { name: "Delete" }).count(), 0)
  await page.getByRole("button", { name: "Run now" }).click()
  await page.getByRole("table", { name: "Runs" }).getByText("succeeded").waitFor()
})
