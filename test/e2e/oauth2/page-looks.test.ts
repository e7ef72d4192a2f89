import { Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Chromium, findChromium, startChromium } from "../../support/browser/browser.ts"
import { type Tab } from "../../support/browser/browserTab.ts"
import { assertReadable, lookAs, looks } from "../../support/browser/looks.ts"
import { cookieOf, makePerson } from "../../support/identity/idp.ts"
import { type IdentityService, startIdentityService } from "../../support/identity/service.ts"
import { authorizationUrl, makeClient } from "../../support/oauth2/codeFlow.ts"

const chromium = await findChromium()
const scopes = Array.from({ length: 20 }, (_, index) => `orders:part-${index + 1}`)
const name = "مقهى الأصدقاء ".repeat(4).trim()

describe.skipIf(chromium === undefined)("the pages of sign-ins in a browser", () => {
  let parts: IdentityService
  let browser: Chromium
  let url: string
  beforeAll(async () => {
    parts = await startIdentityService({
      SVC_BRAND_NAME: "Acme & Söhne",
      SVC_BRAND_COLOR: "#ffcc00",
      SVC_SCOPE_DESCRIPTIONS: JSON.stringify({ "orders:part-1": "See the first part of your orders" })
    })
    browser = await startChromium(chromium ?? "")
    const scope = ["openid", ...scopes].join(" ")
    url = authorizationUrl(parts, await makeClient(parts, { client_name: name, scope }), { scope })
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await parts[Symbol.asyncDispose]()
  })

  const open = async (): Promise<Tab> => {
    const credential = await cookieOf(parts.idp, await makePerson(parts.idp))
    const tab = await browser.open()
    const value = Redacted.value(credential.value)
    await tab.send("Network.setCookie", { name: "idp_session", value, url: parts.service.url, httpOnly: true })
    return tab
  }

  const paths = [
    ["consent", () => url],
    ["signed out", () => `${parts.service.url}/oauth2/signed-out`],
    ["error", () => `${parts.service.url}/oauth2/error?error=invalid_client`]
  ] as const

  it.each(looks)("are accessible, and their buttons in reach: $name", async (look) => {
    await using tab = await open()
    await lookAs(tab, look)
    for (const [what, at] of paths) {
      await tab.go(at())
      await assertReadable(tab, what)
      assert.include(await tab.soon("document.querySelector('header').textContent"), "Acme & Söhne")
    }
    await tab.go(url)
    const seen = await tab.soon(`(() => {
      const box = document.querySelector("button[value=allow]").getBoundingClientRect()
      return JSON.stringify({ top: box.top, bottom: box.bottom, window: innerHeight, page: document.body.scrollHeight })
    })()`)
    const { bottom, page, top, window } = JSON.parse(seen) as Record<string, number>
    assert.isAbove(page ?? 0, window ?? 0, "20 scopes need more than the window")
    // What gets the focus is not hidden by the buttons.
    const gap = await tab.soon(`(() => {
      const boxes = document.querySelectorAll("input[name=grant_scope][type=checkbox]")
      for (const box of boxes) box.focus()
      const last = boxes[boxes.length - 1].getBoundingClientRect()
      const bar = document.querySelector("button[value=allow]").parentElement.getBoundingClientRect()
      return String(Math.round(bar.top - last.bottom))
    })()`)
    assert.isAtLeast(Number(gap), 0)
    // A window that is too low to spare the room scrolls to the buttons.
    if (look.height >= 500) assert.isTrue((top ?? -1) >= 0 && (bottom ?? Infinity) <= (window ?? 0), seen)
  })

  it("describe scopes in the operator's words, and say whose account it is", async () => {
    await using tab = await open()
    await tab.go(url)
    const text = await tab.soon("document.querySelector('main').innerText")
    for (const part of [
      "See the first part of your orders",
      "orders:part-20",
      "You are signed in as",
      "Use another account"
    ]) {
      assert.include(text, part)
    }
    const title = await tab.soon("document.querySelector('h1').textContent")
    assert.strictEqual(title, `${name} asks for access to your Acme & Söhne account`)
  })

  it("allow with the Enter key, and do not switch the account", async () => {
    await using tab = await open()
    await tab.go(url)
    await tab.soon("document.querySelector('h1').textContent")
    await tab.click("input[name=remember]")
    for (const type of ["keyDown", "keyUp"]) {
      await tab.send("Input.dispatchKeyEvent", {
        type,
        key: "Enter",
        code: "Enter",
        windowsVirtualKeyCode: 13,
        text: "\r"
      })
    }
    const left = await tab.soon(
      "location.pathname === '/oauth2/consent' && document.forms.length > 0 ? '' : location.href"
    )
    assert.notInclude(left, parts.idp.settings.uiUrls.login)
  })
})
