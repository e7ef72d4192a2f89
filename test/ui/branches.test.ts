import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

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
  await assertCount(page.getByRole("columnheader", { name: /colour/ }), 0)
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
  // What was typed stays, and so does the branch, until the user goes elsewhere.
  assert.match(page.url(), new RegExp(`branch=${id}$`))
  page.once("dialog", (dialog) => void dialog.accept())
  await page.getByRole("button", { name: "Go to the main database" }).click()
  await page.getByRole("banner").getByRole("button", { name: "main" }).waitFor()
  await page.waitForURL(/\/tables\/public\/parts$/)
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

/** A branch with a table of its own, and a main database without it. */
const makeBranch = async (label: string) => {
  const { json } = await ask(service, "POST /api/branches", { key: service.service_role, body: { label } })
  return String((json as { readonly id: number }).id)
}
const runSql = async (page: Page, text: string) => {
  if (!(await page.getByRole("switch", { name: "Allow writes" }).isChecked())) {
    await page.getByRole("switch", { name: "Allow writes" }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Allow writes" }).click()
  }
  await page.getByRole("textbox", { name: "SQL statement" }).click()
  await page.keyboard.press("Control+a")
  await page.keyboard.insertText(text)
  await page.keyboard.press("Escape")
  await page.keyboard.press("Control+Enter")
}
const inserted = (id: number) => `insert into parts values (${id}, 'typed')`
const idsOf = async (branch?: string) => {
  const headers = branch === undefined ? {} : { "x-svc-branch": branch }
  const { json } = await ask(service, "GET /v1/db/parts?select=id&order=id", { key: service.service_role, headers })
  return (json as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id)
}

it("a tab stays on its branch over a reload, a link in a new tab and the palette; a typed address asks first", async () => {
  // Another name for each retry.
  const name = `kept-${Date.now().toString(36)}`
  const branch = await makeBranch(name)
  const page = await openPage({ on: service })
  await page.goto(at("/branches", service))
  await page
    .getByRole("row", { name: new RegExp(name) })
    .getByRole("button", { name: "Work on it" })
    .click()
  await page.waitForURL(new RegExp(`/branches\\?branch=${branch}$`))
  const bar = page.getByRole("banner").getByRole("button", { name })
  await bar.waitFor()
  await page.getByRole("link", { name: "SQL workbench" }).click()
  await page.waitForURL(new RegExp(`/sql\\?branch=${branch}$`))
  await page.reload()
  await bar.waitFor()
  await runSql(page, inserted(101))
  await page.getByRole("heading", { name: "INSERT" }).waitFor()

  // Another tab, by a link.
  const opened = page.context().waitForEvent("page")
  await page.getByRole("link", { name: "Tables", exact: true }).click({ modifiers: ["Control"] })
  const other = await opened
  await other.getByRole("banner").getByRole("button", { name }).waitFor()
  await other.close()
  await page.keyboard.press("Control+k")
  await page.keyboard.type("parts")
  await page.keyboard.press("Enter")
  await page.waitForURL(new RegExp(`/tables/public/parts\\?branch=${branch}$`))
  await page.getByRole("columnheader", { name: /^colour/ }).click()
  await page.waitForURL(new RegExp(`\\?order=colour\\.asc&branch=${branch}$`))

  // A typed address has lost it: nothing is read or run before the user has chosen.
  let asked = 0
  await page.route("**/v1/**", async (route) => {
    asked++
    await route.continue()
  })
  await page.goto(at("/sql", service))
  await page.getByRole("heading", { name: "Where do you want to work?" }).waitFor()
  await page.getByText(`This tab worked on the branch ${name}`).waitFor()
  await assertAccessible(page, "the question where to work")
  assert.strictEqual(asked, 0)
  await page.getByRole("button", { name: `Stay on the branch ${name}` }).click()
  await page.waitForURL(new RegExp(`/sql\\?branch=${branch}$`))
  await runSql(page, inserted(102))
  await page.getByRole("heading", { name: "INSERT" }).waitFor()
  await page.goto(at("/sql", service))
  await page.getByRole("button", { name: "Work on the main database" }).click()
  await page.getByRole("banner").getByRole("button", { name: "main" }).waitFor()
  await page.waitForURL(/\/sql$/)
  await page.reload()
  await page.getByRole("switch", { name: "Allow writes" }).waitFor()
  assert.deepStrictEqual(await idsOf(branch), [1, 101, 102])
  assert.deepStrictEqual(await idsOf(), [1])
  // Back, to a page of the branch, is about the branch again.
  await page.goBack()
  await page.goBack()
  await bar.or(page.getByRole("heading", { name: "Where do you want to work?" })).waitFor()
  await ask(service, `DELETE /api/branches/${branch}`, { key: service.service_role })
})

it("an address that names no branch is not about the main database", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/sql?branch=987654", service))
  await page.getByText('The branch "branch 987654" was dropped or has expired').waitFor()
  await runSql(page, inserted(103))
  await page
    .getByText("There is no branch")
    .or(page.getByText(/BRANCH_NOT_FOUND|does not exist|not found/i))
    .first()
    .waitFor()
  await page.goto(at("/sql?branch=eq.main", service))
  await page.getByRole("heading", { name: "This address names what does not exist" }).waitFor()
  await page.goto(at("/sql?branch=1&branch=2", service))
  await page.getByRole("heading", { name: "This address names what does not exist" }).waitFor()
  assert.deepStrictEqual(await idsOf(), [1])
})

it("a tab that ran statements as a user asks before it runs them as the service", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/sql", service))
  await page.getByRole("button", { name: "View as" }).click()
  await page.getByLabel("A signed-in user").check()
  await page.getByLabel("User (claim sub)").fill("ann")
  await page.getByRole("button", { name: "Use", exact: true }).click()
  await page.waitForURL(/\/sql\?as=user:ann$/)
  await page.reload()
  await page.getByRole("button", { name: "As user ann" }).waitFor()
  await page.goto(at("/sql", service))
  await page.getByText("This tab worked as user ann").waitFor()
  await page.getByRole("button", { name: "Stay as user ann" }).click()
  await page.getByRole("button", { name: "As user ann" }).waitFor()
  await page.goto(at("/tables/public/parts", service))
  await page.getByRole("button", { name: "Work as the service" }).click()
  await page.getByRole("button", { name: "Insert" }).waitFor()
})

it("a column with the name of the place is filtered all the same", async () => {
  await sql(service, 'create table placed (id int primary key, branch text, "as" text)')
  await sql(service, "insert into placed values (1, 'a', 'x'), (2, 'b', 'y')")
  const page = await openPage({ on: service })
  await page.goto(at("/tables/public/placed", service))
  for (const [column, value] of [
    ["branch", "b"],
    ["as", "y"]
  ] as const) {
    await page.getByRole("button", { name: "Filter", exact: true }).click()
    await page.getByLabel("Column", { exact: true }).selectOption(column)
    await page.getByLabel("Value").fill(value)
    await page.getByRole("button", { name: "Apply" }).click()
    await page.getByText("1 row", { exact: true }).waitFor()
  }
  await page.reload()
  await page.getByText("1 row", { exact: true }).waitFor()
  await page.getByRole("gridcell", { name: "b", exact: true }).waitFor()
})
