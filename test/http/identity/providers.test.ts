import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type FakeGitHub, type GitHubUser, startFakeGitHub } from "../../fakes/identity/github.ts"
import { type Browsing, type Page, startBrowsing } from "../../support/browser/cookieClient.ts"
import { ask, assertRefused, sql } from "../../support/client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { freshEmail } from "../../support/identity/idp.ts"
import {
  asMember,
  elsewhere,
  logIn,
  mailTo,
  type Member,
  register,
  sessionCookie
} from "../../support/identity/people.ts"
import { totpCode } from "../../support/identity/totp.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

/** The provider: another instance of this service. */
let issuer: InProcessService
let github: FakeGitHub
let service: InProcessService
/** Another process on the same database and at the same address. */
let replica: InProcessService
const secret = "a-secret-of-the-client"
let settings: Readonly<Record<string, string>>

beforeAll(async () => {
  const [issuerPort, port] = [await freePort(), await freePort()]
  github = await startFakeGitHub({ id: "svc", secret })
  // Two host names, as cookies belong to all ports of one.
  const issuerUrl = `http://127.0.0.1:${issuerPort}`
  const url = `http://localhost:${port}`
  issuer = await serveInProcess({ PORT: String(issuerPort), PUBLIC_URL: issuerUrl })
  const made = await ask(issuer, "POST /api/oauth2/clients", {
    key: issuer.service_role,
    body: {
      client_name: "Service",
      redirect_uris: [`${url}/auth/callback/work`],
      scope: "openid email profile",
      skip_consent: true
    }
  })
  assert.strictEqual(made.status, 201, made.text)
  const client = made.json as { client_id: string; client_secret: string }
  settings = {
    PUBLIC_URL: url,
    LOG_LEVEL: "Debug",
    SVC_SIGN_IN_WITH: "work,github,down",
    SVC_SIGN_IN_WORK_ISSUER: issuerUrl,
    SVC_SIGN_IN_WORK_LABEL: "Work & Co",
    SVC_SIGN_IN_WORK_CLIENT_ID: client.client_id,
    SVC_SIGN_IN_WORK_CLIENT_SECRET: client.client_secret,
    SVC_SIGN_IN_GITHUB_ISSUER: github.url,
    SVC_SIGN_IN_GITHUB_CLIENT_ID: "svc",
    SVC_SIGN_IN_GITHUB_CLIENT_SECRET: secret,
    SVC_SIGN_IN_DOWN_ISSUER: `http://localhost:${await freePort()}`,
    SVC_SIGN_IN_DOWN_CLIENT_ID: "svc"
  }
  service = await serveInProcess({ ...settings, PORT: String(port) })
  replica = await serveInProcess(settings, () => service.databaseUrl)
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
  await github[Symbol.asyncDispose]()
})

const at = (path: string) => new URL(path, settings["PUBLIC_URL"])
const html = { accept: "text/html" }

/** Submits the form of a page that has this button, as a browser without JavaScript does. */
const press = async (browser: Browsing, page: Page, name: string, value: string, more: Record<string, string> = {}) => {
  const forms = [...page.text.matchAll(/<form method="post" action="([^"]+)">([\s\S]*?)<\/form>/g)]
  const [, action = "", inner = ""] =
    forms.find(([, , text = ""]) => text.includes(`name="${name}" value="${value}"`)) ?? []
  assert.isNotEmpty(action, `a button ${name}=${value}: ${page.text}`)
  const fields = [...inner.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const body = new URLSearchParams(
    fields.map(([, key = "", text = ""]): [string, string] => [key, text.replaceAll("&amp;", "&")])
  )
  for (const [key, text] of Object.entries({ ...more, [name]: value })) body.set(key, text)
  return browser.once(new URL(action, page.url), {
    method: "POST",
    body,
    headers: { ...html, ...elsewhere(), origin: page.url.origin }
  })
}
/** Where a page that leaves refreshes to. */
const nextOf = ({ headers, text }: Page) =>
  headers.get("location") ??
  /http-equiv="refresh" content="0;url=([^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ??
  ""

/** Presses the provider's button, and stops where the provider sends the browser back. */
const start = async (browser: Browsing, provider: string, returnTo?: string) => {
  const query = returnTo === undefined ? "" : `?${new URLSearchParams({ return_to: returnTo })}`
  const login = await browser.go(at(`/auth/login${query}`), undefined, { headers: html })
  return nextOf(await press(browser, login, "provider", provider))
}
const isBack = ({ pathname }: URL) => pathname.startsWith("/auth/callback/")
/** At the provider, where the person is signed in already. */
const through = async (browser: Browsing, url: string) => (await browser.go(url, isBack)).url
/** The same at a replica, which no redirect leads to. */
const answerAt = (one: InProcessService, url: URL, cookie: string) =>
  fetch(one.url + url.pathname + url.search, { redirect: "manual", headers: { ...html, ...elsewhere(), cookie } })
const hasSession = ({ headers }: Response) => headers.getSetCookie().some((line) => /^idp_session=[^;]/.test(line))
const back = (browser: Browsing, url: URL) => browser.once(url, { headers: { ...html, ...elsewhere() } })
const signInWith = async (browser: Browsing, provider: string) =>
  back(browser, await through(browser, await start(browser, provider)))

/** A person at the issuer, and a browser that is signed in there. `verified`: the issuer has verified the address. */
const atIssuer = async (verified: boolean, email = freshEmail()): Promise<{ browser: Browsing; person: Member }> => {
  const person = await register(issuer, email)
  if (verified)
    await sql(issuer, "update svc.identity_addresses set verified_at = now() where identity_id = $1::text::uuid", [
      person.id
    ])
  const browser = startBrowsing()
  browser.setCookie("127.0.0.1", "idp_session", person.cookie.replace("idp_session=", ""))
  return { browser, person }
}
let users = 1000
const githubUser = (email = freshEmail(), verified = true): GitHubUser => ({
  id: ++users,
  login: `octo${users}`,
  name: "Octo Cat",
  emails: [
    { email: freshEmail(), primary: false, verified: true },
    { email, primary: true, verified }
  ]
})
const sessionOf = async (browser: Browsing) => {
  const page = await browser.once(at("/api/auth/session"))
  return JSON.parse(page.text) as {
    methods: Array<string>
    identity: { id: string; traits: Record<string, unknown>; addresses: Array<{ verified: boolean }> }
  }
}
const verify = (email: string) =>
  sql(service, "update svc.identity_addresses set verified_at = now() where value = $1", [email])
const account = (cookie: string) =>
  asMember(service, cookie, "GET /api/auth/account", { headers: { origin: at("/").origin } })
const my = (cookie: string, line: string) => asMember(service, cookie, line, { headers: { origin: at("/").origin } })
const ownerOf = (email: string) =>
  sql(service, "select identity_id::text as id from svc.identity_addresses where value = $1", [email])

describe("signing in at another instance of this service", () => {
  it("makes an account with its verified address and name, and finds it again", async () => {
    const { browser, person } = await atIssuer(true)
    const page = await browser.go(at("/auth/login"), undefined, { headers: html })
    assert.include(page.text, "Continue with Work &amp; Co")
    const first = await signInWith(browser, "work")
    assert.strictEqual(nextOf(first), at("/auth/account").href, first.text)
    const made = await sessionOf(browser)
    assert.strictEqual(made.identity.traits["email"], person.email)
    assert.deepStrictEqual([made.identity.addresses[0]?.verified, made.methods], [true, ["oidc"]])

    const again = startBrowsing()
    again.setCookie("127.0.0.1", "idp_session", person.cookie.replace("idp_session=", ""))
    await signInWith(again, "work")
    assert.strictEqual((await sessionOf(again)).identity.id, made.identity.id)
  })

  it("returns to the page that asked, and continues on another replica", async () => {
    const { browser } = await atIssuer(true)
    const wanted = at("/oauth2/consent?consent_challenge=x").href
    const url = await through(browser, await start(browser, "work", wanted))
    // The replica has no cache and no memory of the attempt.
    const cookie = `svc_provider=${browser.cookie("localhost", "svc_provider")}`
    const reply = await answerAt(replica, url, cookie)
    assert.include(await reply.text(), `url=${wanted.replaceAll("&", "&amp;")}`)
    assert.isTrue(hasSession(reply))
  })

  it("is possible for apps with pages of their own", async () => {
    const methods = await ask(service, "GET /api/auth/methods")
    assert.deepStrictEqual((methods.json as { providers: unknown }).providers, [
      { id: "work", label: "Work & Co" },
      { id: "github", label: "GitHub" },
      { id: "down", label: "down" }
    ])
    const { browser, person } = await atIssuer(true)
    const begun = await browser.once(at("/api/auth/login/with/work?return_to=/ignored"), { method: "POST" })
    const url = await through(browser, (JSON.parse(begun.text) as { redirect_to: string }).redirect_to)
    await back(browser, url)
    assert.strictEqual((await sessionOf(browser)).identity.traits["email"], person.email)
    assertRefused(await ask(service, "POST /api/auth/login/with/nowhere"), 404, "PROVIDER_NOT_FOUND")
  })

  it("makes a sign-in recent again, in place of the session before", async () => {
    const { browser, person } = await atIssuer(true)
    const old =
      "update svc.identity_sessions set authenticated_at = now() - interval '1 hour' where identity_id = $1::text::uuid"
    await sql(issuer, old, [person.id])
    await signInWith(browser, "work")
    const { id } = (await sessionOf(browser)).identity
    await sql(service, old, [id])
    const change = () => my(`idp_session=${browser.cookie("localhost", "idp_session")}`, "POST /api/auth/links/github")
    assertRefused(await change(), 403, "reauthentication_required")
    const query = new URLSearchParams({ refresh: "true", return_to: at("/auth/account").href })
    const login = await browser.go(at(`/auth/login?${query}`), undefined, { headers: html })
    assert.include(login.text, "Confirm that it is you")
    const url = new URL(nextOf(await press(browser, login, "provider", "work")))
    assert.strictEqual(url.searchParams.get("max_age"), "0")
    // Of a provider that does not obey, or a browser that leaves it out.
    const lax = new URL(url)
    lax.searchParams.delete("max_age")
    const refused = await back(browser, await through(browser, lax.href))
    assert.include(refused.text, "did not ask you to sign in again")
    assert.strictEqual(refused.status, 403)
    assertRefused(await change(), 403, "reauthentication_required")
    const next = new URL(nextOf(await press(browser, login, "provider", "work")))
    const asked = await browser.go(next.href, isBack, { headers: html })
    assert.strictEqual(asked.url.origin, new URL(issuer.url).origin)
    const shown = await press(browser, asked, "refresh", "true", { password: person.password })
    await back(browser, await through(browser, nextOf(shown)))
    assert.strictEqual((await change()).status, 200)
    const sessions = await sql(service, "select from svc.identity_sessions where identity_id = $1::text::uuid", [id])
    assert.lengthOf(sessions, 1)
  })

  it("asks for the second factor of the account here", async () => {
    const { browser, person } = await atIssuer(true)
    await signInWith(browser, "work")
    const { id } = (await sessionOf(browser)).identity
    const cookie = `idp_session=${browser.cookie("localhost", "idp_session")}`
    const setup = (await my(cookie, "POST /api/auth/mfa/totp/setup")).json as { flow_id: string; totp_secret: string }
    const body = { flow_id: setup.flow_id, totp_code: totpCode(setup.totp_secret) }
    await asMember(service, cookie, "POST /api/auth/mfa/totp/verify", { body, headers: { origin: at("/").origin } })
    const again = startBrowsing()
    again.setCookie("127.0.0.1", "idp_session", person.cookie.replace("idp_session=", ""))
    const due = await signInWith(again, "work")
    assert.strictEqual(nextOf(due), at("/auth/factor").href)
    const half = `idp_session=${again.cookie("localhost", "idp_session")}`
    assertRefused(await account(half), 403, "aal2_required")
    assert.lengthOf(await sql(service, "select from svc.identity_links where identity_id = $1::text::uuid", [id]), 1)
  })
})

describe("GitHub", () => {
  it("signs in by its API, with the primary address", async () => {
    github.user = githubUser()
    const browser = startBrowsing()
    const done = await signInWith(browser, "github")
    assert.strictEqual(nextOf(done), at("/auth/account").href, done.text)
    const { identity } = await sessionOf(browser)
    assert.deepStrictEqual(
      [identity.traits["email"], identity.traits["name"]],
      [github.user.emails[1]!.email, "Octo Cat"]
    )
    // The account is known by its number: name and address may change.
    github.user = { ...github.user, login: "renamed", emails: [{ email: freshEmail(), primary: true, verified: true }] }
    const again = startBrowsing()
    await signInWith(again, "github")
    assert.strictEqual((await sessionOf(again)).identity.id, identity.id)
  })

  it("makes one account of two first sign-ins at once", async () => {
    const user = githubUser()
    github.user = user
    const browsers = [startBrowsing(), startBrowsing(), startBrowsing()]
    const urls: Array<URL> = []
    for (const browser of browsers) urls.push(await through(browser, await start(browser, "github")))
    const done = await Promise.all(browsers.map((browser, n) => back(browser, urls[n]!)))
    assert.deepStrictEqual(
      done.map(({ status }) => status),
      [302, 302, 302]
    )
    assert.lengthOf(await ownerOf(user.emails[1]!.email), 1)
  })

  it("may be cancelled", async () => {
    github.user = undefined
    const browser = startBrowsing()
    const page = await signInWith(browser, "github")
    assert.strictEqual(page.status, 403)
    assert.include(page.text, "You cancelled it at GitHub")
    assert.include(page.text, at("/auth/login").href)
  })
})

describe("addresses", () => {
  it("link to an account here if both sides have verified them, and its owner is notified", async () => {
    const person = await register(service)
    await verify(person.email)
    const { browser } = await atIssuer(true, person.email)
    await signInWith(browser, "work")
    assert.strictEqual((await sessionOf(browser)).identity.id, person.id)
    assert.include(
      (await mailTo(service, person.email)).text,
      "Your account at Work & Co can sign in to your account now"
    )
  })

  it("never link if either side has not verified them", async () => {
    for (const here of [true, false]) {
      for (const there of [true, false]) {
        if (here && there) continue
        const person = await register(service)
        if (here) await verify(person.email)
        github.user = githubUser(person.email, there)
        const browser = startBrowsing()
        const refused = await signInWith(browser, "github")
        assert.strictEqual(refused.status, 409)
        assert.include(refused.text, "There is an account with your e-mail address already")
        assert.isUndefined(browser.cookie("localhost", "idp_session"))
        assert.deepStrictEqual(
          await sql(service, "select from svc.identity_links where identity_id = $1::text::uuid", [person.id]),
          []
        )
      }
    }
  })

  it("never link to those that only look like them", async () => {
    const email = `k${freshEmail()}`
    const { id } = await register(service, email)
    await verify(email)
    // The Kelvin sign, and a full-width letter: the letters are a k for whoever compares in lower case or NFKC.
    for (const lookAlike of [`\u212a${email.slice(1)}`, `\uff4b${email.slice(1)}`]) {
      github.user = githubUser(lookAlike)
      assert.strictEqual((await signInWith(startBrowsing(), "github")).status, 409)
    }
    github.user = githubUser(email.toUpperCase())
    const browser = startBrowsing()
    await signInWith(browser, "github")
    assert.strictEqual((await sessionOf(browser)).identity.id, id)
    // Nor is an address verified that only looks like the one that is.
    github.user = githubUser(`\u212a${freshEmail()}`)
    const other = startBrowsing()
    await signInWith(other, "github")
    assert.isFalse((await sessionOf(other)).identity.addresses[0]?.verified)
  })

  it("make no account if they are not verified but must be, or when registration is closed", async () => {
    const { email } = await register(service)
    await verify(email)
    await using strict = await serveInProcess(
      { ...settings, SVC_AUTH_VERIFY: "required", SVC_AUTH_REGISTRATION: "false" },
      () => service.databaseUrl
    )
    const finish = async (user: GitHubUser) => {
      github.user = user
      const begun = await ask(strict, "POST /api/auth/login/with/github", { headers: elsewhere() })
      const cookie = begun.headers.getSetCookie()[0]?.split(";")[0] ?? ""
      const url = await through(startBrowsing(), (begun.json as { redirect_to: string }).redirect_to)
      const answer = await answerAt(strict, url, cookie)
      return { text: await answer.text(), signedIn: hasSession(answer) }
    }
    // The same for an address with an account, and for one without.
    for (const address of [email, freshEmail()]) {
      assert.include((await finish(githubUser(address, false))).text, "has not confirmed your e-mail address")
    }
    assert.include((await finish({ ...githubUser(), emails: [] })).text, "did not send your e-mail address")
    assert.include((await finish(githubUser())).text, "only the operator creates new ones")
    assert.isTrue((await finish(githubUser(email))).signedIn, "an account that exists")
  })

  it("that somebody else registered by a provider belong to their owner after a recovery", async () => {
    const email = freshEmail()
    github.user = githubUser(email, false)
    const attacker = startBrowsing()
    await signInWith(attacker, "github")
    const { identity } = await sessionOf(attacker)
    assert.strictEqual(identity.addresses[0]?.verified, false)
    const { id } = (await ask(service, "GET /api/auth/recovery")).json as { id: string }
    await ask(service, "POST /api/auth/recovery", { body: { flowId: id, email }, headers: elsewhere() })
    const { code, flowId } = await mailTo(service, email)
    const mine = await ask(service, "POST /api/auth/recovery/confirm", { body: { flowId, code } })
    assert.isNotEmpty(sessionCookie(mine))
    const refused = await signInWith(startBrowsing(), "github")
    assert.strictEqual(refused.status, 409, "the attacker's link is gone")
  })

  it("of accounts that are disabled start no session", async () => {
    github.user = githubUser()
    const browser = startBrowsing()
    await signInWith(browser, "github")
    const { identity } = await sessionOf(browser)
    await sql(service, "update svc.identities set state = 'inactive' where id = $1::text::uuid", [identity.id])
    const other = startBrowsing()
    assert.include((await signInWith(other, "github")).text, "Your account is disabled")
    assert.isUndefined(other.cookie("localhost", "idp_session"))
  })
})

describe("linked accounts", () => {
  /** Signs in with a password, and opens the account page. */
  const member = async () => {
    const person = await register(service)
    const browser = startBrowsing()
    browser.setCookie("localhost", "idp_session", person.cookie.replace("idp_session=", ""))
    return { person, browser, show: () => browser.go(at("/auth/account"), undefined, { headers: html }) }
  }
  const link = async (browser: Browsing, page: Page) =>
    through(browser, nextOf(await press(browser, page, "id", "github", { action: "link" })))

  it("are linked and unlinked on the account page", async () => {
    const { browser, person, show } = await member()
    github.user = githubUser(freshEmail(), false)
    const done = await back(browser, await link(browser, await show()))
    assert.strictEqual(nextOf(done), at("/auth/account").href, done.text)
    assert.include((await show()).text, github.user.login)
    const other = startBrowsing()
    await signInWith(other, "github")
    assert.strictEqual((await sessionOf(other)).identity.id, person.id)

    const links = (await my(person.cookie, "GET /api/auth/links")).json as Array<{ id: string; account: string }>
    assert.deepStrictEqual(
      links.map(({ account, id }) => [id, account]),
      [["github", github.user.login]]
    )
    await press(browser, await show(), "id", "github", { action: "unlink" })
    assert.notInclude((await show()).text, github.user.login)
    assertRefused(await my(person.cookie, "DELETE /api/auth/links/github"), 404, "LINK_NOT_FOUND")
  })

  it("are not unlinked if nothing else signs in", async () => {
    github.user = githubUser()
    const browser = startBrowsing()
    await signInWith(browser, "github")
    const cookie = `idp_session=${browser.cookie("localhost", "idp_session")}`
    assertRefused(await my(cookie, "DELETE /api/auth/links/github"), 409, "LAST_SIGN_IN_METHOD")
    const body = { password: "four common words" }
    await asMember(service, cookie, "PUT /api/auth/password", { body, headers: { origin: at("/").origin } })
    assert.strictEqual((await my(cookie, "DELETE /api/auth/links/github")).status, 200)
    const told = "select 1 as one from svc.mails where recipient = $1 and subject like 'A way to sign in was removed%'"
    assert.lengthOf(await sql(service, told, [String(github.user.emails[1]!.email)]), 1)
    assert.strictEqual((await logIn(service, String(github.user.emails[1]!.email), body.password)).status, 200)
  })

  it("belong to one account, and an account has one of each provider", async () => {
    const one = await member()
    const other = await member()
    github.user = githubUser()
    await back(one.browser, await link(one.browser, await one.show()))
    const taken = await back(other.browser, await link(other.browser, await other.show()))
    assert.strictEqual(taken.status, 409)
    assert.include(taken.text, "is linked to another account here")
    github.user = githubUser()
    const begun = await my(one.person.cookie, "POST /api/auth/links/github")
    const url = await through(one.browser, (begun.json as { redirect_to: string }).redirect_to)
    const cookie = `${one.person.cookie}; ${
      begun.headers
        .getSetCookie()
        .find((line) => line.startsWith("svc_provider"))
        ?.split(";")[0]
    }`
    const second = await answerAt(service, url, cookie)
    assert.include(await second.text(), "Another account at GitHub is linked already")
  })

  it("need a session that is recent", async () => {
    const { person } = await member()
    await sql(
      service,
      "update svc.identity_sessions set authenticated_at = now() - interval '1 hour' where identity_id = $1::text::uuid",
      [person.id]
    )
    assertRefused(await my(person.cookie, "POST /api/auth/links/github"), 403, "reauthentication_required")
    assertRefused(await my(person.cookie, "DELETE /api/auth/links/github"), 403, "reauthentication_required")
    assertRefused(await ask(service, "GET /api/auth/links"), 401, "UNAUTHENTICATED")
  })
})

describe("attacks", () => {
  it("login CSRF: a foreign answer, or one without the cookie of the browser that began, signs nobody in", async () => {
    github.user = githubUser()
    const attacker = startBrowsing()
    const url = await through(attacker, await start(attacker, "github"))
    // The victim's browser has a cookie of its own, from an attempt of its own.
    const victim = startBrowsing()
    await start(victim, "github")
    for (const browser of [victim, startBrowsing()]) {
      const refused = await back(browser, url)
      assert.strictEqual(refused.status, 410)
      assert.isUndefined(browser.cookie("localhost", "idp_session"))
    }
    // It has not been used up by that, and works once where it began.
    assert.strictEqual((await back(attacker, url)).status, 302)
    assert.strictEqual((await back(attacker, url)).status, 410)
  })

  it("an answer is used once, by parallel requests to two replicas", async () => {
    github.user = githubUser()
    const browser = startBrowsing()
    const url = await through(browser, await start(browser, "github"))
    const cookie = `svc_provider=${browser.cookie("localhost", "svc_provider")}`
    const replies = await Promise.all([service, replica, service, replica].map((one) => answerAt(one, url, cookie)))
    assert.deepStrictEqual(replies.map(({ status }) => status).toSorted(), [302, 410, 410, 410])
  })

  it("mix-up: an answer at another provider's callback, or of another issuer, is refused", async () => {
    const { browser } = await atIssuer(true)
    const url = await through(browser, await start(browser, "work"))
    assert.strictEqual(url.searchParams.get("iss"), settings["SVC_SIGN_IN_WORK_ISSUER"])
    const elsewhereUrl = new URL(url)
    elsewhereUrl.pathname = "/auth/callback/github"
    assert.strictEqual((await back(browser, elsewhereUrl)).status, 410)
    for (const iss of ["https://evil.example", ""]) {
      const fresh = new URL(await through(browser, await start(browser, "work")))
      if (iss === "") fresh.searchParams.delete("iss")
      else fresh.searchParams.set("iss", iss)
      const refused = await back(browser, fresh)
      assert.strictEqual(refused.status, 400, refused.text)
      assert.isUndefined(browser.cookie("localhost", "idp_session"))
    }
  })

  it.each(["github", "work"])("an answer of %s without one code is 400, with a page that says so", async (name) => {
    github.user = githubUser()
    const changes: ReadonlyArray<(query: URLSearchParams) => void> = [
      (query) => query.delete("code"),
      (query) => query.set("code", ""),
      (query) => query.append("code", "another"),
      (query) => query.append("error", "server_error"),
      (query) => query.set("code", "no-code-of-this-provider")
    ]
    for (const change of changes) {
      const { browser } = name === "work" ? await atIssuer(true) : { browser: startBrowsing() }
      const url = await through(browser, await start(browser, name))
      change(url.searchParams)
      const page = await back(browser, url)
      assert.strictEqual(page.status, 400, url.search)
      assert.include(page.text, "Please start again")
      assert.isUndefined(browser.cookie("localhost", "idp_session"))
    }
  })

  it("a code of another browser's attempt is refused by PKCE", async () => {
    github.user = githubUser()
    const [one, other] = [startBrowsing(), startBrowsing()]
    const stolen = await through(one, await start(one, "github"))
    const mine = await through(other, await start(other, "github"))
    mine.searchParams.set("code", stolen.searchParams.get("code") ?? "")
    assert.strictEqual((await back(other, mine)).status, 400)
    assert.isUndefined(other.cookie("localhost", "idp_session"))
  })

  it("a link that was begun by one account is not completed by another", async () => {
    const victim = await register(service)
    const attacker = await register(service)
    github.user = githubUser()
    const begun = await my(attacker.cookie, "POST /api/auth/links/github")
    const provider = begun.headers
      .getSetCookie()
      .find((line) => line.startsWith("svc_provider"))
      ?.split(";")[0]
    const url = await through(startBrowsing(), (begun.json as { redirect_to: string }).redirect_to)
    for (const cookie of [`${victim.cookie}; ${provider}`, String(provider), victim.cookie]) {
      const reply = await answerAt(service, url, cookie)
      assert.isAtLeast(reply.status, 403)
    }
    assert.deepStrictEqual(
      await sql(service, "select from svc.identity_links where subject = $1", [String(github.user.id)]),
      []
    )
  })

  it("a form of another site begins nothing", async () => {
    const browser = startBrowsing()
    const login = await browser.go(at("/auth/login"), undefined, { headers: html })
    const foreign = (headers: Record<string, string>, body = "provider=github") =>
      browser.once(at("/auth/with"), {
        method: "POST",
        body,
        headers: { ...html, "content-type": "application/x-www-form-urlencoded", ...headers }
      })
    assert.strictEqual((await foreign({ origin: "https://evil.example" })).status, 403)
    assert.strictEqual((await foreign({ origin: at("/").origin })).status, 403)
    assert.include(login.text, `name="provider" value="github"`)
    assertRefused(
      await ask(service, "POST /api/auth/login/with/github", { headers: { origin: "https://evil.example" } }),
      403,
      "CSRF"
    )
  })

  it("return_to is a page of ours only", async () => {
    for (const evil of [
      "https://evil.example/",
      "//evil.example",
      "javascript:alert(1)",
      "https://localhost.evil.example"
    ]) {
      github.user = githubUser()
      const browser = startBrowsing()
      const done = await back(browser, await through(browser, await start(browser, "github", evil)))
      assert.strictEqual(nextOf(done), at("/auth/account").href)
    }
  })

  it("nonsense is 4xx", async () => {
    const browser = startBrowsing()
    await start(browser, "github")
    for (const query of [
      "",
      "state=",
      "state=x&code=y",
      `state=${"a".repeat(5000)}`,
      "state=%00",
      "error=access_denied&error_description=<script>"
    ]) {
      const page = await back(browser, at(`/auth/callback/github?${query}`))
      assert.strictEqual(page.status, 410, query)
      assert.notInclude(page.text, "<script>")
    }
    for (const name of ["nowhere", "%00", "__proto__", "a".repeat(300)]) {
      assert.strictEqual((await back(browser, at(`/auth/callback/${name}?state=x`))).status, 404, name)
    }
  })
})

describe("a provider that fails", () => {
  it("gives a page with a way on, and 502 by the API", async () => {
    const browser = startBrowsing()
    const login = await browser.go(at("/auth/login"), undefined, { headers: html })
    const page = await press(browser, login, "provider", "down")
    assert.strictEqual(page.status, 502)
    assert.include(page.text, "down does not respond. Please try again in a few minutes")
    assert.include(page.text, `href="${at("/auth/login").href}"`)
    assertRefused(
      await ask(service, "POST /api/auth/login/with/down", { headers: elsewhere() }),
      502,
      "PROVIDER_FAILED"
    )
  })

  it("after the person was there, too", async () => {
    github.user = githubUser()
    const browser = startBrowsing()
    const url = await through(browser, await start(browser, "github"))
    github.state = "broken"
    const page = await back(browser, url)
    github.state = "up"
    assert.strictEqual(page.status, 502)
    assert.include(page.text, "GitHub does not respond")
  })
})

it("no secret is in the log or in the database", async () => {
  github.user = githubUser()
  const browser = startBrowsing()
  const url = await through(browser, await start(browser, "github"))
  await back(browser, url)
  assert.isAbove(github.seen.length, 3)
  const [dump] = await sql(
    service,
    "select (select json_agg(f) from svc.identity_flows f)::text || (select json_agg(l) from svc.identity_links l)::text as text"
  )
  const cookie = browser.cookie("localhost", "svc_provider") ?? ""
  for (const value of new Set([...github.seen, cookie, secret, settings["SVC_SIGN_IN_WORK_CLIENT_SECRET"]!])) {
    assert.notInclude(service.output() + replica.output(), value)
    assert.notInclude(String(dump?.["text"]), value)
  }
  const settingsShown = await ask(service, "GET /api/settings", { key: service.service_role })
  assert.notInclude(settingsShown.text, secret)
  assert.include(settingsShown.text, "SVC_SIGN_IN_GITHUB_CLIENT_SECRET")
  assert.lengthOf(await ownerOf(github.user.emails[1]!.email), 1)
})
