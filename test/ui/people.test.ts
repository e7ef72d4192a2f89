import { hash } from "@node-rs/bcrypt"
import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, describe, inject, it } from "vitest"
import { ask, sql } from "../support/client.ts"
import { sessionCookie } from "../support/identity/people.ts"
import { type Address, type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
const shared = inject("service")
/** Whose mail server does not respond. */
let own: Service
let bare: Service
let elsewhere: Service
beforeAll(async () => {
  ;[own, bare, elsewhere] = await Promise.all([
    startService({ env: { SMTP_URL: "smtp://127.0.0.1:1" } }),
    startService({ env: { SVC_IDENTITY: "off" } }),
    startService({ env: { IDP_PUBLIC_URL: "http://127.0.0.1:9", IDP_ADMIN_URL: "http://127.0.0.1:9" } })
  ])
})
afterAll(() => Promise.all([own, bare, elsewhere].map((service) => service[Symbol.asyncDispose]())))

const open = async (on: Address, path: string, options: Parameters<typeof openPage>[0] = {}) => {
  const page = await openPage({ on, ...options })
  await page.goto(at(path, on))
  return page
}
const signIn = async (on: Address, identifier: string, password: string) =>
  (await ask(on, "POST /api/auth/login", { body: { identifier, password } })).status
const password = "four common words"

it("a person is created with a password, found, disabled, enabled, and deleted", async () => {
  const page = await open(own, "/people")
  await page.getByRole("heading", { name: "No people" }).waitFor()
  await page.getByRole("link", { name: "/auth/register" }).waitFor()
  await page.getByRole("button", { name: "Create person" }).first().click()
  const form = page.getByRole("dialog", { name: "Create a person" })
  await form.getByRole("button", { name: "Create person" }).click()
  await form.getByText("An address is needed").waitFor()
  await form.getByLabel("E-mail address").fill("ann@example.com")
  await form.getByLabel("that you share with them").check()
  await form.getByLabel("Password", { exact: true }).fill("password")
  await form.getByRole("button", { name: "Create person" }).click()
  await form.getByText("one of those that attackers try first").waitFor()
  await form.getByLabel("Password", { exact: true }).fill(password)
  await form.getByRole("button", { name: "Create person" }).click()
  await page.getByRole("heading", { name: "ann@example.com", level: 2 }).waitFor()
  await page.getByText("not verified", { exact: true }).waitFor()
  assert.strictEqual(await signIn(own, "ann@example.com", password), 200)

  await page.reload()
  const sessions = page.getByRole("table", { name: "Sessions" })
  await sessions.getByRole("row", { name: /node.*127\.0\.0\.1/ }).waitFor()
  await page
    .getByRole("table", { name: "Factors" })
    .getByRole("row", { name: /^Password/ })
    .waitFor()
  await page.getByRole("button", { name: "End sessions" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "End sessions" }).click()
  await page.getByText("1 session ended").waitFor()
  await page.getByText("They are not signed in anywhere").waitFor()

  await page.getByRole("button", { name: "Disable" }).click()
  await page.getByRole("button", { name: "Disable person" }).click()
  await page.getByText("disabled", { exact: true }).waitFor()
  assert.strictEqual(await signIn(own, "ann@example.com", password), 401)
  await page.getByRole("button", { name: "Enable" }).click()
  await page.getByText("active", { exact: true }).waitFor()
  assert.strictEqual(await signIn(own, "ann@example.com", password), 200)

  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "People" }).click()
  await page.getByRole("searchbox", { name: "Part of an e-mail address" }).fill("nobody@example.com")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "No person found" }).waitFor()
  assert.include(page.url(), "address=nobody")
  await page.getByRole("searchbox", { name: "Part of an e-mail address" }).fill("")
  await page.getByRole("table", { name: "People" }).waitFor()
  assert.strictEqual(await page.evaluate(() => document.activeElement?.tagName), "INPUT")
  await page.getByRole("searchbox", { name: "Part of an e-mail address" }).fill("ANN@")
  await page.getByRole("button", { name: "Find" }).click()
  await page.getByRole("link", { name: "ann@example.com" }).click()

  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type ann@example.com to confirm").fill("ann@example.com")
  const { pathname } = new URL(page.url())
  await page.getByRole("button", { name: "Delete person" }).click()
  await page.getByRole("heading", { name: "No people" }).waitFor()
  assert.strictEqual(await signIn(own, "ann@example.com", password), 401)
  await page.goto(own.url + pathname)
  await page.getByRole("heading", { name: "No such person" }).waitFor()
})

it("an administrator without a key, by their own session, sees people and deletes one; the export is not theirs", async () => {
  const make = (email: string, more: object = {}) =>
    ask(own, "POST /api/identities", { key: own.service_role, body: { email, password, ...more } })
  await make("gone@example.com")
  await make("operator@example.com", { metadata_public: { svc_role: "admin" } })
  const session = await ask(own, "POST /api/auth/login", { body: { identifier: "operator@example.com", password } })
  const cookie = sessionCookie(session)
  const page = await openPage({ on: own, signedIn: false })
  await page.context().addCookies([{ name: "idp_session", value: cookie.split("=")[1] ?? "", url: own.url }])
  await page.goto(at("/people", own))
  await page.getByRole("link", { name: "gone@example.com" }).click()
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type gone@example.com to confirm").fill("gone@example.com")
  await page.getByRole("button", { name: "Delete person" }).click()
  await page.getByRole("link", { name: "operator@example.com" }).waitFor()
  await assertCount(page.getByRole("link", { name: "gone@example.com" }), 0)
  assert.strictEqual(await signIn(own, "gone@example.com", password), 401)
  // It has the password hashes of everyone.
  const refused = await page.request.get(`${own.url}/api/identities/export`)
  assert.strictEqual(refused.status(), 403)
})

it("a lost factor is removed, which its dialog names", async () => {
  const { json } = await ask(own, "POST /api/identities", {
    key: own.service_role,
    body: { email: "dan@example.com", password }
  })
  const { identity } = json as { readonly identity: { readonly id: string } }
  await sql(own, "update svc.identities set totp_secret = 'lost' where id = $1", [identity.id])
  const page = await open(own, `/people/${identity.id}`)
  const factors = page.getByRole("table", { name: "Factors" })
  await factors.getByRole("button", { name: "Remove: authenticator app" }).click()
  const dialog = page.getByRole("dialog", { name: "Remove the authenticator app of dan@example.com?" })
  await dialog.getByRole("button", { name: "Remove factor" }).click()
  await page.getByText("Factor removed").waitFor()
  await factors.getByText("Authenticator app").waitFor({ state: "detached" })
  await assertCount(factors.getByRole("button"), 0)
})

it("traits are edited, and what another operator has changed meanwhile is not overwritten unseen", async () => {
  const { json } = await ask(own, "POST /api/identities", {
    key: own.service_role,
    body: { email: "eva@example.com", traits: { name: "Eva" } }
  })
  const { identity } = json as { readonly identity: { readonly id: string } }
  const path = `/api/identities/${identity.id}`
  const page = await open(own, `/people/${identity.id}`)
  await page.getByRole("button", { name: "Edit traits" }).click()
  const dialog = page.getByRole("dialog", { name: "Edit traits" })
  const field = dialog.getByLabel("Traits, as JSON")
  await field.fill("[]")
  await dialog.getByText("This must be a JSON object").waitFor()
  const other = { name: "Eva", team: "sales", email: "eva@example.com" }
  await ask(own, `PATCH ${path}`, { key: own.service_role, body: { traits: other } })
  await field.fill('{ "name": "Eva Moss", "email": "eva@example.com" }')
  await dialog.getByRole("button", { name: "Save" }).click()
  await dialog.getByRole("region", { name: "Changes by others" }).getByText("sales").waitFor()
  await assertAccessible(page, "a conflict of traits")
  await dialog.getByRole("button", { name: "Keep my draft" }).click()
  await field.fill('{ "name": "Eva Moss", "team": "sales", "email": "eva@example.com" }')
  await dialog.getByRole("button", { name: "Save" }).click()
  await page.getByText("Traits saved").waitFor()
  const after = await ask(own, `GET ${path}`, { key: own.service_role })
  assert.deepStrictEqual((after.json as { readonly traits: unknown }).traits, { ...other, name: "Eva Moss" })
  await page.getByRole("button", { name: "Edit public metadata" }).click()
  await page.getByLabel("Public metadata, as JSON").fill('{ "plan": "pro" }')
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click()
  await page.getByRole("region", { name: "Public metadata" }).getByText("pro").waitFor()
})

it("people are imported from a file, which says who was not", async () => {
  const page = await open(own, "/people")
  await page.getByRole("button", { name: "Import" }).click()
  const dialog = page.getByRole("dialog", { name: "Import people" })
  await dialog.getByRole("button", { name: "Import" }).click()
  await dialog.getByText("A file is needed").waitFor()
  const file = (text: string) => ({ name: "people.json", mimeType: "application/json", buffer: Buffer.from(text) })
  await dialog.getByLabel("File").setInputFiles(file('{ "people": [] }'))
  await dialog.getByText("The file is not a JSON array of accounts").waitFor()
  await assertAccessible(page, "an import of people")
  // bcrypt of "four common words", with the least cost.
  const password_hash = await hash(password, 4)
  const accounts = [{ email: "mia@example.com", password_hash }, { email: "no address" }]
  await dialog.getByLabel("File").setInputFiles(file(JSON.stringify(accounts)))
  await dialog.getByRole("button", { name: "Import 2 accounts" }).click()
  await page.getByRole("heading", { name: "1 account created" }).waitFor()
  const failed = page.getByRole("table", { name: "Not imported" })
  await failed.getByRole("row", { name: /no address.*address/ }).waitFor()
  await assertAccessible(page, "the result of an import of people")
  await page.getByRole("button", { name: "Close" }).click()
  await page.getByRole("link", { name: "mia@example.com" }).waitFor()
  assert.strictEqual(await signIn(own, "mia@example.com", password), 200)
})

it("an app that a person has signed in to loses its access", async () => {
  const key = own.service_role
  const body = { email: "kim@example.com", password }
  const { identity } = (await ask(own, "POST /api/identities", { key, body })).json as {
    readonly identity: { readonly id: string }
  }
  const app = { client_name: "Photo album", redirect_uris: ["https://photos.example/cb"] }
  const { client_id } = (await ask(own, "POST /api/oauth2/clients", { key, body: app })).json as {
    readonly client_id: string
  }
  const page = await open(own, `/people/${identity.id}`)
  await page.getByText("They have not signed in to another app").waitFor()
  // Two consents to one app, as after another scope was asked for.
  for (const scope of ["openid", "openid email"]) {
    await sql(
      own,
      `insert into svc.oauth2_consents (grant_id, subject, client_id, requested_scope, grant_scope, audience,
           id_token_claims, access_token_claims, remember, listed)
         values ($3, $1, $2, $4, $4, '{}', '', '', true, true)`,
      [identity.id, client_id, `grant ${scope}`, scope.split(" ")]
    )
  }
  await page.reload()
  const apps = page.getByRole("table", { name: "Apps" })
  await apps.getByRole("row", { name: /Photo album.*openid email/ }).waitFor()
  await assertAccessible(page, "the apps of a person")
  await apps.getByRole("button", { name: "Revoke: Photo album" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Revoke access" }).click()
  await page.getByText("Access revoked").waitFor()
  await page.getByText("They have not signed in to another app").waitFor()
  assert.lengthOf(await sql(own, "select from svc.oauth2_consents where subject = $1", [identity.id]), 0)
})

it("tokens are signed with a new key after a rotation", async () => {
  const page = await open(own, "/clients")
  const keys = page.getByRole("region", { name: "Signing keys" })
  await keys.waitFor()
  const before = await keys.locator("code").count()
  await keys.getByRole("button", { name: "Rotate" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Rotate keys" }).click()
  await page.getByText(/^Tokens are signed with/).waitFor()
  await keys.locator("code").nth(before).waitFor()
})

it("an invitation and a recovery link are shown once, and sign in", async () => {
  const page = await open(own, "/people")
  await page.getByRole("button", { name: "Create person" }).first().click()
  await page.getByRole("dialog").getByLabel("E-mail address").fill("bob@example.com")
  await page.getByRole("dialog").getByRole("button", { name: "Create person" }).click()
  const invited = page.getByRole("dialog", { name: "The person was created" })
  const invitation = (await invited.locator("code").textContent()) ?? ""
  assert.include(invitation, "/auth/recovery?flow")
  const { pathname, search } = new URL(invitation)
  const opened = await fetch(`${own.url}${pathname}${search}`)
  assert.include(await opened.text(), "<h1>You are invited</h1>")
  await invited.getByRole("button", { name: "I have kept it" }).click()
  await page.getByRole("heading", { name: "bob@example.com", level: 2 }).waitFor()

  await page.getByRole("button", { name: "Make recovery link" }).click()
  const made = page.getByRole("dialog", { name: "A recovery link was made" })
  const link = (await made.locator("code").textContent()) ?? ""
  await made.getByRole("button", { name: "I have kept it" }).click()
  await made.waitFor({ state: "detached" })
  assert.notInclude(await page.content(), link)

  const { searchParams } = new URL(link)
  const body = { flowId: searchParams.get("flow"), token: searchParams.get("token") }
  assert.strictEqual((await ask(own, "POST /api/auth/recovery/confirm", { body })).status, 200)
  assert.isAtLeast((await ask(own, "POST /api/auth/recovery/confirm", { body })).status, 400)
  await page.getByRole("button", { name: "Mark as verified" }).click()
  await page.getByText("verified", { exact: true }).waitFor()
  await assertCount(page.getByRole("button", { name: "Mark as verified" }), 0)
})

it("a mail that was not delivered says why, is read, and sent again", async () => {
  const email = "cleo@example.com"
  await ask(own, "POST /api/identities", { key: own.service_role, body: { email } })
  await ask(own, "POST /api/auth/verification", { body: { email } })
  const page = await open(own, `/mails?recipient=${email}`)
  await page.getByText("failed", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Read" }).click()
  await page.getByText("Its link and code act for cleo@example.com").waitFor()
  await page.getByRole("button", { name: "Close" }).click()
  await page.getByRole("button", { name: "Send again" }).click()
  await page.getByText("The message will be sent again").waitFor()
  await page.getByRole("searchbox", { name: "Recipient" }).fill("nobody@example.com")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "No mail found" }).waitFor()
})

it("without a mail server, the outbox says so", async () => {
  const page = await open(shared, "/mails")
  await page.getByText("No e-mail is sent").waitFor()
  await assertCount(page.getByRole("button", { name: "Send again" }), 0)
})

const others: ReadonlyArray<readonly [string, string, () => Address]> = [
  ["Accounts are turned off", "/people", () => bare],
  ["Accounts are turned off", "/people/00000000-0000-4000-8000-000000000000", () => bare],
  ["Accounts are turned off", "/mails", () => bare],
  ["Accounts are kept elsewhere", "/people", () => elsewhere],
  ["Accounts are kept elsewhere", "/people/00000000-0000-4000-8000-000000000000", () => elsewhere],
  ["Accounts are kept elsewhere", "/mails", () => elsewhere]
]
describe("where the service keeps no accounts", () => {
  it.each(others)("%s: %s explains it", async (title, path, on) => {
    const reach = async (page: Page) => {
      await page.getByRole("heading", { name: title }).waitFor()
      await assertCount(page.getByRole("alert"), 0)
    }
    const page = await open(on(), path, { viewport: { width: 390, height: 780 } })
    await reach(page)
    await assertAccessible(page, path)
  })
})
