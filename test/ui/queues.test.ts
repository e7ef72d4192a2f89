import { afterAll, assert, beforeAll, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()
let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

it("a queue is made, a message is sent, dies, is put back, and the queue is purged and deleted", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/queues", service))
  await page.getByText("No queues").waitFor()
  await page.getByRole("button", { name: "Create queue" }).click()
  const form = page.getByRole("dialog", { name: "Create a queue" })
  await form.getByLabel("Name").fill("no good")
  await form.getByRole("button", { name: "Create queue" }).click()
  await form.getByText("letters, digits").waitFor()
  await form.getByLabel("Name").fill("mails")
  await form.getByLabel("Dead letter after").fill("1")
  // By the keyboard alone.
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "mails" }).waitFor()
  await page.getByText("No messages").waitFor()

  await page.getByRole("button", { name: "Send" }).click()
  const send = page.getByRole("dialog", { name: "Send to mails" })
  await send.getByLabel("Message").fill("{")
  await send.getByRole("button", { name: "Send message" }).click()
  await send.getByText("The message is not valid JSON").waitFor()
  await send.getByLabel("Message").fill('{"to": "ann", "n": 12345678901234567890}')
  await send.getByRole("button", { name: "Send message" }).click()
  const rows = page.getByRole("table", { name: "Messages" }).getByRole("row")
  await rows.filter({ hasText: "visible" }).waitFor()
  await rows.getByRole("button", { name: "Show" }).click()
  await page.getByRole("dialog").getByText("12345678901234567890").waitFor()
  await page.keyboard.press("Escape")

  const receive = () =>
    ask(service, "POST /v1/queues/mails/receive", { key: service.service_role, body: { visibility: 0 } })
  assert.match((await receive()).text, /12345678901234567890/)
  assert.strictEqual((await receive()).text, "[]")
  await page.getByText("1; after 1 read").waitFor()
  await page.getByRole("button", { name: "Dead letters" }).click()
  await page.getByRole("button", { name: "Put back", exact: true }).click()
  await page.getByText("1 message put back").waitFor()
  await page.getByText("No dead letters").waitFor()
  assert.deepStrictEqual(await sql(service, "select message ->> 'to' as to from pgmq.q_mails"), [{ to: "ann" }])

  await page.getByRole("button", { name: "Edit" }).click()
  await page.getByLabel("Dead letter after").fill("")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByText("0; none are made").waitFor()
  await page.getByRole("button", { name: "Purge" }).click()
  await page.getByLabel("Type mails to confirm").fill("mails")
  await page.getByRole("button", { name: "Purge queue" }).click()
  await page.getByText("1 message deleted").waitFor()
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type mails to confirm").fill("mails")
  await page.getByRole("button", { name: "Delete queue" }).click()
  await page.getByRole("link", { name: "mails_dead" }).waitFor()
})
