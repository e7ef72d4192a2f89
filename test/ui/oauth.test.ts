import { afterAll, assert, beforeAll, it } from "vitest"
import { ask } from "../support/client.ts"
import { makePerson, type Person } from "../support/identity/idp.ts"
import { type IdentityService, startIdentityService } from "../support/identity/service.ts"
import { type Service, startService } from "../support/service.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"
import { checkStates, type States } from "../support/ui/states.ts"
import { assertCount } from "../support/ui/counts.ts"

checkPages()
let parts: IdentityService
/** Without an OAuth 2.0 server. */
let bare: Service
let person: Person
let client: string
beforeAll(async () => {
  parts = await startIdentityService()
  bare = await startService({ env: { SVC_IDENTITY: "off" } })
  person = await makePerson(parts.idp, { name: "Ada", metadata_public: { plan: "pro" } })
  const body = { client_name: "Photo album", redirect_uris: ["https://photos.example/cb"], metadata: { team: "media" } }
  client = (await manage("POST /api/oauth2/clients", { ...body, skip_consent: true })).client_id
})
afterAll(() => Promise.all([parts[Symbol.asyncDispose](), bare[Symbol.asyncDispose]()]))

const manage = async (line: string, body?: unknown) => {
  const { json, status, text } = await ask(parts.service, line, {
    key: parts.service.service_role,
    ...(body === undefined ? {} : { body })
  })
  assert.isBelow(status, 300, text)
  return json as { readonly client_id: string; readonly redirect_uris: ReadonlyArray<string>; readonly scope: string }
}
const open = (options: Parameters<typeof openPage>[0] = {}) => openPage({ on: parts.service, ...options })
const here = (path: string) => at(path, parts.service)

it("a client is registered, its secret shown once, changed, given a new secret, and deleted", async () => {
  const page = await open()
  await page.goto(here("/clients"))
  await page.getByRole("link", { name: "Photo album" }).waitFor()
  await page.getByRole("button", { name: "Register client" }).click()
  const form = page.getByRole("dialog", { name: "Register a client" })
  await form.getByLabel("Name").fill("Web shop")
  await form.getByRole("button", { name: "Register client" }).click()
  await form.getByText("At least one: users return there").waitFor()
  await form.getByLabel("Redirect URIs", { exact: true }).fill("javascript:alert(1)")
  await form.getByRole("button", { name: "Register client" }).click()
  await form.getByText("redirect_uris: expected an absolute URI").waitFor()
  await form.getByLabel("Redirect URIs", { exact: true }).fill("https://shop.example/cb\n")
  await form.getByRole("button", { name: "Register client" }).click()
  const once = page.getByRole("dialog", { name: "The client was registered" })
  const secret = (await once.locator("code").textContent()) ?? ""
  assert.isAbove(secret.length, 15)
  await once.getByRole("button", { name: "I have kept it" }).click()
  await page.getByRole("heading", { name: "Web shop", level: 2 }).waitFor()
  assert.notInclude(await page.content(), secret)
  const id = decodeURIComponent(new URL(page.url()).pathname.split("/").at(-1) ?? "")

  await page.getByRole("button", { name: "Edit" }).click()
  const edit = page.getByRole("dialog", { name: "Change the client" })
  await edit.getByLabel("Redirect URIs", { exact: true }).fill("https://shop.example/cb\nhttps://shop.example/two")
  await edit.getByLabel("Scopes").fill("openid")
  await edit.getByRole("button", { name: "Save" }).click()
  await page.getByText("Client changed").waitFor()
  await page.getByText("https://shop.example/two").waitFor()
  const stored = await manage(`GET /api/oauth2/clients/${id}`)
  assert.deepStrictEqual(stored.redirect_uris, ["https://shop.example/cb", "https://shop.example/two"])
  assert.strictEqual(stored.scope, "openid")

  await page.getByRole("button", { name: "Rotate secret" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Rotate secret" }).click()
  const again = page.getByRole("dialog", { name: "The client has a new secret" })
  const other = (await again.locator("code").textContent()) ?? ""
  assert.isAbove(other.length, 15)
  assert.notStrictEqual(other, secret)
  await again.getByRole("button", { name: "I have kept it" }).click()

  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByLabel("Type Web shop to confirm").fill("Web shop")
  await page.getByRole("button", { name: "Delete client" }).click()
  await page.waitForURL(/\/clients$/)
  await page.getByRole("link", { name: "Photo album" }).waitFor()
  await assertCount(page.getByRole("link", { name: "Web shop" }), 0)
  await page.goto(here(`/clients/${id}`))
  await page.getByRole("heading", { name: "No such client" }).waitFor()
})

it("an app without a server has no secret to rotate", async () => {
  const page = await open()
  await page.goto(here("/clients"))
  await page.getByRole("button", { name: "Register client" }).click()
  const form = page.getByRole("dialog")
  await form.getByLabel("App without a server").check()
  await form.getByLabel("Name").fill("Mobile app")
  await form.getByLabel("Redirect URIs", { exact: true }).fill("com.example.app:/cb")
  await form.getByRole("button", { name: "Register client" }).click()
  await page.getByRole("heading", { name: "Mobile app", level: 2 }).waitFor()
  await page.getByText("app without a server").waitFor()
  await assertCount(page.getByRole("button", { name: "Rotate secret" }), 0)
})

it("claims are previewed for a user before they are saved, and asked about when leaving", async () => {
  const page = await open()
  await page.goto(here("/claims"))
  const section = page.getByRole("region", { name: "ID token and userinfo" })
  await section.getByRole("button", { name: "Add a claim" }).click()
  await page.getByLabel("Name of claim 1, ID token and userinfo").fill("plan")
  await page.getByLabel("Template of plan, ID token and userinfo").fill("{{metadata_public.plan}}")
  await page.getByLabel("Scope of plan, ID token and userinfo").fill("billing")
  const preview = page.getByRole("region", { name: "Preview" })
  await preview.getByLabel("User").fill(person.email)
  await preview.getByRole("button", { name: "Preview" }).click()
  await preview.getByText("ID token and userinfo").waitFor()
  assert.notInclude(await preview.textContent(), '"plan"')
  await preview.getByLabel("Granted scopes").fill("openid billing")
  await preview.getByRole("button", { name: "Preview" }).click()
  await preview.getByText('"plan": "pro"').waitFor()
  await preview.getByLabel("User").fill("nobody@example.com")
  await preview.getByRole("button", { name: "Preview" }).click()
  await preview.getByText("No user signs in as nobody@example.com").waitFor()

  await page.getByRole("link", { name: "API keys" }).click()
  await page.getByRole("dialog", { name: "The claims are not saved. Leave anyway?" }).waitFor()
  await page.getByRole("button", { name: "Go on editing" }).click()
  await page.getByLabel("Template of plan, ID token and userinfo").fill("{{secrets.plan}}")
  await page.getByRole("button", { name: "Save claims" }).click()
  await page.getByText("{{secrets.plan}} must be").waitFor()
  await page.getByLabel("Template of plan, ID token and userinfo").fill("{{metadata_public.plan}}")
  await page.getByRole("button", { name: "Save claims" }).click()
  await page.getByText("Claims saved").waitFor()
  await page.reload()
  assert.strictEqual(await page.getByLabel("Scope of plan, ID token and userinfo").inputValue(), "billing")
  await page.getByRole("button", { name: "Remove plan, ID token and userinfo" }).click()
  await page.getByRole("button", { name: "Save claims" }).click()
  await page.getByText("Claims saved").waitFor()
})

/** Every state of these pages; the first ones on a service without an OAuth 2.0 server. */
const without: States = {
  "clients, not configured": async (page) => {
    await page.goto(at("/clients", bare))
    await page.getByRole("heading", { name: "No OAuth 2.0 server" }).waitFor()
  },
  "claims, not configured": async (page) => {
    await page.goto(at("/claims", bare))
    await page.getByRole("heading", { name: "No OAuth 2.0 server" }).waitFor()
  }
}
const states: States = {
  clients: async (page) => {
    await page.goto(here("/clients"))
    await page.getByRole("table", { name: "OAuth clients" }).waitFor()
    await page.getByRole("region", { name: "Bridge" }).getByText("ready").waitFor()
  },
  "client form": async (page) => {
    await page.goto(here("/clients"))
    await page.getByRole("button", { name: "Register client" }).first().click()
    await page.getByLabel("Do not ask users for consent").check()
    await page.getByText("On the consent page").click()
    await page.getByLabel("Logo", { exact: true }).waitFor()
  },
  client: async (page) => {
    await page.goto(here(`/clients/${client}`))
    await page.getByRole("region", { name: "Metadata" }).waitFor()
  },
  "client deleted": async (page) => {
    await states["client"]?.(page)
    await page.getByRole("button", { name: "Delete" }).click()
    await page.getByRole("dialog").waitFor()
  },
  "no such client": async (page) => {
    await page.goto(here("/clients/nowhere"))
    await page.getByRole("heading", { name: "No such client" }).waitFor()
  },
  claims: async (page) => {
    await page.goto(here("/claims"))
    for (const title of ["ID token and userinfo", "Access token"]) {
      await page.getByRole("region", { name: title }).getByRole("button", { name: "Add a claim" }).click()
    }
    await page.getByLabel("User", { exact: true }).fill(person.id)
    await page.getByRole("button", { name: "Preview" }).click()
    await page.getByText("A claim has no name.").waitFor()
  }
}

checkStates(without, { on: () => bare })
checkStates(states, { on: () => parts.service })
