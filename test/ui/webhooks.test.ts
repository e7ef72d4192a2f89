import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { type Receiver, startReceiver } from "../support/webhooks/receiver.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
let service: Service
let receiver: Receiver
beforeAll(async () => {
  service = await startService({ env: { WEBHOOK_ALLOW_PRIVATE: "true", WEBHOOK_RETRY_SCHEDULE: "300ms,1h" } })
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

const make = async (table: string, path: string, more: object = {}) => {
  await sql(service, `create table ${table} (id int primary key, total numeric(30,2), note text)`)
  const { json, status, text } = await ask(service, "POST /api/webhooks", {
    key: service.service_role,
    body: { table_name: table, events: ["INSERT"], url: receiver.url + path, name: `to ${path}`, ...more }
  })
  assert.strictEqual(status, 201, text)
  return json as { readonly id: number }
}

it("a webhook is made, tested, changed without losing its secret, and deleted by its name", async () => {
  await sql(service, "create table hooked (id int primary key)")
  const page = await openPage({ on: service })
  await page.goto(at("/webhooks", service))
  await page.getByText("No webhooks").waitFor()
  await page.getByRole("button", { name: "Create webhook" }).click()
  const form = page.getByRole("dialog", { name: "Create a webhook" })
  await form.getByLabel("Name", { exact: true }).fill("shop")
  await form.getByRole("button", { name: "Create webhook" }).click()
  await form.getByText("Choose a table", { exact: true }).last().waitFor()
  await form.getByLabel("Table").selectOption("hooked")
  await form.getByLabel("a row is deleted").uncheck()
  await form.getByLabel("URL of the receiver").fill(`${receiver.url}/made`)
  await form.getByLabel("Body").selectOption({ label: "as Supabase's database webhooks: record, old_record" })
  await form.getByRole("button", { name: "Generate" }).click()
  const secret = await form.getByLabel("Secret", { exact: true }).inputValue()
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/)
  await form.getByRole("button", { name: "Add header" }).click()
  await form.getByLabel("Name of header 1").fill("x-shop")
  await form.getByLabel("Value of header 1").fill("one")
  await form.getByRole("button", { name: "Create webhook" }).click()

  await page.getByRole("button", { name: "Send test" }).click()
  await page.getByText("HTTP 200").first().waitFor()
  const [first] = await receiver.count("/made", 1)
  assert.strictEqual(first?.headers["x-shop"], "one")
  assert.isString(first?.headers["webhook-signature"])
  await page.getByText("of Supabase's database webhooks").waitFor()
  await sql(service, "insert into hooked values (7)")
  const [, inserted] = await receiver.count("/made", 2)
  assert.deepStrictEqual(JSON.parse(String(inserted?.body)), {
    type: "INSERT",
    table: "hooked",
    schema: "public",
    record: { id: 7 },
    old_record: null
  })
  assert.notInclude(await page.content(), secret)

  await page.getByRole("button", { name: "Edit" }).click()
  const edit = page.getByRole("dialog", { name: "Change the webhook" })
  assert.strictEqual(await edit.getByLabel("Secret", { exact: true }).inputValue(), "")
  assert.isFalse(await edit.getByLabel("a row is deleted").isChecked())
  await edit.getByLabel("Name", { exact: true }).fill("shop 2")
  await edit.getByRole("button", { name: "Save" }).click()
  await page.getByRole("heading", { name: "shop 2", level: 2 }).waitFor()
  await page.getByText("How the receiver verifies the signature").waitFor()

  await page.getByRole("button", { name: "Edit" }).click()
  await edit.getByLabel("Remove the secret").check()
  await edit.getByRole("button", { name: "Save" }).click()
  await page.getByText("no: set a secret").waitFor()

  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type shop 2 to confirm").fill("shop 2")
  await page.getByRole("button", { name: "Delete webhook" }).click()
  await page.getByText("No webhooks").waitFor()
})

it("what the service refuses is shown in the form, which keeps what was typed", async () => {
  await sql(service, "create table refused (id int primary key)")
  const page = await openPage({ on: service })
  await page.goto(at("/webhooks", service))
  await page.getByRole("button", { name: "Create webhook" }).click()
  await page.getByLabel("Table").selectOption("refused")
  await page.getByLabel("URL of the receiver").fill("https://example.com/hook")
  await page.getByRole("button", { name: "Add header" }).click()
  await page.getByLabel("Name of header 1").fill("content-length")
  await page.getByLabel("Value of header 1").fill("9")
  await page.getByRole("dialog").getByRole("button", { name: "Create webhook" }).click()
  const problem = page.getByRole("alert")
  await problem.getByText(/content-length/).waitFor()
  assert.notInclude(await problem.textContent(), "[object")
  assert.strictEqual(await page.getByLabel("Value of header 1").inputValue(), "9")
})

it("a change of a row is in the log within 2 seconds, with its exact numbers, and is replayed with the same bytes", async () => {
  const { id } = await make("live", "/live")
  const page = await openPage({ on: service })
  await page.goto(at(`/webhooks/${id}`, service))
  await page.getByText("Nothing sent yet", { exact: true }).waitFor()
  await sql(service, "insert into live values (1, 12345678901234567890.10, 'x')")
  const rows = page.getByRole("table", { name: "Deliveries" }).getByRole("row")
  await rows.filter({ hasText: "INSERT" }).waitFor({ timeout: 3000 })
  await rows.filter({ hasText: "INSERT" }).getByRole("button", { name: "Show" }).click()
  const entry = page.getByRole("dialog", { name: /^INSERT/ })
  assert.match((await entry.getByLabel("Payload").textContent()) ?? "", /"total": 12345678901234567890\.10\b/)
  await entry.getByRole("button", { name: "Replay" }).click()
  await entry.getByText(/Replayed in/).waitFor()
  const [sent, again] = await receiver.count("/live", 2)
  assert.deepStrictEqual(again?.body, sent?.body)
  assert.strictEqual(again?.headers["webhook-id"], sent?.headers["webhook-id"])
  await entry.getByRole("button", { name: "Close" }).click()
  await rows.filter({ hasText: "INSERT" }).nth(1).waitFor()
})

it("a receiver that is down shows why and that it is tried again; the filter is the address", async () => {
  const { id } = await make("down", "/down")
  receiver.answer = ({ path }) => (path === "/down" ? { status: 500, body: "out of order" } : {})
  const page = await openPage({ on: service })
  await page.goto(at(`/webhooks/${id}`, service))
  await sql(service, "insert into down values (1, 1, 'x')")
  await page.getByText("try 2").waitFor()
  await page.getByText("out of order").first().waitFor()
  await page.getByText("failing").waitFor()
  await page.getByText("2 attempts failed one after another").waitFor()
  receiver.answer = () => ({})
  await page.getByRole("button", { name: "Send test" }).click()
  await page.getByText("The test was sent").waitFor()
  await page.getByRole("button", { name: "Failed" }).click()
  await page.waitForURL(/outcome=failed/)
  await page.reload()
  await page.getByText("try 2").waitFor()
  await assertCount(page.getByRole("table", { name: "Deliveries" }).getByText("TEST"), 0)
  await page.goto(at("/webhooks", service))
  await page
    .getByRole("row", { name: /to \/down/ })
    .getByText("failing")
    .waitFor()
})

it("a webhook that the service has disabled says why, and is enabled again", async () => {
  const { id } = await make("gone", "/gone")
  receiver.answer = ({ path }) => (path === "/gone" ? { status: 410 } : {})
  const page = await openPage({ on: service })
  await page.goto(at(`/webhooks/${id}`, service))
  await sql(service, "insert into gone values (1, 1, 'x')")
  await page.getByText(/The service stopped deliveries/).waitFor()
  receiver.answer = () => ({})
  await page.getByRole("button", { name: "Enable" }).click()
  await page.getByText("Webhook enabled").waitFor()
  await page.getByText("delivering").waitFor()
})

it("a table that was dropped is said, and stays chosen in the form", async () => {
  const { id } = await make("short_lived", "/short")
  await sql(service, "drop table short_lived")
  const page = await openPage({ on: service })
  await page.goto(at(`/webhooks/${id}`, service))
  await page.getByText("There is no table of this name").waitFor()
  await page.getByRole("button", { name: "Edit" }).click()
  assert.include(await page.getByLabel("Table").inputValue(), "short_lived")
  await page.goto(at("/webhooks/999999", service))
  await page.getByText("No such webhook").waitFor()
})
