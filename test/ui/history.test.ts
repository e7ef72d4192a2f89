import { assert, inject, it } from "vitest"
import { readFile } from "node:fs/promises"
import { ask, sql } from "../support/client.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

const service = inject("service")
checkPages()

const label = `seen in the history ${process.pid}`
const create = async () => {
  const body = { keyType: "anon", label }
  const { json } = await ask(service, "POST /api/keys", { key: service.service_role, body })
  return (json as { readonly key: { readonly id: number } }).key.id
}

it("shows who changed what, what it was before, and filters by the address", async () => {
  const id = await create()
  await ask(service, `PATCH /api/keys/${id}`, { key: service.service_role, body: { rate_limit: 7 } })
  const page = await openPage()
  await page.goto(at("/history"))
  await page.getByLabel("About").selectOption({ label: "API keys" })
  await page.waitForURL(/action=key/)
  const list = page.getByRole("table", { name: "History" })
  await list
    .getByRole("button", { name: `key:${id}`, exact: true })
    .first()
    .click()
  await page.waitForURL(new RegExp(`subject=key(:|%3A)${id}`))
  await page.getByRole("button", { name: `Remove filter key:${id}` }).waitFor()
  await assertCount(list.getByRole("row"), 3)
  await page.reload()
  await list.getByRole("button", { name: `Show details of key.update key:${id}` }).click()
  const dialog = page.getByRole("dialog")
  const change = dialog.getByRole("region", { name: "What changed" })
  assert.include((await change.textContent()) ?? "", '"rate_limit": 7')
  await dialog.getByRole("link", { name: "The latest requests of the key" }).waitFor()
  await dialog.getByRole("button", { name: "Close" }).click()

  await page.getByLabel("Outcome").selectOption("refused")
  await page.getByText("No entry matches").waitFor()
  await page.getByRole("button", { name: "Clear filters" }).click()
  await page.waitForURL(/\/history$/)
  await list.waitFor()
})

it("saves what matches as CSV, all pages of it", async () => {
  const id = await create()
  const page = await openPage()
  await page.route("**/api/audit?*", (route) => {
    // Pages of one entry, so that there are several.
    const url = new URL(route.request().url())
    url.searchParams.set("limit", "1")
    return route.continue({ url: url.href })
  })
  await ask(service, `DELETE /api/keys/${id}`, { key: service.service_role })
  await page.goto(at(`/history?subject=key:${id}`))
  await page.getByRole("button", { name: "Show more" }).click()
  await page.getByRole("button", { name: `Show details of key.create key:${id}` }).waitFor()
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()])
  assert.strictEqual(saved.suggestedFilename(), "history.csv")
  const lines = (await readFile(await saved.path(), "utf8")).trim().split("\r\n")
  assert.deepStrictEqual(
    lines.map((line) => line.split(",")[6]),
    ["action", "key.revoke", "key.create"]
  )
})

it("what is done in the dashboard is in its history", async () => {
  const page = await openPage()
  await page.goto(at("/history?action=dashboard"))
  const row = page.getByRole("row", { name: /dashboard\.sign_in/ }).first()
  await row.getByText("dashboard", { exact: true }).waitFor()
  await row.getByTitle("Show what this one did").click()
  await page.getByRole("button", { name: /^Remove filter by key:\d+$/ }).waitFor()
})

it("shows what pages of the dashboard ran and saved, and who did, without the values", async () => {
  const table = `recorded_${process.pid}`
  await sql(service, `create table ${table} (id int primary key, note text)`)
  await sql(service, `insert into ${table} select i from generate_series(1, 3) i`)
  const page = await openPage()
  await page.goto(at(`/tables/public/${table}`))
  await page.getByRole("gridcell").first().waitFor()
  await page.getByRole("grid").focus()
  await page.keyboard.press("ArrowRight")
  for (const text of ["hidden one", "hidden two"]) {
    await page.keyboard.type(text)
    await page.keyboard.press("Enter")
  }
  await page.keyboard.press("Control+s")
  await page.getByRole("dialog", { name: "Review changes" }).getByRole("button", { name: "Save" }).click()
  await page.getByText("2 rows saved").waitFor()
  await page.goto(at("/sql"))
  await page.getByRole("switch", { name: "Allow writes" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.insertText(`drop table ${table}`)
  await page.keyboard.press("Escape")
  await page.keyboard.press("Control+Enter")
  await page.getByRole("heading", { name: "DROP TABLE" }).waitFor()
  await page.goto(at("/history"))
  await page.getByLabel("About").selectOption({ label: "SQL of the dashboard" })
  const details = page.getByRole("button", { name: /^Show details of sql/ })
  await page.getByRole("button", { name: "Show details of sql.run database" }).first().click()
  const statements = page.getByRole("dialog").getByRole("region", { name: "Statements" })
  assert.strictEqual(await statements.textContent(), `drop table ${table}`)
  await assertAccessible(page, "a statement of the history")
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click()
  await details.nth(1).click()
  const text = (await page.getByRole("dialog").textContent()) ?? ""
  assert.include(text, `update "public"."${table}" set "note" = $1`)
  assert.include(text, "Rows1, 1")
  assert.include(text, "in the dashboard")
  assert.notInclude(text, "hidden")
})
