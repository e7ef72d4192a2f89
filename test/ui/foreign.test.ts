import { afterAll, assert, beforeAll, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { type OtherPostgres, startOtherPostgres } from "../support/postgres/external.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()
const name = `shop ${process.pid}`
const table = `foreign_${process.pid}`
let other: OtherPostgres
beforeAll(async () => {
  other = await startOtherPostgres()
  await other.sql(`create schema shop; create table shop.${table} (id int primary key, name text)`)
  await other.sql(`insert into shop.${table} values (1, 'from there')`)
})
afterAll(async () => {
  await sql(service, `drop server if exists "${name}" cascade`)
  await other[Symbol.asyncDispose]()
})

it("a server, its login and its tables are added in three steps, read as others, and dropped by name", async () => {
  const page = await openPage()
  await page.goto(at("/foreign"))
  await page.getByRole("button", { name: "Add server" }).click()
  const first = page.getByRole("dialog", { name: "Add a foreign server" })
  await first.getByLabel("Port").fill("70000")
  await first.getByRole("button", { name: "Add server" }).click()
  await first.getByText("A port from 1 to 65535").waitFor()
  await first.getByText("A server needs a name").waitFor()
  await first.getByLabel("Name").fill(name)
  await first.getByLabel("Host").fill("127.0.0.1")
  await first.getByLabel("Port").fill(String(other.port))
  await first.getByLabel("Database").fill("postgres")
  await first.getByRole("button", { name: "Add server" }).click()

  const second = page.getByRole("dialog", { name: `Add a login to ${name}` })
  await second.getByText(/Step 2 of 3/).waitFor()
  assert.strictEqual(await second.getByLabel("Password").inputValue(), "")
  await second.getByLabel("User").fill("postgres")
  await second.getByLabel("Password").fill("wrong")
  await second.getByRole("button", { name: "Add login" }).click()

  // The first connection: a wrong password is reported, and the steps so far are kept.
  const third = page.getByRole("dialog", { name: `Import tables of ${name}` })
  await third.getByLabel("Schema there").fill("shop")
  await third.getByRole("button", { name: "Import tables" }).click()
  await third.getByText(/rejected the user, password or database/).waitFor()
  await third.getByRole("button", { name: "Cancel" }).click()
  const card = page.getByRole("region", { name })
  await card.getByText(`127.0.0.1:${other.port}/postgres`).waitFor()
  await card.getByRole("button", { name: "Remove the login of postgres" }).click()
  await page.getByRole("button", { name: "Remove login" }).click()
  await card.getByText("None yet: no role can read its tables.").waitFor()

  await card.getByRole("button", { name: "Add login" }).click()
  await second.getByLabel("User").fill("postgres")
  await second.getByLabel("Password").fill(other.password)
  await second.getByRole("button", { name: "Add login" }).click()
  await card.getByRole("button", { name: "Import tables" }).click()
  await third.getByLabel("Schema there").fill("shop")
  await third.getByRole("button", { name: "Import tables" }).click()
  await page.getByText("1 table imported").waitFor()
  assert.notInclude(await page.content(), other.password)
  await assertAccessible(page, "foreign servers")
  await card.getByRole("link", { name: `public.${table}` }).click()
  await page.getByRole("gridcell", { name: "from there" }).waitFor()
  // Closed until it is granted.
  assert.strictEqual((await ask(service, `GET /v1/db/${table}`, { key: service.anon })).status, 401)

  await page.goto(at("/foreign"))
  await card.getByRole("button", { name: "Drop server" }).click()
  const confirm = page.getByRole("dialog", { name: `Drop ${name}?` })
  await confirm.getByText(`drop server "${name}" cascade`).waitFor()
  await confirm.getByLabel(`Type ${name} to confirm`).fill(name)
  await confirm.getByRole("button", { name: "Drop server" }).click()
  await card.waitFor({ state: "detached" })
  assert.strictEqual((await ask(service, `GET /v1/db/${table}`, { key: service.service_role })).status, 404)
})
