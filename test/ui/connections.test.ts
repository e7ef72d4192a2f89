import { randomBytes } from "node:crypto"
import { afterAll, assert, beforeAll, it } from "vitest"
import { ask } from "../support/client.ts"
import { makeDataDir, removeDataDir } from "../support/dataDir.ts"
import { type OtherPostgres, startOtherPostgres } from "../support/postgres/external.ts"
import { type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()
let service: Service
let other: OtherPostgres
beforeAll(async () => {
  other = await startOtherPostgres()
  service = await startService({ env: { SVC_CONNECTIONS_ALLOW_PRIVATE: "true" } })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

it("a connection is saved, tested, changed without its password, and deleted", async () => {
  const page = await openPage({ on: service })
  await page.goto(at("/connections", service))
  await page.getByRole("heading", { name: "No connections" }).waitFor()
  await assertAccessible(page, "no connections")
  await page.getByRole("button", { name: "Save connection" }).click()
  const form = page.getByRole("dialog", { name: "Save a connection" })
  await form.getByRole("button", { name: "Save connection" }).click()
  await form.getByText("A connection needs a name").waitFor()
  await form.getByLabel("Name").fill("shop")
  await form.getByLabel("Connection string").fill("ftp://reader:secret@db.example.com/shop")
  await form.getByRole("button", { name: "Save connection" }).click()
  // The service knows the schemes.
  await form.getByText(/Expected a URL of one of the schemes postgres/).waitFor()
  await form.getByLabel("Connection string").fill(other.url)
  await form.getByRole("button", { name: "Save connection" }).click()
  const row = page.getByRole("row", { name: /^shop postgres/ })
  await row.getByText(`postgres://postgres:****@127.0.0.1:${other.port}/postgres`).waitFor()
  assert.notInclude(await page.content(), other.password)

  await row.getByRole("button", { name: "Test" }).click()
  await row.getByText("reachable").waitFor()
  await row.getByText(/signed in, PostgreSQL \d+.*, \d+ ms/).waitFor()

  // The mask of the list is no password.
  await row.getByRole("button", { name: "Edit" }).click()
  const edit = page.getByRole("dialog", { name: "Change the connection" })
  await edit.getByLabel("Connection string").fill(`postgres://postgres:****@127.0.0.1:${other.port}/shop`)
  await edit.getByText("**** stands for a password that is not shown").waitFor()
  await edit.getByRole("button", { name: "Save" }).click()
  await edit.getByLabel("Connection string").fill("")
  await edit.getByLabel("Name").fill("shop of the others")
  await edit.getByRole("button", { name: "Save" }).click()
  const renamed = page.getByRole("row", { name: /^shop of the others postgres/ })
  await renamed.getByText("not yet").waitFor()
  await renamed.getByRole("button", { name: "Test" }).click()
  await renamed.getByText("reachable").waitFor()

  await ask(service, "POST /api/connections", {
    key: service.service_role,
    body: { name: "closed", connection_url: "postgres://u:p@127.0.0.1:1/db" }
  })
  await page.reload()
  const closed = page.getByRole("row", { name: /^closed/ })
  await closed.getByRole("button", { name: "Test" }).click()
  await closed.getByText("failed").waitFor()
  await closed.getByText("ECONNREFUSED", { exact: true }).waitFor()
  await assertAccessible(page, "connections")

  await renamed.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type shop of the others to confirm").fill("shop of the others")
  await page.getByRole("button", { name: "Delete connection" }).click()
  await renamed.waitFor({ state: "detached" })
})

it("without an encryption key the page says what to set; with a new one, strings of the old one are encrypted again", async () => {
  const dataDir = await makeDataDir()
  const on = async (env: Readonly<Record<string, string>>, use: (service: Service) => Promise<void>) => {
    const started = await startService({ dataDir, env: { DATABASE_URL: other.url, ...env } })
    try {
      await use(started)
    } finally {
      await started[Symbol.asyncDispose]()
    }
  }
  const [old, current] = [randomBytes(32).toString("base64"), randomBytes(32).toString("base64")]
  try {
    await on({ SVC_ENCRYPTION_KEY: old }, async (service) => {
      const body = { name: "kept", connection_url: "redis://:secret@127.0.0.1:1/0" }
      const { status } = await ask(service, "POST /api/connections", { key: service.service_role, body })
      assert.strictEqual(status, 201)
    })
    await on({}, async (service) => {
      const page = await openPage({ on: service })
      await page.goto(at("/connections", service))
      await page.getByRole("heading", { name: "No encryption key" }).waitFor()
      await page.getByText("SVC_ENCRYPTION_KEY", { exact: true }).waitFor()
      await assertAccessible(page, "no encryption key")
    })
    await on({ SVC_ENCRYPTION_KEY: current, SVC_ENCRYPTION_KEYS_OLD: old }, async (service) => {
      const page = await openPage({ on: service })
      await page.goto(at("/connections", service))
      const row = page.getByRole("row", { name: /^kept/ })
      await row.getByText("old key").waitFor()
      await row.getByRole("button", { name: "Re-encrypt" }).click()
      await page.getByText("Encrypted with the current key").waitFor()
      await row.getByText("old key").waitFor({ state: "detached" })
    })
    await on({ SVC_ENCRYPTION_KEY: old }, async (service) => {
      const page = await openPage({ on: service })
      await page.goto(at("/connections", service))
      await page.getByText(/Encrypted with key .*, which is neither SVC_ENCRYPTION_KEY nor/).waitFor()
    })
  } finally {
    await removeDataDir(dataDir)
  }
})
