import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Chromium, findChromium, startChromium } from "../../support/browser/browser.ts"
import { type Tab } from "../../support/browser/browserTab.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import { type Service, startService } from "../../support/service.ts"

const chromium = await findChromium()
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const password = "four common words"

describe.skipIf(chromium === undefined)(`the pages of accounts in ${chromium ?? "a browser"}`, () => {
  let browser: Chromium
  let service: Service
  let url: string
  beforeAll(async () => {
    browser = await startChromium(chromium ?? "")
    const port = String(await freePort())
    // Passkeys need a host name, and a page that knows its own.
    url = `http://localhost:${port}`
    service = await startService({ env: { PORT: port, PUBLIC_URL: url } })
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  const run = async (tab: Tab, expression: string) => {
    const { exceptionDetails, result } = await tab.send<{ exceptionDetails?: unknown; result: { value?: unknown } }>(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true }
    )
    assert.isUndefined(exceptionDetails, JSON.stringify(exceptionDetails))
    return result.value
  }
  const fill = (tab: Tab, fields: Record<string, string>) =>
    run(
      tab,
      `for (const [name, value] of Object.entries(${JSON.stringify(fields)})) document.querySelector(\`input[name=\${name}]:not([type=hidden])\`).value = value`
    )
  const at = (tab: Tab, path: string) =>
    tab.soon(`location.pathname === ${JSON.stringify(path)} && document.readyState === "complete" ? "here" : ""`)
  const register = async (tab: Tab) => {
    const email = freshEmail()
    await tab.go(`${url}/auth/register`)
    await fill(tab, { email, password })
    await tab.click("button.main")
    await at(tab, "/auth/account")
    return email
  }
  const button = (action: string) => `button[value=${action}]`

  it("add a passkey, and sign in with it", async () => {
    await using tab = await browser.open()
    await tab.send("WebAuthn.enable")
    await tab.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true
      }
    })
    const email = await register(tab)
    await tab.go(`${url}/auth/keys?kind=passkey`)
    await fill(tab, { name: "Laptop" })
    await tab.click("button.main")
    await at(tab, "/auth/account")
    assert.include(await tab.soon("document.body.textContent"), "Laptop")
    // The authenticator knows the key, and so does the page.
    await tab.go(`${url}/auth/keys?kind=passkey`)
    await tab.click("button.main")
    assert.strictEqual(await tab.soon("document.querySelector('output').value"), "This key is registered already.")
    await tab.go(`${url}/auth/account`)
    await tab.click(button("logout"))
    await at(tab, "/auth/signed-out")
    await tab.go(`${url}/auth/passkey?return_to=${encodeURIComponent(`${url}/auth/account`)}`)
    await tab.click("button.main")
    await at(tab, "/auth/account")
    assert.include(await tab.soon("document.body.textContent"), email)
  })

  it("work without JavaScript", async () => {
    await using tab = await browser.open()
    const email = await register(tab)
    await tab.go(`${url}/auth/account`)
    await tab.click(button("logout"))
    await at(tab, "/auth/signed-out")
    await tab.go(`${url}/auth/login`)
    await fill(tab, { email, password })
    await tab.send("Emulation.setScriptExecutionDisabled", { value: true })
    await tab.click("button.main")
    await at(tab, "/auth/account")
    await tab.click(button("totp"))
    assert.match(await tab.soon("document.querySelector('pre')?.textContent ?? ''"), /^(?:[A-Z2-7]{4} ?){8}$/)
  })

  it.each([
    ["light", "none"],
    ["dark", "none"],
    ["light", "active"]
  ])("fit 320 px and are accessible (%s, forced colours %s)", async (scheme, forced) => {
    await using tab = await browser.open()
    await register(tab)
    await tab.send("Emulation.setDeviceMetricsOverride", {
      width: 320,
      height: 640,
      deviceScaleFactor: 1,
      mobile: false
    })
    await tab.send("Emulation.setEmulatedMedia", {
      features: [
        { name: "prefers-color-scheme", value: scheme },
        { name: "forced-colors", value: forced }
      ]
    })
    await tab.send("Page.setBypassCSP", { enabled: true })
    const paths = [
      "account",
      "keys?kind=passkey",
      "password",
      "recovery",
      "verify",
      "login?refresh=true",
      "register",
      "passkey",
      "signed-out"
    ]
    for (const path of paths) {
      await tab.go(`${url}/auth/${path}`)
      assert.strictEqual(
        await run(tab, "document.documentElement.scrollWidth <= innerWidth"),
        true,
        `${path} is too wide`
      )
      await run(tab, axe)
      const violations = await run(
        tab,
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`))"
      )
      assert.deepStrictEqual(violations, [], path)
    }
  })
})
