import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()
let service: Service
beforeAll(async () => {
  service = await startService()
  await sql(service, "create table parts (id int primary key, colour text)")
  await sql(service, "insert into parts values (1, 'red')")
})
afterAll(() => service[Symbol.asyncDispose]())

const columns = async () =>
  (await sql(service, "select column_name from information_schema.columns where table_name = 'parts' order by 1")).map(
    ({ column_name }) => column_name
  )

it("a column is dropped on a branch, and the main database keeps it", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/branches", service))
  await page.getByText("No branches").waitFor()
  await page.getByRole("button", { name: "Create branch" }).click()
  const form = page.getByRole("dialog", { name: "Create a branch" })
  await form.getByRole("button", { name: "Create branch" }).click()
  await form.getByText("A branch needs a label").waitFor()
  await form.getByLabel("Label").fill("without colours")
  await form.getByRole("button", { name: "Create branch" }).click()
  const once = page.getByRole("dialog", { name: "The branch is being created" })
  const connection = (await once.locator("code").textContent({ timeout: 40_000 })) ?? ""
  assert.match(connection, /^postgres:\/\/svc_branch_\w+:[\w-]{20,}@/)
  await once.getByRole("button", { name: "I have kept it" }).click()

  const row = page.getByRole("row", { name: /without colours/ })
  await row.getByText(/^(?:in 23 hours|tomorrow)$/).waitFor()
  await row.getByRole("button", { name: "Work on it" }).click()
  await row.getByText("you work on it").waitFor()
  // Seen on every page.
  const edge = await page.getByRole("banner").evaluate((bar) => getComputedStyle(bar).boxShadow)
  assert.match(edge, /inset/)
  await page.getByRole("link", { name: "Webhooks" }).click()
  await page.getByText("You work on the branch").waitFor()
  await page.getByRole("link", { name: "SQL workbench" }).click()
  await page.getByRole("switch", { name: "Allow writes" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.press("Control+a")
  await page.keyboard.insertText("alter table parts drop column colour")
  await page.keyboard.press("Escape")
  await page.keyboard.press("Control+Enter")
  await page.getByRole("heading", { name: "ALTER TABLE" }).waitFor()
  await page.getByRole("link", { name: "Tables" }).click()
  await page.getByRole("link", { name: "parts" }).click()
  await page.getByRole("columnheader", { name: /^id/ }).waitFor()
  assert.strictEqual(await page.getByRole("columnheader", { name: /colour/ }).count(), 0)
  assert.deepStrictEqual(await columns(), ["colour", "id"])

  await page.getByRole("link", { name: "Branches" }).click()
  await row.getByRole("button", { name: "Drop" }).click()
  await page.getByLabel("Type without colours to confirm").fill("without colours")
  await page.getByRole("button", { name: "Drop branch" }).click()
  await page.getByText("No branches").waitFor()
  await page.getByRole("link", { name: "Tables" }).click()
  await page.getByRole("link", { name: "parts" }).click()
  await page.getByRole("columnheader", { name: /colour/ }).waitFor()
})

it("label, expiry and access change; the bar at the top follows", async () => {
  const { json } = await ask(service, "POST /api/branches", {
    key: service.service_role,
    body: { label: "to change", ttlHours: 1 }
  })
  const { id } = json as { readonly id: number }
  const page = await openPage({ on: service })
  await page.goto(at("/branches", service))
  const row = page.getByRole("row", { name: /to change|changed/ })
  await row.getByRole("button", { name: "Work on it" }).click()
  await row.getByRole("button", { name: "Edit" }).click()
  await page.getByLabel("Label").fill("changed")
  await page.getByLabel("Expires").selectOption("never")
  await page.getByLabel(/Also anon keys/).check()
  await page.getByRole("button", { name: "Save" }).click()
  await row.getByText("all clients").waitFor()
  await row.getByText("never").waitFor()
  await page.getByRole("banner").getByRole("button", { name: "changed" }).waitFor()
  const found = (await ask(service, `GET /api/branches/${id}`, { key: service.service_role })).json
  assert.containSubset(found, { label: "changed", ttl_hours: 0, access: "clients" })
  await ask(service, `DELETE /api/branches/${id}`, { key: service.service_role })
})

it("a branch that is gone while it is worked on leads back to the main database, and no write follows it there", async () => {
  const { json } = await ask(service, "POST /api/branches", {
    key: service.service_role,
    body: { label: "short life" }
  })
  const { id } = json as { readonly id: number }
  const page = await openPage({ on: service })
  await page.goto(at("/branches", service))
  await page
    .getByRole("row", { name: /short life/ })
    .getByRole("button", { name: "Work on it" })
    .click()
  await page.getByRole("link", { name: "Tables" }).click()
  await page.getByRole("link", { name: "parts" }).click()
  await page.getByRole("gridcell").first().waitFor()
  await ask(service, `DELETE /api/branches/${id}`, { key: service.service_role })
  await page.getByRole("button", { name: "Insert" }).click()
  const panel = page.getByRole("complementary")
  await panel.getByLabel(/^id/).fill("77")
  await panel
    .getByRole("button", { name: /^(?:Insert|Save)/ })
    .first()
    .click()
  await page.getByText('The branch "short life" was dropped or has expired').waitFor()
  await page.getByRole("banner").getByRole("button", { name: "main" }).waitFor()
  assert.deepStrictEqual(await sql(service, "select id from parts order by id"), [{ id: 1 }])
})

it("a form that waits for its result is sent once, and neither Escape nor Cancel closes it meanwhile", async () => {
  const page = await openPage({ on: service })
  let sent = 0
  const gate = Promise.withResolvers<void>()
  await page.route("**/api/branches", async (route) => {
    if (route.request().method() === "POST") {
      sent++
      await gate.promise
    }
    await route.continue()
  })
  await page.goto(at("/branches", service))
  await page.getByRole("button", { name: "Create branch" }).first().click()
  const form = page.getByRole("dialog", { name: "Create a branch" })
  await form.getByLabel("Label").fill("sent once")
  await page.keyboard.press("Enter")
  await page.keyboard.press("Enter")
  await page.keyboard.press("Escape")
  await form.getByRole("button", { name: "Cancel" }).click({ force: true })
  assert.isTrue(await form.isVisible())
  gate.resolve()
  await page.getByRole("dialog", { name: "The branch is being created" }).waitFor()
  assert.strictEqual(sent, 1)
})
