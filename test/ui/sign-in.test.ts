import { assert, describe, inject, it } from "vitest"
import { ask } from "../support/client.ts"
import { onTerminal, startService, until } from "../support/service.ts"
import { assertAccessible } from "../support/ui/accessible.ts"
import { at, checkPages, openPage } from "../support/ui/dashboard.ts"

const service = inject("service")
checkPages()

describe("signing in", () => {
  it("refuses other keys in words, then opens the page that was asked for", async () => {
    const page = await openPage({ signedIn: false })
    await page.goto(at("/keys"))
    const field = page.getByLabel("Service key")
    await field.fill(service.anon)
    await page.keyboard.press("Enter")
    await page.getByText("The dashboard needs a service_role key").waitFor()
    await field.fill(`svc_sk_${"x".repeat(43)}`)
    await page.keyboard.press("Enter")
    await page.getByText("This key is unknown or revoked").waitFor()
    assert.strictEqual(await field.getAttribute("aria-invalid"), "true")
    await assertAccessible(page, "refused")
    await field.fill(service.service_role)
    await page.keyboard.press("Enter")
    await page.getByRole("table", { name: "API keys" }).waitFor()
    assert.strictEqual(page.url(), at("/keys"))
  })

  it("keeps no key where a script could read it", async () => {
    const page = await openPage({ signedIn: false })
    await page.goto(at("/"))
    await page.getByLabel("Service key").fill(service.service_role)
    await page.keyboard.press("Enter")
    await page.getByRole("navigation", { name: "Main" }).waitFor()
    const kept = await page.evaluate(() =>
      JSON.stringify([
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        location.href,
        document.body.innerHTML
      ])
    )
    assert.notInclude(kept, service.service_role)
    assert.notInclude(kept, "svc_dashboard")
  })

  it("by the link of the start leaves no token in the address", async () => {
    await using own = await startService({ env: onTerminal })
    const linkIn = () => Promise.resolve(/http:\S+#sign-in=[\w-]+/.exec(own.output())?.[0])
    const link = (await until(linkIn, (found) => found !== undefined)) ?? ""
    const page = await openPage({ signedIn: false })
    // Another service than the one whose pages are watched.
    page.removeAllListeners("request")
    await page.goto(link)
    await page.getByRole("navigation", { name: "Main" }).waitFor()
    assert.notInclude(page.url(), "sign-in")
    await page.goBack()
    await page.goForward()
    assert.notInclude(page.url(), "sign-in")
    // Before its service ends.
    await page.context().close()
  })

  it("says why a used link does not work", async () => {
    const page = await openPage({ signedIn: false })
    await page.goto(`${at("/")}#sign-in=${"x".repeat(43)}`)
    await page.getByText("The sign-in link has expired or was used").waitFor()
    assert.notInclude(page.url(), "xxx")
  })
})

describe("a session that ends", () => {
  it("asks over the page, and goes on with what was to be done", async () => {
    const page = await openPage()
    await page.goto(at("/keys"))
    await page.getByRole("button", { name: "Create key" }).click()
    await page.getByLabel("Label").fill("kept over a new sign-in")
    const cookies = await page.context().cookies()
    const session = cookies.find(({ name }) => name === "svc_dashboard")
    await ask(service, "DELETE /api/dashboard/session", {
      headers: { cookie: `svc_dashboard=${session?.value}`, origin: service.url }
    })
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
    const again = page.getByRole("dialog", { name: "Sign in again" })
    await again.waitFor()
    await assertAccessible(page, "signed out")
    await again.getByLabel("Service key").fill(service.service_role)
    await page.keyboard.press("Enter")
    await page.getByRole("dialog", { name: "The key was created" }).waitFor()
    await page.getByRole("button", { name: "I have kept it" }).click()
    await page.getByRole("row", { name: /kept over a new sign-in/ }).waitFor()
  })

  it("by signing out leaves the sign-in page", async () => {
    const page = await openPage()
    await page.goto(at("/sql"))
    await page.getByRole("button", { name: "Theme and session" }).click()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("heading", { name: "Sign in", exact: true }).waitFor()
    assert.isUndefined((await page.context().cookies()).find(({ name }) => name === "svc_dashboard"))
  })
})
