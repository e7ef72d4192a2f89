import { assert, inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()

it("a key is created, shown once, changed, and revoked after its label was typed", async () => {
  const page = await openPage()
  await page.goto(at("/keys"))
  await page.getByRole("button", { name: "Create key" }).click()
  const form = page.getByRole("dialog", { name: "Create a key" })
  await form.getByLabel("service_role").check()
  await form.getByLabel("Label").fill("nightly job")
  // Neither Escape nor a press beside it loses what was typed.
  const asked = page.getByRole("dialog", { name: "Close “Create a key” and discard what you have typed?" })
  const dismiss = () => page.keyboard.press("Escape")
  for (const lose of [dismiss, dismiss, () => page.mouse.click(5, 5)]) {
    await lose()
    await asked.waitFor()
    await dismiss()
    await asked.waitFor({ state: "hidden" })
    await form.waitFor()
  }
  await form.getByLabel("Requests per minute").fill("0")
  await form.getByRole("button", { name: "Create key" }).click()
  await form.getByText("A whole number of at least 1, or nothing").waitFor()
  await form.getByLabel("Requests per minute").fill("50")
  await form.getByRole("button", { name: "Create key" }).click()
  const once = page.getByRole("dialog", { name: "The key was created" })
  const secret = (await once.locator("code").textContent()) ?? ""
  assert.match(secret, /^svc_sk_[\w-]{43}$/)
  // Browsers let a page keep a dialog open only once.
  for (const key of ["Escape", "Escape", "Escape"]) await page.keyboard.press(key)
  assert.isTrue(await once.isVisible())
  await once.getByRole("button", { name: "I have kept it" }).click()
  assert.notInclude(await page.content(), secret)
  assert.strictEqual((await ask(service, "GET /v1/status", { key: secret })).status, 200)

  const row = page.getByRole("row", { name: /nightly job/ })
  await row.getByText("50").waitFor()
  await row.getByRole("button", { name: "Edit" }).click()
  await page.getByLabel("Requests per minute").fill("")
  await page.getByRole("button", { name: "Save" }).click()
  await row.locator("[data-name='Limit per minute']").getByText("none").waitFor()

  await row.getByRole("button", { name: "Revoke" }).click()
  const confirm = page.getByRole("dialog")
  const last = confirm.getByRole("button", { name: "Revoke key" })
  assert.strictEqual(await last.getAttribute("aria-disabled"), "true")
  await last.click({ force: true })
  await confirm.getByLabel("Type nightly job to confirm").fill("nightly job")
  await last.click()
  await page.getByText("Key revoked").waitFor()
  assert.strictEqual((await ask(service, "GET /v1/status", { key: secret })).status, 401)
  await page.getByRole("button", { name: /^Show revoked/ }).click()
  await row.getByText("revoked").waitFor()
})

it("revoking the key of this session says so, and ends it", async () => {
  const { json } = await ask(service, "POST /api/keys", {
    key: service.service_role,
    body: { keyType: "service_role", label: "my own" }
  })
  const { secret } = json as { readonly secret: string }
  const page = await openPage({ signedIn: false })
  await page.goto(at("/keys"))
  await page.getByLabel("Service key").fill(secret)
  await page.keyboard.press("Enter")
  const row = page.getByRole("row", { name: /my own.*this session/ })
  await row.getByRole("button", { name: "Revoke" }).click()
  await page.getByText("you will be signed out").waitFor()
  await page.getByLabel("Type my own to confirm").fill("my own")
  await page.getByRole("button", { name: "Revoke key" }).click()
  await page.getByRole("dialog", { name: "Sign in again" }).waitFor()
})
