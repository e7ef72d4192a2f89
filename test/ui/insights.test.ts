import { assert, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()

it("a finding's fix is opened in the workbench, run there, and the finding is gone", async () => {
  const table = `a_lonely_${process.pid}`
  await sql(service, `create table ${table} (id int primary key)`)
  const page = await openPage()
  await page.goto(at("/sql"))
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.insertText("select 'kept'")
  await page.goto(at("/insights"))
  const section = page.getByRole("region", { name: "Tables open to anon keys" })
  const item = section.getByRole("listitem", { name: table })
  // Other files of the run have tables of their own.
  const all = section.getByRole("button", { name: /^Show all/ })
  await section.waitFor()
  if (await all.isVisible()) await all.click()
  await item.getByText("critical").waitFor()
  await item.getByRole("button", { name: "Open in the workbench" }).click()
  await page.waitForURL(/\/sql$/)
  await page.getByRole("tab", { name: "Tables open to anon keys" }).waitFor()
  const editor = page.getByRole("textbox", { name: "SQL statement" })
  assert.strictEqual(await editor.textContent(), `alter table public.${table} enable row level security;`)
  await page.getByLabel("Allow writes").click()
  await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
  await page.getByRole("button", { name: "Run" }).click()
  await page.getByRole("heading", { name: "ALTER TABLE" }).waitFor()
  await page.getByRole("tab", { name: "Query 1" }).click()
  await page.getByText("select 'kept'").waitFor()

  await page.goto(at("/insights"))
  await page.getByRole("button", { name: "Check again" }).waitFor()
  await page.getByText("Checked", { exact: true }).waitFor()
  await assertCount(item, 0)
  assert.notInclude((await ask(service, "GET /api/insights", { key: service.service_role })).text, table)
})

it("a database without findings is well, and says what was not checked", async () => {
  const { json } = await ask(service, "GET /api/insights", { key: service.service_role })
  const page = await openPage()
  await page.route("**/api/insights", (route) => route.fulfill({ json: { ...(json as object), findings: [] } }))
  await page.goto(at("/insights"))
  await page.getByRole("heading", { name: "All is well" }).waitFor()
  const missing = page.getByRole("listitem", { name: "Slow statements" })
  await missing.getByText("alter system set shared_preload_libraries = 'pg_stat_statements'").waitFor()
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
  await missing.getByRole("button", { name: "Copy SQL" }).click()
  await page.getByText("SQL copied").waitFor()
})

it("a failure says so, and is tried again", async () => {
  const page = await openPage()
  let fails = true
  await page.route("**/api/insights", (route) =>
    fails
      ? route.fulfill({
          status: 403,
          json: { error: "Not for you", code: "FORBIDDEN", details: null, hint: null, request_id: "1" }
        })
      : route.continue()
  )
  await page.goto(at("/insights"))
  await page.getByRole("heading", { name: "The database could not be checked" }).waitFor()
  fails = false
  await page.getByRole("button", { name: "Try again" }).click()
  await page.getByRole("region", { name: "Not checked" }).waitFor()
})
