import { createServer, type Server } from "node:http"
import { type AddressInfo } from "node:net"
import { Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Chromium, findChromium, startChromium } from "../../support/browser/browser.ts"
import { authorizationUrl, browserOf, consentChallenge, makeClient } from "../../support/oauth2/codeFlow.ts"
import { cookieOf, makePerson, tokenOf } from "../../support/identity/idp.ts"
import { type IdentityService, startIdentityService } from "../../support/identity/service.ts"
import { onwardIn, openPage, sendForm, tokenIn } from "../../support/oauth2/pageForm.ts"
import { type Tab } from "../../support/browser/browserTab.ts"
import { type Credential } from "../../../src/domain/identity/Identity.ts"

const chromium = await findChromium()
if (chromium === undefined) process.stderr.write("\n!!! NO CHROMIUM HERE: THE CONSENT PAGE IS READ, NOT LOOKED AT\n\n")

let parts: IdentityService
/** The client's own page: shows the query that the browser came with. */
let client: Server
let callback: string
beforeAll(async () => {
  parts = await startIdentityService()
  client = createServer(({ url }, response) => {
    response.setHeader("content-type", "text/html").end(`<p id=done>${(url ?? "").replaceAll("<", "")}</p>`)
  })
  await new Promise<void>((listening) => client.listen(0, "127.0.0.1", listening))
  callback = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`
  parts.idp.settings.uiUrls = { ...parts.idp.settings.uiUrls, login: new URL("/login", callback).href }
})
afterAll(async () => {
  client.closeAllConnections()
  client.close()
  await parts[Symbol.asyncDispose]()
})

const newUser = async () => {
  const person = await makePerson(parts.idp)
  return { person, credential: await cookieOf(parts.idp, person) }
}
const clientOf = (fields: Record<string, unknown> = {}) => makeClient(parts, { redirect_uris: [callback], ...fields })
const urlOf = (clientId: string) => authorizationUrl(parts, clientId, { redirect_uri: callback })

describe("the consent page", () => {
  const show = async (credential: Credential, challenge: string) => {
    const url = `${parts.service.url}/oauth2/consent?consent_challenge=${encodeURIComponent(challenge)}`
    const page = await openPage(browserOf(credential), url)
    return { ...page, token: tokenIn(page) }
  }
  const send = (
    credential: Credential | undefined,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {}
  ) => sendForm(browserOf(credential), `${parts.service.url}/oauth2/consent`, form, headers)

  it("only accepts its own form, of the same session and challenge", async () => {
    const [owner, other] = [await newUser(), await newUser()]
    const id = await clientOf()
    const challenge = await consentChallenge(parts, browserOf(owner.credential), id, { redirect_uri: callback })
    const another = await consentChallenge(parts, browserOf(owner.credential), id, { redirect_uri: callback })
    const { status, token } = await show(owner.credential, challenge)
    assert.strictEqual(status, 200)
    assert.strictEqual((await show(other.credential, challenge)).status, 403)

    const form = { consent_challenge: challenge, token, decision: "allow", grant_scope: "openid" }
    const refusals: ReadonlyArray<readonly [string, number, ReturnType<typeof send>]> = [
      ["another site", 403, send(owner.credential, form, { origin: "https://evil.example" })],
      ["a sandbox", 403, send(owner.credential, form, { origin: "null" })],
      ["no token", 403, send(owner.credential, { ...form, token: "" })],
      ["a forged token", 403, send(owner.credential, { ...form, token: "A".repeat(43) })],
      ["a token of another challenge", 403, send(owner.credential, { ...form, consent_challenge: another })],
      ["a token of another session", 403, send(other.credential, form)],
      ["another session of the same person", 403, send(await tokenOf(parts.idp, owner.person), form)],
      ["no challenge", 400, send(owner.credential, { ...form, consent_challenge: "" })],
      ["no decision", 400, send(owner.credential, { ...form, decision: "maybe" })],
      ["more than was requested", 400, send(owner.credential, { ...form, grant_scope: "admin" })],
      ["JSON", 415, send(owner.credential, form, { "content-type": "application/json" })],
      ["too much", 413, send(owner.credential, { ...form, filler: "x".repeat(300_000) })]
    ]
    for (const [what, wanted, reply] of refusals) {
      const { status, text } = await reply
      assert.strictEqual(status, wanted, `${what}: ${text.slice(0, 300)}`)
    }
    const done = await send(owner.credential, form, { origin: parts.service.url })
    assert.strictEqual(done.status, 200)
    assert.match(done.text, /http-equiv="refresh" content="0;url=http/)
  })

  it("leads to the sign-in without a session, and back through the bridge", async () => {
    const { credential } = await newUser()
    const challenge = await consentChallenge(parts, browserOf(credential), await clientOf(), { redirect_uri: callback })
    const shown = await browserOf().once(
      `${parts.service.url}/oauth2/consent?consent_challenge=${encodeURIComponent(challenge)}`
    )
    assert.strictEqual(shown.status, 302)
    // The page's form-action policy blocks redirects that answer the form.
    const sent = await send(undefined, { consent_challenge: challenge, decision: "allow" })
    assert.strictEqual(sent.status, 200)
    for (const location of [shown.headers.get("location") ?? "", onwardIn(sent)]) {
      const to = new URL(location)
      assert.strictEqual(to.origin, parts.idp.publicUrl)
      assert.match(to.searchParams.get("return_to") ?? "", /\/api\/oauth2\/bridge\/consent\?consent_challenge=/)
    }
  })
})

describe.skipIf(chromium === undefined)(`the consent page in ${chromium ?? "a browser"}`, () => {
  let browser: Chromium
  beforeAll(async () => {
    browser = await startChromium(chromium ?? "")
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  const open = async (): Promise<Tab> => {
    const { credential } = await newUser()
    const tab = await browser.open()
    const value = Redacted.value(credential.value)
    await tab.send("Network.setCookie", { name: "idp_session", value, url: parts.service.url, httpOnly: true })
    return tab
  }
  const looks = async (tab: Tab, width: number, scheme: string) => {
    await tab.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: false })
    await tab.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] })
  }
  const arrived = async (tab: Tab) => {
    const came = await tab.soon("document.getElementById('done')?.textContent ?? ''")
    return new URL(came, callback).searchParams
  }

  it.each([true, false])("grants the selected scopes, and remembers them (JavaScript: %s)", async (scripts) => {
    await using tab = await open()
    await tab.send("Emulation.setScriptExecutionDisabled", { value: !scripts })
    const id = await clientOf()
    await tab.go(urlOf(id))
    assert.strictEqual(
      await tab.soon("document.querySelector('h1').textContent"),
      "Shop asks for access to your account"
    )
    await tab.click("input[value=email]")
    await tab.click("button[value=allow]")
    const answer = await arrived(tab)
    assert.isNotNull(answer.get("code"))
    assert.strictEqual(answer.get("scope"), "openid offline")
    // That consent was not remembered, so it is requested again.
    await tab.go(urlOf(id))
    assert.strictEqual(await tab.soon("location.pathname"), "/oauth2/consent")
    await tab.click("input[name=remember]")
    await tab.click("button[value=allow]")
    assert.strictEqual((await arrived(tab)).get("scope"), "openid offline email")
    await tab.go(urlOf(id))
    assert.strictEqual((await arrived(tab)).get("scope"), "openid offline email")
  })

  it("denies", async () => {
    await using tab = await open()
    await tab.go(urlOf(await clientOf()))
    await tab.click("button[value=deny]")
    assert.strictEqual((await arrived(tab)).get("error"), "access_denied")
  })

  it.each(["allow", "deny"])("leads on when the session has ended: %s", async (decision) => {
    await using tab = await open()
    await tab.go(urlOf(await clientOf()))
    await tab.soon("document.querySelector('h1').textContent")
    await tab.send("Network.deleteCookies", { name: "idp_session", url: parts.service.url })
    await tab.click(`button[value=${decision}]`)
    const signIn = `${parts.idp.settings.uiUrls.login}?`
    assert.strictEqual(await tab.soon(`location.href.startsWith(${JSON.stringify(signIn)}) ? "there" : ""`), "there")
  })

  it("fits narrow and wide windows, follows the colour scheme, and runs no code of a client", async () => {
    await using tab = await open()
    const id = await clientOf({
      client_name: `</h1><script>document.title="owned"</script><img src=x onerror='document.title="owned"'>\u202E${"W".repeat(300)}`,
      logo_uri: "https://logo.invalid/x.png",
      tos_uri: "https://shop.example/tos",
      policy_uri: "https://shop.example/privacy",
      scope: `openid offline email ${"very_long_".repeat(20)}`
    })
    const url = authorizationUrl(parts, id, { redirect_uri: callback, scope: `openid ${"very_long_".repeat(20)}` })
    const grounds = new Set<string>()
    for (const width of [320, 1280]) {
      for (const scheme of ["light", "dark"]) {
        await looks(tab, width, scheme)
        await tab.go(url)
        const seen = await tab.soon(`JSON.stringify({
          path: location.pathname,
          title: document.title,
          scripts: document.scripts.length,
          images: document.images.length,
          overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
          card: document.querySelector("main").getBoundingClientRect().width,
          ground: getComputedStyle(document.body).backgroundColor,
          links: Array.from(document.links, (link) => link.href).join(" "),
          to: document.querySelector("footer strong").textContent
        })`)
        const { card, ground, ...rest } = JSON.parse(seen) as Record<string, unknown>
        assert.deepStrictEqual(rest, {
          path: "/oauth2/consent",
          title: "Allow access?",
          scripts: 0,
          images: 1,
          overflow: 0,
          links: "https://shop.example/tos https://shop.example/privacy",
          to: new URL(callback).host
        })
        assert.isAtMost(Number(card), Math.min(width, 448))
        grounds.add(String(ground))
        const picture = await tab.picture()
        assert.isAbove(picture.length, 5_000)
      }
    }
    assert.strictEqual(grounds.size, 2)
  })

  it("can't be framed", async () => {
    await using tab = await open()
    const framed = async (url: string) => {
      const frames = createServer((_, response) =>
        response.setHeader("content-type", "text/html").end(`<iframe src="${url.replaceAll("&", "&amp;")}"></iframe>`)
      )
      await new Promise<void>((listening) => frames.listen(0, "127.0.0.1", listening))
      await tab.go(`http://127.0.0.1:${(frames.address() as AddressInfo).port}/`)
      frames.closeAllConnections()
      frames.close()
      const { frameTree } = await tab.send<{ frameTree: { childFrames: ReadonlyArray<{ frame: { url: string } }> } }>(
        "Page.getFrameTree"
      )
      return frameTree.childFrames[0]?.frame.url
    }
    assert.strictEqual(await framed(`${parts.service.url}/openapi.json`), `${parts.service.url}/openapi.json`)
    assert.strictEqual(await framed(urlOf(await clientOf())), "chrome-error://chromewebdata/")
  })
})
