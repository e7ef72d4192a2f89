import { Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Credential } from "../../../src/domain/identity/Identity.ts"
import { type Chromium, findChromium, startChromium } from "../../support/browser/browser.ts"
import { type Browsing } from "../../support/browser/cookieClient.ts"
import { ask, assertRefused } from "../../support/client.ts"
import {
  authorizationUrl,
  browserOf,
  callback,
  clientAddress,
  goOn,
  makeClient
} from "../../support/oauth2/codeFlow.ts"
import { cookieOf, makePerson, showFactor, tokenOf } from "../../support/identity/idp.ts"
import { as, dashboard, type IdentityService, startIdentityService } from "../../support/identity/service.ts"
import { onwardIn, openPage, sendForm, tokenIn } from "../../support/oauth2/pageForm.ts"
import { startRelyingParty } from "../../support/oauth2/relyingParty.ts"
import { type Tab } from "../../support/browser/browserTab.ts"
import { assertReadable, lookAs, looks } from "../../support/browser/looks.ts"
import { totpCode } from "../../support/identity/totp.ts"

const chromium = await findChromium()
if (chromium === undefined) process.stderr.write("\n!!! NO CHROMIUM HERE: THE LOGOUT PAGE IS READ, NOT LOOKED AT\n\n")

let parts: IdentityService
let clientId: string
beforeAll(async () => {
  parts = await startIdentityService()
  parts.oauth2.urls.postLogout = `${clientAddress}/bye`
  clientId = await makeClient(parts, { skip_consent: true })
})
afterAll(() => parts[Symbol.asyncDispose]())

/** A user who is signed in at a client, so also at the OAuth 2.0 server. */
const newUser = async (credentialOf: typeof cookieOf = cookieOf) => {
  const person = await makePerson(parts.idp)
  const credential = await credentialOf(parts.idp, person)
  const browser = browserOf(credential)
  const { url } = await goOn(parts, browser, authorizationUrl(parts, clientId))
  assert.isNotNull(url.searchParams.get("code"), url.href)
  return { person, credential, browser }
}
const endSession = () => `${parts.oauth2.publicUrl}/oauth2/sessions/logout`
/** The page that a browser reaches when any other page redirects it to the server's logout. */
const toPage = async (browser: Browsing) => {
  const { url } = await browser.go(endSession(), ({ pathname }) => pathname === "/oauth2/logout")
  assert.strictEqual(`${url.origin}${url.pathname}`, `${parts.service.url}/oauth2/logout`)
  return { url, challenge: url.searchParams.get("logout_challenge") ?? "" }
}
const send = (browser: Browsing, form: Readonly<Record<string, string>>, headers?: Readonly<Record<string, string>>) =>
  sendForm(browser, `${parts.service.url}/oauth2/logout`, form, headers)
const isSignedIn = async (credential: Credential) => {
  const { status } = await as(parts.service, credential, "GET /api/auth/session")
  return status === 200
}
/** Whether the OAuth 2.0 server recognises the browser: it then requests consent without a sign-in. */
const isKnown = async (browser: Browsing) => {
  const { url } = await goOn(parts, browser, authorizationUrl(parts, clientId, { prompt: "none" }))
  return url.searchParams.get("error")
}

describe("a sign-out without a client's ID token", () => {
  it("must be confirmed, and then ends both sessions", async () => {
    const { browser, person, credential } = await newUser()
    const { challenge, url } = await toPage(browser)
    const page = await openPage(browser, url)
    assert.strictEqual(page.status, 200)
    assert.include(page.text, person.email)
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'.*frame-ancestors 'none'/)
    assert.strictEqual(page.headers.get("cache-control"), "no-store")
    assert.isTrue(await isSignedIn(credential))
    assert.strictEqual(await isKnown(browser), "consent_required")

    const form = { logout_challenge: challenge, token: tokenIn(page), decision: "leave" }
    const done = await send(browser, form, { origin: parts.service.url })
    assert.strictEqual(done.status, 200)
    assert.lengthOf(
      done.headers.getSetCookie().filter((line) => /_session=;.*Max-Age=0/i.test(line)),
      2
    )
    const finished = await goOn(parts, browser, onwardIn(done))
    assert.strictEqual(finished.url.href, `${clientAddress}/bye`)
    assert.isFalse(await isSignedIn(credential))
    assert.strictEqual(await isKnown(browserOf(credential)), "login_required")
    assert.strictEqual(await isKnown(browser), "login_required")
  })

  it("shows the page again when the session has ended in the meantime", async () => {
    const { browser, person } = await newUser()
    const { challenge, url } = await toPage(browser)
    const token = tokenIn(await openPage(browser, url))
    browser.setCookie("127.0.0.1", "idp_session", "ended")
    const again = await send(browser, { logout_challenge: challenge, token, decision: "leave" })
    assert.deepStrictEqual([again.status, onwardIn(again)], [200, url.href])
    const page = await openPage(browser, url)
    assert.notInclude(page.text, person.email)
    const done = await send(browser, { logout_challenge: challenge, token: tokenIn(page), decision: "leave" })
    assert.strictEqual((await goOn(parts, browser, onwardIn(done))).url.href, `${clientAddress}/bye`)
    assert.strictEqual(await isKnown(browser), "login_required")
  })

  it("ends no session when it is rejected", async () => {
    const { browser, credential } = await newUser(tokenOf)
    const { challenge, url } = await toPage(browser)
    const token = tokenIn(await openPage(browser, url))
    const page = await send(browser, { logout_challenge: challenge, token, decision: "stay" })
    assert.deepStrictEqual([page.status, onwardIn(page)], [200, ""])
    assert.include(page.text, "still signed in")
    assert.deepStrictEqual(page.headers.getSetCookie(), [])
    assert.isTrue(await isSignedIn(credential))
    assert.strictEqual(await isKnown(browser), "consent_required")
    // The request is already completed.
    assert.strictEqual((await send(browser, { logout_challenge: challenge, token, decision: "leave" })).status, 404)
  })

  it("returns to the dashboard, if there is one, when it is rejected", async () => {
    await using other = await startIdentityService({ DASHBOARD_URL: `${dashboard}/home` })
    const client = await makeClient(other, { skip_consent: true })
    const browser = browserOf(await cookieOf(other.idp, await makePerson(other.idp)))
    await goOn(other, browser, authorizationUrl(other, client))
    const at = `${other.oauth2.publicUrl}/oauth2/sessions/logout`
    const { url } = await browser.go(at, ({ pathname }) => pathname === "/oauth2/logout")
    assert.strictEqual(url.origin, other.service.url)
    const token = tokenIn(await openPage(browser, url))
    const form = { logout_challenge: url.searchParams.get("logout_challenge") ?? "", token, decision: "stay" }
    const page = await sendForm(browser, `${other.service.url}/oauth2/logout`, form)
    assert.strictEqual(onwardIn(page), `${dashboard}/home`)
  })

  it("only accepts its own form, of the same session and challenge", async () => {
    const [owner, other] = [await newUser(), await newUser()]
    const { challenge, url } = await toPage(owner.browser)
    const another = await toPage(owner.browser)
    const token = tokenIn(await openPage(owner.browser, url))
    assert.notStrictEqual(token, "")
    assert.strictEqual((await openPage(other.browser, url)).status, 403)

    const form = { logout_challenge: challenge, token, decision: "leave" }
    const refusals: ReadonlyArray<readonly [string, number, ReturnType<typeof send>]> = [
      ["another site", 403, send(owner.browser, form, { origin: "https://evil.example" })],
      ["a sandbox", 403, send(owner.browser, form, { origin: "null" })],
      ["another site, by Referer only", 403, send(owner.browser, form, { referer: "https://evil.example" })],
      ["no token", 403, send(owner.browser, { ...form, token: "" })],
      ["a forged token", 403, send(owner.browser, { ...form, token: "A".repeat(43) })],
      ["a token of another challenge", 403, send(owner.browser, { ...form, logout_challenge: another.challenge })],
      ["another user", 403, send(other.browser, form)],
      ["another session of the same person", 403, send(browserOf(await tokenOf(parts.idp, owner.person)), form)],
      ["no session: the page again", 200, send(browserOf(), form)],
      ["no challenge", 400, send(owner.browser, { ...form, logout_challenge: "" })],
      ["an unknown challenge", 404, send(owner.browser, { ...form, logout_challenge: "x" })],
      ["a challenge that is too long", 400, send(owner.browser, { ...form, logout_challenge: "x".repeat(14_001) })],
      ["no decision", 400, send(owner.browser, { ...form, decision: "" })],
      ["JSON", 415, send(owner.browser, form, { "content-type": "application/json" })],
      ["too much", 413, send(owner.browser, { ...form, filler: "x".repeat(300_000) })]
    ]
    for (const [what, wanted, reply] of refusals) {
      const { status, text } = await reply
      assert.strictEqual(status, wanted, `${what}: ${text.slice(0, 300)}`)
    }
    for (const { browser, credential } of [owner, other]) {
      assert.isTrue(await isSignedIn(credential))
      assert.strictEqual(await isKnown(browser), "consent_required")
    }
  })

  it("must be confirmed when only the OAuth 2.0 server has a session", async () => {
    const { browser, person, credential } = await newUser()
    await as(parts.service, credential, "POST /api/auth/logout")
    const { challenge, url } = await toPage(browser)
    const page = await openPage(browser, url)
    assert.strictEqual(page.status, 200)
    assert.notInclude(page.text, person.email)
    const done = await send(browser, { logout_challenge: challenge, token: tokenIn(page), decision: "leave" })
    assert.strictEqual((await goOn(parts, browser, onwardIn(done))).url.href, `${clientAddress}/bye`)
    assert.strictEqual((await browser.once(endSession())).headers.get("location"), `${clientAddress}/bye`)
  })

  it("redirects to a missing second factor", async () => {
    const { browser, person, credential } = await newUser()
    const setup = await as(parts.service, credential, "POST /api/auth/mfa/totp/setup")
    const { flow_id, totp_secret } = setup.json as Record<string, string>
    const totp_code = totpCode(totp_secret ?? "")
    const body = { flow_id, totp_code }
    assert.strictEqual((await as(parts.service, credential, "POST /api/auth/mfa/totp/verify", { body })).status, 200)
    const lesser = await cookieOf(parts.idp, person)
    browser.setCookie("127.0.0.1", "idp_session", Redacted.value(lesser.value))
    const { url } = await toPage(browser)
    const page = await openPage(browser, url)
    assert.strictEqual(page.status, 403)
    const way = /<a class="button main" href="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? ""
    const to = new URL(way)
    assert.deepStrictEqual([to.searchParams.get("aal"), to.searchParams.get("return_to")], ["aal2", url.href])
    await showFactor(parts.idp, lesser, { method: "totp", totp_code: totpCode(totp_secret ?? "", Date.now() + 30_000) })
    assert.strictEqual((await openPage(browser, url)).status, 200)
  })

  it("rejects challenges that are unknown to the server", async () => {
    for (const [query, status, code] of [
      ["", 400, "INVALID_REQUEST"],
      ["?logout_challenge=", 400, "INVALID_REQUEST"],
      ["?logout_challenge=%C3%A9", 400, "INVALID_REQUEST"],
      ["?logout_challenge=x", 404, "CHALLENGE_NOT_FOUND"]
    ] as const) {
      assertRefused(await ask(parts.service, `GET /oauth2/logout${query}`), status, code)
    }
    const page = await openPage(browserOf(), `${parts.service.url}/oauth2/logout?logout_challenge=x`)
    assert.match(page.text, /<h1>This link is incomplete or no longer valid<\/h1>.*<code>CHALLENGE_NOT_FOUND<\/code>/s)
    assert.notInclude(page.text, "challenge is")
  })
})

it("a client's sign-out with an ID token requires no confirmation", async () => {
  const issuer = parts.oauth2.publicUrl
  const made = await ask(parts.service, "POST /api/oauth2/clients", {
    key: parts.service.service_role,
    body: { redirect_uris: [callback], skip_consent: true, scope: "openid", response_types: ["code"] }
  })
  const { client_id: clientId = "", client_secret: secret = "" } = made.json as Record<string, string>
  const client = { clientId, secret, method: "client_secret_basic" as const, redirectUri: callback }
  const application = await startRelyingParty(issuer, client)
  const { browser, credential, person } = await newUser()
  const attempt = await application.begin({ scope: "openid" })
  const tokens = await application.finish(attempt, (await goOn(parts, browser, attempt.url)).url)
  // Both sessions of the user end, and that of another user stays.
  const token = await tokenOf(parts.idp, person)
  browser.setCookie("127.0.0.1", "svc_session", Redacted.value(token.value))
  const there = await goOn(parts, browser, application.logoutUrl({ id_token_hint: tokens.id_token ?? "" }))
  assert.strictEqual(there.url.href, `${clientAddress}/bye`)
  assert.isFalse(await isSignedIn(credential))
  assert.isFalse(await isSignedIn(token))
})

describe("the pages where the OAuth 2.0 server ends", () => {
  it("say that the user is signed out", async () => {
    const page = await openPage(browserOf(), `${parts.service.url}/oauth2/signed-out`)
    assert.strictEqual(page.status, 200)
    assert.match(page.text, /<h1>You are signed out<\/h1>/)
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/)
  })

  it("say what went wrong, without the texts of the link", async () => {
    const show = (query: string) => openPage(browserOf(), `${parts.service.url}/oauth2/error${query}`)
    const known = await show("?error=invalid_client&error_description=Call+555-1234&error_hint=now")
    assert.strictEqual(known.status, 400)
    assert.match(known.text, /not registered with this service.*<code>invalid_client<\/code>/s)
    assert.notInclude(known.text, "555")
    for (const query of ["", "?error=", "?error=constructor", "?error=%3Cb%3E", `?error=${"x".repeat(60)}`]) {
      const page = await show(query)
      assert.strictEqual(page.status, 400)
      assert.match(page.text, /start again/)
      assert.notMatch(page.text, /<b>|&lt;b&gt;|xxx/)
    }
  })
})

describe.skipIf(chromium === undefined)(`the logout page in ${chromium ?? "a browser"}`, () => {
  let browser: Chromium
  beforeAll(async () => {
    browser = await startChromium(chromium ?? "")
  })
  afterAll(() => browser[Symbol.asyncDispose]())

  /** A tab of a user who has signed in at the client, redirected to the server's logout by another page. */
  const open = async () => {
    const { browser: cookies, person, credential } = await newUser()
    const tab = await browser.open()
    for (const [name, value] of [
      ["idp_session", Redacted.value(credential.value)],
      ["oauth2_session", cookies.cookie("127.0.0.1", "oauth2_session") ?? ""]
    ] as const) {
      await tab.send("Network.setCookie", { name, value, url: parts.service.url, httpOnly: true })
    }
    parts.oauth2.urls.postLogout = `${parts.service.url}/healthz`
    await tab.go(endSession())
    assert.strictEqual(await tab.soon("document.querySelector('h1').textContent"), "Sign out?")
    return { tab, person, credential }
  }
  const seenIn = (tab: Tab) =>
    tab.soon(`JSON.stringify([
      document.scripts.length,
      document.documentElement.scrollWidth - document.documentElement.clientWidth,
      Array.from(document.querySelectorAll("button"), (one) => one.textContent),
      getComputedStyle(document.querySelector("button.main")).backgroundColor
    ])`)

  it.each([true, false])("signs out (JavaScript: %s)", async (scripts) => {
    const { person, tab, credential } = await open()
    await using _ = tab
    await tab.send("Emulation.setScriptExecutionDisabled", { value: !scripts })
    assert.include(await tab.soon("document.body.textContent"), person.email)
    await tab.send("Emulation.setDeviceMetricsOverride", {
      width: 320,
      height: 700,
      deviceScaleFactor: 1,
      mobile: false
    })
    const [count, overflow, buttons, ground] = JSON.parse(await seenIn(tab)) as ReadonlyArray<unknown>
    assert.deepStrictEqual([count, overflow, buttons], [0, 0, ["Sign out", "Stay signed in"]])
    // The style sheet is applied: its hash is correct.
    assert.notStrictEqual(ground, "rgba(0, 0, 0, 0)")
    assert.isAbove((await tab.picture()).length, 3_000)
    await tab.click("button[value=leave]")
    assert.strictEqual(await tab.soon("location.pathname === '/healthz' ? 'there' : ''"), "there")
    assert.isFalse(await isSignedIn(credential))
  })

  it.each(looks)("is readable in all of its states: $name", async (look) => {
    const { tab } = await open()
    await using _ = tab
    await lookAs(tab, look)
    const question = await tab.soon("location.href")
    await assertReadable(tab, "the question")
    const boxes = await tab.soon(`JSON.stringify(Array.from(document.querySelectorAll("button"), (one) => {
      const { bottom, height, width } = one.getBoundingClientRect()
      return [height >= 24 && width >= 24, bottom <= innerHeight]
    }))`)
    assert.deepStrictEqual(JSON.parse(boxes), [
      [true, true],
      [true, true]
    ])
    await tab.go(`${parts.service.url}/oauth2/logout?logout_challenge=x`)
    await assertReadable(tab, "a link that is not valid")
    await tab.go(question)
    await tab.send("Network.deleteCookies", { name: "idp_session", url: parts.service.url })
    await tab.go(question)
    assert.notInclude(await tab.soon("document.querySelector('main').innerText"), "You are signed in as")
    await assertReadable(tab, "the question to a browser without a session")
    await tab.click("button[value=stay]")
    await tab.soon("/still/.test(document.querySelector('h1')?.textContent) ? 'stays' : ''")
    await assertReadable(tab, "the answer: still signed in")
  })

  it("keeps the user signed in", async () => {
    const { tab, credential } = await open()
    await using _ = tab
    await tab.click("button[value=stay]")
    assert.strictEqual(
      await tab.soon("/still/.test(document.querySelector('h1')?.textContent) ? 'stays' : ''"),
      "stays"
    )
    assert.isTrue(await isSignedIn(credential))
  })
})
