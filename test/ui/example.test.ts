import { type createClient, type SupabaseClient } from "@supabase/supabase-js"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Page } from "playwright-core"
import { afterAll, assert, beforeAll, it } from "vitest"
import { build, preview, type PreviewServer } from "vite"
import { ask } from "../support/client.ts"
import { freePort } from "../../bench/support/freePort.ts"
import { root, type Service, startService } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { checkPages, openPage } from "../support/ui/dashboard.ts"

checkPages()

/** Of the page, which loads the client as a script. */
declare const supabase: { createClient: typeof createClient }
declare const first: SupabaseClient
declare const second: SupabaseClient

const example = join(root, "examples/todo")
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

let directory: string
let service: Service
let server: PreviewServer
let app: string
beforeAll(async () => {
  const port = await freePort()
  // Passkeys need a host name.
  app = `http://localhost:${port}/`
  service = await startService({
    env: {
      SVC_SUPABASE: "true",
      SVC_WEBAUTHN_ORIGINS: new URL(app).origin,
      MIGRATIONS_DIR: join(example, "supabase/migrations")
    }
  })
  const { status, text } = await ask(service, "POST /api/migrations/idempotent/run", { key: service.service_role })
  assert.strictEqual(status, 200, text)
  directory = await mkdtemp(join(tmpdir(), "svc-example-"))
  await writeFile(join(directory, ".env"), `VITE_SUPABASE_URL=${service.url}\nVITE_SUPABASE_KEY=${service.anon}\n`)
  const files = { outDir: join(directory, "dist"), emptyOutDir: true }
  await build({ root: example, envDir: directory, build: files, logLevel: "error" })
  const at = { host: "127.0.0.1", port, strictPort: true }
  server = await preview({ root: example, build: files, preview: at, logLevel: "error" })
})
afterAll(async () => {
  await server.close()
  await service[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const openApp = async () => {
  const page = await openPage({ on: service, signedIn: false, app: new URL(app).origin })
  await page.goto(app)
  return page
}

const enter = async (page: Page, person: string, button: "Sign in" | "Sign up") => {
  await page.getByLabel("Name").fill(button === "Sign up" ? person : "")
  await page.getByLabel("E-mail").fill(`${person.toLowerCase()}@example.com`)
  await page.getByLabel("Password").fill("four common words")
  await page.getByRole("button", { name: button }).click()
  await page.getByText(`Signed in as ${person}`).waitFor()
}

const items = (page: Page) => page.locator("#todos li")

it("the example's people have private, live lists, avatars, and see each other", async () => {
  const [phone, laptop, other] = [await openApp(), await openApp(), await openApp()]
  await assertAccessible(phone, "signed out")
  await enter(phone, "Ann", "Sign up")
  await enter(laptop, "Ann", "Sign in")
  await enter(other, "Ben", "Sign up")
  await other.getByText("Online: Ann, Ben").waitFor()
  await phone.getByText("Online: Ann, Ben").waitFor()

  await phone.getByLabel("New to-do").fill("Buy milk")
  await phone.getByRole("button", { name: "Add" }).click()
  await laptop.getByRole("checkbox", { name: "Buy milk" }).check()
  await phone.getByRole("checkbox", { name: "Buy milk", checked: true }).waitFor()
  await other.getByLabel("New to-do").fill("Sell milk")
  await other.getByRole("button", { name: "Add" }).click()
  await items(other).getByText("Sell milk").waitFor()
  assert.strictEqual(await items(other).count(), 1)
  assert.strictEqual(await items(phone).count(), 1)

  await phone.getByLabel("Avatar").setInputFiles({ name: "me.png", mimeType: "image/png", buffer: png })
  const avatar = phone.getByAltText("Your avatar")
  await avatar.waitFor()
  await phone.waitForFunction(() => document.querySelector<HTMLImageElement>("#avatar")?.naturalWidth === 1)
  await assertAccessible(phone, "signed in")

  await phone.getByLabel("Delete Buy milk").click()
  await items(laptop).waitFor({ state: "detached" })
  await other.getByRole("button", { name: "Sign out" }).click()
  await phone.getByText(/^Online: Ann$/).waitFor()
  // A session is kept over a reload.
  await phone.reload()
  await phone.getByText("Signed in as Ann").waitFor()
})

it("a page signs in by a passkey, and confirms it by a security key", async () => {
  const page = await openApp()
  const devtools = await page.context().newCDPSession(page)
  await devtools.send("WebAuthn.enable")
  const plugIn = async (transport: "internal" | "usb", verifies: boolean) => {
    const capable = { hasResidentKey: verifies, hasUserVerification: verifies, isUserVerified: verifies }
    const options = { protocol: "ctap2" as const, transport, ...capable }
    return devtools.send("WebAuthn.addVirtualAuthenticator", { options })
  }
  await page.addScriptTag({ path: join(root, "node_modules/@supabase/supabase-js/dist/umd/supabase.js") })
  const { authenticatorId } = await plugIn("internal", true)
  await page.evaluate(
    async ([url, key]) => {
      const [first, second] = ["first", "second"].map((storageKey) =>
        supabase.createClient(url, key, { auth: { storageKey } })
      ) as [SupabaseClient, SupabaseClient]
      for (const attempt of [
        () => first.auth.signUp({ email: "key@example.com", password: "four common words" }),
        () => first.auth.registerPasskey(),
        () => second.auth.signInWithPasskey()
      ]) {
        const { error } = await attempt()
        if (error !== null) throw error
      }
      Object.assign(globalThis, { first, second })
    },
    [service.url, service.anon] as const
  )
  await devtools.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId })
  await plugIn("usb", false)
  const levels = await page.evaluate(async () => {
    const added = await first.auth.mfa.webauthn.register({ friendlyName: "Key" })
    if (added.error !== null) throw added.error
    // The session of before the first factor has ended.
    const ended = await second.auth.getUser()
    const again = await second.auth.signInWithPassword({ email: "key@example.com", password: "four common words" })
    if (again.error !== null) throw again.error
    const before = await second.auth.mfa.getAuthenticatorAssuranceLevel()
    const { data } = await second.auth.mfa.listFactors()
    const shown = await second.auth.mfa.webauthn.authenticate({ factorId: data?.webauthn[0]?.id ?? "" })
    if (shown.error !== null) throw shown.error
    const after = await second.auth.mfa.getAuthenticatorAssuranceLevel()
    return [ended.error === null, before.data?.currentLevel, before.data?.nextLevel, after.data?.currentLevel]
  })
  assert.deepStrictEqual(levels, [false, "aal1", "aal2", "aal2"])
})
