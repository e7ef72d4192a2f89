import { Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { type Browsing } from "../../support/browser/cookieClient.ts"
import { ask, assertRefused, type Reply } from "../../support/client.ts"
import {
  authorizationUrl,
  browserOf,
  callback,
  clientAddress,
  consentChallenge,
  goOn,
  makeClient
} from "../../support/oauth2/codeFlow.ts"
import { cookieOf, deletePerson, makePerson, setState, signInAgain, tokenOf } from "../../support/identity/idp.ts"
import { as, type IdentityService, startIdentityService } from "../../support/identity/service.ts"
import { until } from "../../support/service.ts"
import { onwardIn, openPage, sendForm, tokenIn } from "../../support/oauth2/pageForm.ts"
import { totpCode } from "../../support/identity/totp.ts"

let parts: IdentityService
let clientId: string
beforeAll(async () => {
  parts = await startIdentityService()
  clientId = await makeClient(parts)
})
afterAll(() => parts[Symbol.asyncDispose]())

const manage = (line: string, body?: unknown) =>
  ask(parts.service, line, { key: parts.service.service_role, ...(body === undefined ? {} : { body }) })
const good = (reply: Reply, status = 200) => {
  assert.strictEqual(reply.status, status, reply.text)
  return reply.json as Record<string, unknown>
}
const newUser = async () => {
  const person = await makePerson(parts.idp, { name: "Ada", metadata_public: { plan: "pro", level: 3 } })
  const credential = await cookieOf(parts.idp, person)
  return { person, credential, browser: browserOf(credential) }
}
const authorize = (browser: Browsing, more: Record<string, string> = {}, client = clientId) =>
  goOn(parts, browser, authorizationUrl(parts, client, more))
const accept = (challenge: string, body: Record<string, unknown> = {}) =>
  ask(parts.service, "POST /api/oauth2/bridge/consent/accept", {
    body: { challenge, grant_scope: ["openid"], ...body }
  })
const bridge = (step: string, challenge: string, headers: Record<string, string> = {}) =>
  fetch(`${parts.service.url}/api/oauth2/bridge/${step}_challenge=${encodeURIComponent(challenge)}`, {
    redirect: "manual",
    headers
  })

/** Goes through the identity provider and the consent page to a code; returns the consent challenge. */
const signsIn = async (client: string) => {
  const browser = browserOf()
  const { credential } = await newUser()
  const { url } = await authorize(browser, {}, client)
  assert.strictEqual(url.origin, parts.idp.publicUrl)
  browser.setCookie("127.0.0.1", "idp_session", Redacted.value(credential.value))
  const there = await goOn(parts, browser, url.searchParams.get("return_to") ?? "")
  assert.strictEqual(there.url.pathname, "/oauth2/consent", there.text.slice(0, 300))
  const page = await openPage(browser, there.url)
  const challenge = there.url.searchParams.get("consent_challenge") ?? ""
  const form = { consent_challenge: challenge, decision: "allow", grant_scope: "openid", token: tokenIn(page) }
  const back = await goOn(
    parts,
    browser,
    onwardIn(await sendForm(browser, `${parts.service.url}/oauth2/consent`, form))
  )
  assert.isNotNull(back.url.searchParams.get("code"), back.url.href.slice(0, 300))
  return challenge
}

describe("bridge/status", () => {
  it("returns the URLs to configure in the server", async () => {
    const at = `${parts.service.url}/api/oauth2/bridge`
    assert.deepStrictEqual(good(await ask(parts.service, "GET /api/oauth2/bridge/status")), {
      oauth2_configured: true,
      idp_configured: true,
      bridge_ready: true,
      login_url: `${at}/login`,
      consent_url: `${at}/consent`,
      logout_url: `${at}/logout`
    })
  })
})

describe("bridge/login", () => {
  it("redirects users without a session to the identity provider, and only back to itself", async () => {
    const { url } = await authorize(browserOf(), { scope: "openid" })
    assert.strictEqual(`${url.origin}${url.pathname}`, `${parts.idp.publicUrl}/self-service/login/browser`)
    const back = new URL(url.searchParams.get("return_to") ?? "")
    assert.strictEqual(`${back.origin}${back.pathname}`, `${parts.service.url}/api/oauth2/bridge/login`)
    assert.deepStrictEqual([...back.searchParams.keys()], ["login_challenge", "since"])
  })

  it("accepts a session token as well as the identity provider's cookie", async () => {
    const { person } = await newUser()
    const { url } = await authorize(browserOf(await tokenOf(parts.idp, person)))
    assert.strictEqual(url.pathname, "/oauth2/consent")
  })

  it("redirects to a missing second factor", async () => {
    const { person, credential } = await newUser()
    const setup = good(await as(parts.service, credential, "POST /api/auth/mfa/totp/setup"))
    const body = { flow_id: setup["flow_id"], totp_code: totpCode(String(setup["totp_secret"])) }
    good(await as(parts.service, credential, "POST /api/auth/mfa/totp/verify", { body }))
    const { url } = await authorize(browserOf(await cookieOf(parts.idp, person)))
    assert.strictEqual(url.searchParams.get("aal"), "aal2")
    assert.match(url.searchParams.get("return_to") ?? "", /\/api\/oauth2\/bridge\/login\?login_challenge=/)
    assert.strictEqual((await authorize(browserOf(credential))).url.pathname, "/oauth2/consent")
  })

  it("requires a new sign-in when the client requests one, once", async () => {
    const { browser, person, credential } = await newUser()
    for (const more of [{ prompt: "login" }, { max_age: "3" }] as ReadonlyArray<Record<string, string>>) {
      // Older than the allowed clock skew. The service keeps what the identity provider has said of a session for seconds.
      for (const server of [parts.idp, parts.oauth2]) server.age(6_500)
      const isStale = ({ url }: { readonly url: URL }) => url.searchParams.get("refresh") === "true"
      await until(() => authorize(browser.copy(), more), isStale)
      const redirected = await authorize(browser, more)
      assert.strictEqual(redirected.url.searchParams.get("refresh"), "true", JSON.stringify(more))
      const back = redirected.url.searchParams.get("return_to") ?? ""
      const undone = await goOn(parts, browser.copy(), back)
      assert.strictEqual(undone.url.searchParams.get("error"), "login_required")

      const again = await authorize(browser, more)
      const url = new URL(again.url.searchParams.get("return_to") ?? "")
      // The signature is of another challenge or forged, and has no effect.
      for (const since of [
        new URL(back).searchParams.get("since") ?? "",
        "1.x",
        `${Math.floor(Date.now() / 1000) - 60}.${"A".repeat(43)}`
      ]) {
        const forged = new URL(url)
        forged.searchParams.set("since", since)
        assert.strictEqual((await goOn(parts, browser.copy(), forged)).url.searchParams.get("refresh"), "true")
      }
      await signInAgain(parts.idp, credential, person)
      assert.strictEqual((await goOn(parts, browser, url)).url.pathname, "/oauth2/consent")
    }
    assert.strictEqual((await authorize(browser, { max_age: "3600" })).url.pathname, "/oauth2/consent")
  })

  it("starts over when another user has signed in at the identity provider", async () => {
    const [one, other] = [await newUser(), await newUser()]
    const challenge = await consentChallenge(parts, one.browser, clientId)
    await goOn(parts, one.browser, String(good(await accept(challenge))["redirect_to"]))
    one.browser.setCookie("127.0.0.1", "idp_session", Redacted.value(other.credential.value))
    // The server asks for a sign-in of its own; the user has signed in already.
    const there = await authorize(one.browser)
    const next = there.url.searchParams.get("consent_challenge")
    const info = (await (await bridge("consent/info?consent", next ?? "")).json()) as { subject: string }
    assert.strictEqual(info.subject, other.person.id)

    const silent = await newUser()
    const consent = await consentChallenge(parts, silent.browser, clientId)
    await goOn(parts, silent.browser, String(good(await accept(consent))["redirect_to"]))
    silent.browser.setCookie("127.0.0.1", "idp_session", Redacted.value(other.credential.value))
    const { url } = await authorize(silent.browser, { prompt: "none" })
    assert.strictEqual(url.searchParams.get("error"), "login_required")
    const wished = await authorize(silent.browser, { prompt: "login" })
    assert.strictEqual(wished.url.searchParams.get("refresh"), "true")
  })

  it("shows no page with prompt=none", async () => {
    const { url } = await authorize(browserOf(), { prompt: "none" })
    assert.strictEqual(url.searchParams.get("error"), "login_required")
    assert.isTrue(url.href.startsWith(callback))
  })
})

describe("challenges", () => {
  const paths = ["login?login", "consent?consent", "logout?logout", "consent/info?consent"]

  it("are rejected if invalid", async () => {
    for (const path of paths) {
      for (const challenge of ["nonsense", "é", "a b", "../x", "x".repeat(14_000)]) {
        const reply = await bridge(path, challenge)
        assert.strictEqual(reply.status, 404, `${path} ${challenge}`)
        assert.deepInclude(await reply.json(), { code: "CHALLENGE_NOT_FOUND" })
      }
      for (const challenge of ["", "\0", "a\r\nSet-Cookie: x=1", "x".repeat(14_001)]) {
        assert.strictEqual((await bridge(path, challenge)).status, 400, `${path} ${challenge.slice(0, 9)}`)
      }
      const missing = await fetch(`${parts.service.url}/api/oauth2/bridge/${path.split("?")[0]}`, {
        redirect: "manual"
      })
      assert.strictEqual(missing.status, 400)
    }
    assertRefused(await accept("nonsense"), 404, "CHALLENGE_NOT_FOUND")
    const rejected = await ask(parts.service, "POST /api/oauth2/bridge/consent/reject", {
      body: { challenge: "nonsense" }
    })
    assertRefused(rejected, 404, "CHALLENGE_NOT_FOUND")
  })

  it("redirect to the start of the request if expired", async () => {
    const { browser } = await newUser()
    const begin = authorizationUrl(parts, clientId)
    const login = (await goOn(parts, browserOf(), begin)).url.searchParams.get("return_to") ?? ""
    const consent = await consentChallenge(parts, browser, clientId)
    const seconds = parts.oauth2.behaviour.challengeSeconds
    parts.oauth2.behaviour.challengeSeconds = -1
    const loginChallenge = new URL(login).searchParams.get("login_challenge") ?? ""
    const replies = [
      await (await bridge("login?login", loginChallenge)).json(),
      await (await bridge("consent/info?consent", consent)).json(),
      (await accept(consent)).json
    ] as ReadonlyArray<Record<string, string>>
    const page = await bridge("login?login", loginChallenge, { accept: "text/html,*/*;q=0.8" })
    parts.oauth2.behaviour.challengeSeconds = seconds
    for (const reply of replies) {
      assert.strictEqual(reply["code"], "CHALLENGE_EXPIRED")
      assert.strictEqual(new URL(reply["redirect_to"] ?? "").searchParams.get("client_id"), clientId)
    }
    assert.strictEqual(page.status, 410)
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/)
    const link = /href="([^"]+)"/.exec(await page.text())?.[1]?.replaceAll("&amp;", "&") ?? ""
    assert.strictEqual((await goOn(parts, browser, link)).url.pathname, "/oauth2/consent")
  })
})

describe("consent", () => {
  it("info matches the contract", async () => {
    const { browser, person } = await newUser()
    const challenge = await consentChallenge(parts, browser, clientId)
    const info = await (await bridge("consent/info?consent", challenge)).json()
    assert.deepStrictEqual(info, {
      challenge,
      client: { client_id: clientId, client_name: "Shop", logo_uri: "", tos_uri: "", policy_uri: "" },
      requested_scope: ["openid", "offline", "email"],
      requested_access_token_audience: [],
      subject: person.id,
      skip: false
    })
  })

  it("grants no more than was requested", async () => {
    const { browser } = await newUser()
    const challenge = await consentChallenge(parts, browser, clientId)
    for (const body of [
      { grant_scope: ["openid", "admin"] },
      { grant_scope: ["profile"] },
      { grant_access_token_audience: ["https://other.example"] },
      { grant_scope: "openid" },
      { grant_scope: undefined },
      { remember: "yes" },
      { remember_for: -1 },
      { remember_for: 1.5 },
      { grant_scope: [`a\0`] },
      { challenge: 7 }
    ]) {
      assertRefused(await accept(challenge, body), 400)
    }
    const { redirect_to } = good(await accept(challenge, { grant_scope: ["openid", "email"] }))
    const { url } = await goOn(parts, browser, String(redirect_to))
    assert.strictEqual(url.searchParams.get("scope"), "openid email")
  })

  it("is remembered, listed, revoked, and requested again after that", async () => {
    const { browser, person, credential } = await newUser()
    const challenge = await consentChallenge(parts, browser, clientId)
    const scope = ["openid", "offline", "email"]
    const { redirect_to } = good(await accept(challenge, { grant_scope: scope, remember: true }))
    assert.isNotNull((await goOn(parts, browser, String(redirect_to))).url.searchParams.get("code"))
    assert.isNotNull((await authorize(browser)).url.searchParams.get("code"), "consent is not requested again")

    const own = `/api/oauth2/consent/${person.id}`
    const listed = await as(parts.service, credential, `GET ${own}`)
    assert.deepInclude((good(listed) as unknown as ReadonlyArray<object>)[0], {
      consent_request: { client: { client_id: clientId, client_name: "Shop" }, requested_scope: scope },
      grant_scope: scope,
      remember: true
    })
    assert.deepStrictEqual((await manage(`GET ${own}`)).json, listed.json)
    good(await as(parts.service, credential, `DELETE ${own}?client=another`))
    assert.isNotNull((await authorize(browser)).url.searchParams.get("code"))
    good(await as(parts.service, credential, `DELETE ${own}?client=${clientId}`))
    assert.strictEqual((await authorize(browser)).url.pathname, "/oauth2/consent")

    const other = await newUser()
    for (const line of [`GET ${own}`, `DELETE ${own}`]) {
      assertRefused(await as(parts.service, other.credential, line), 403, "FORBIDDEN")
      assertRefused(await ask(parts.service, line, { key: parts.service.anon }), 403, "FORBIDDEN")
      assertRefused(await ask(parts.service, line), 401)
    }
  })

  it("is denied", async () => {
    const { browser } = await newUser()
    for (const [body, error] of [
      [{}, "access_denied"],
      [{ error: "access_denied", error_description: 'No "thanks" & <bye> ü' }, "access_denied"]
    ] as const) {
      const challenge = await consentChallenge(parts, browser, clientId)
      const reply = await ask(parts.service, "POST /api/oauth2/bridge/consent/reject", { body: { challenge, ...body } })
      const { url } = await goOn(parts, browser, String(good(reply)["redirect_to"]))
      assert.strictEqual(url.searchParams.get("error"), error)
    }
    const challenge = await consentChallenge(parts, browser, clientId)
    for (const body of [
      { error: "a b" },
      { error: 3 },
      { error_description: "a\r\nb" },
      { error_description: "x".repeat(1001) }
    ]) {
      const reply = await ask(parts.service, "POST /api/oauth2/bridge/consent/reject", { body: { challenge, ...body } })
      assertRefused(reply, 400)
    }
  })

  it("is not requested for clients that skip it, nor with prompt=none", async () => {
    const { browser } = await newUser()
    const trusted = await makeClient(parts, { metadata: { skip_consent: true } })
    assert.isNotNull((await authorize(browser, {}, trusted)).url.searchParams.get("code"))
    const own = await makeClient(parts, { skip_consent: true })
    assert.isNotNull((await authorize(browser, {}, own)).url.searchParams.get("code"))
    good(await manage(`PUT /api/oauth2/clients/${trusted}`, { metadata: { skip_consent: false } }))
    assert.strictEqual((await authorize(browser, {}, trusted)).url.pathname, "/oauth2/consent")
    const { url } = await authorize(browser, { prompt: "none" }, trusted)
    assert.include(["consent_required", "login_required", "interaction_required"], url.searchParams.get("error"))
  })

  it("of a deleted or inactive identity is denied", async () => {
    for (const end of [
      deletePerson,
      (idp: IdentityService["idp"], person: Parameters<typeof setState>[1]) => setState(idp, person, "inactive")
    ]) {
      const { browser, person } = await newUser()
      const challenge = await consentChallenge(parts, browser, clientId)
      await end(parts.idp, person)
      const { redirect_to } = good(await accept(challenge))
      assert.strictEqual(
        (await goOn(parts, browser, String(redirect_to))).url.searchParams.get("error"),
        "access_denied"
      )
    }
  })
})

describe("logout", () => {
  it("for a subject revokes sign-ins and consents everywhere", async () => {
    const { browser, person } = await newUser()
    const challenge = await consentChallenge(parts, browser, clientId)
    const body = { grant_scope: ["openid", "offline", "email"], remember: true }
    await goOn(parts, browser, String(good(await accept(challenge, body))["redirect_to"]))
    good(await manage("POST /api/oauth2/logout", { subject: person.id }))
    good(await manage("POST /api/oauth2/logout", { subject: "nobody at all" }))
    assert.deepStrictEqual((await manage(`GET /api/oauth2/consent/${person.id}`)).json, [])
    assert.strictEqual((await authorize(browser)).url.pathname, "/oauth2/consent")
    for (const subject of [undefined, "", 7, "a\0b"]) {
      assertRefused(await manage("POST /api/oauth2/logout", { subject }), 400)
    }
  })
})

describe("claims-config", () => {
  const put = (body: unknown) => manage("PUT /api/oauth2/claims-config", body)

  it("is stored completely, in its order", async () => {
    const config = {
      id_token_claims: { z: "{{traits.name}}", a: "{{metadata_public.level}}", "ü/é": "x" },
      access_token_claims: { plan: "{{metadata_public.plan}}" }
    }
    assert.deepStrictEqual(good(await put(config)), config)
    assert.strictEqual((await manage("GET /api/oauth2/claims-config")).text, JSON.stringify(config))
    const scoped = { ...config, claim_scopes: { z: "names" } }
    assert.deepStrictEqual(good(await put(scoped)), scoped)
    assert.strictEqual((await manage("GET /api/oauth2/claims-config")).text, JSON.stringify(scoped))
  })

  it("is previewed as the token has it, stored or not", async () => {
    const preview = (body: unknown) => manage("POST /api/oauth2/claims-config/preview", body)
    good(await put({ id_token_claims: { level: "{{metadata_public.level}}" }, access_token_claims: {} }))
    const { person } = await newUser()
    const subject = person.id
    assert.deepStrictEqual(good(await preview({ subject, scope: ["openid"] })), {
      id_token_claims: { level: 3 },
      access_token_claims: {}
    })
    const config = {
      id_token_claims: { plan: "{{metadata_public.plan}}", gone: "{{traits.absent}}" },
      access_token_claims: { who: "id-{{id}}" },
      claim_scopes: { plan: "billing" }
    }
    const before = (await manage("GET /api/oauth2/claims-config")).text
    assert.deepStrictEqual(good(await preview({ subject, scope: ["openid"], config })), {
      id_token_claims: {},
      access_token_claims: { who: `id-${subject}` }
    })
    assert.deepStrictEqual(good(await preview({ subject, scope: ["billing"], config }))["id_token_claims"], {
      plan: "pro"
    })
    assert.strictEqual((await manage("GET /api/oauth2/claims-config")).text, before)
    assertRefused(await preview({ subject, scope: [], config: { ...config, claim_scopes: { a: "b" } } }), 400)
    assertRefused(await preview({ subject: "nobody", scope: [] }), 404)
    assertRefused(await preview({ subject }), 400)
  })

  it.each<[unknown, RegExp]>([
    [{}, /id_token_claims/],
    [{ id_token_claims: {} }, /access_token_claims/],
    [{ id_token_claims: [], access_token_claims: {} }, /id_token_claims/],
    [
      { id_token_claims: { sub: "x" }, access_token_claims: { scope: "y" } },
      /id_token_claims\.sub.*access_token_claims\.scope/
    ],
    [{ id_token_claims: { a: "{{secrets.x}}" }, access_token_claims: {} }, /a: \{\{secrets.x\}\} must be/],
    [
      { id_token_claims: { a: 1, b: null, c: {} }, access_token_claims: {} },
      /a: a template must be a string.*b: .*c: /
    ],
    [{ id_token_claims: {}, access_token_claims: {}, other: {} }, /other/],
    [{ id_token_claims: {}, access_token_claims: {}, claim_scopes: { a: "s" } }, /claim_scopes\.a: not a claim/],
    [{ id_token_claims: {}, access_token_claims: {}, claim_scopes: null }, /claim_scopes/]
  ])("rejects %j", async (body, details) => {
    const before = (await manage("GET /api/oauth2/claims-config")).text
    assert.match(JSON.stringify(assertRefused(await put(body), 400)["details"]), details)
    assert.strictEqual((await manage("GET /api/oauth2/claims-config")).text, before)
  })
})

describe("clients", () => {
  it("are created, listed, read, changed, given a new secret, deleted", async () => {
    const made = good(
      await manage("POST /api/oauth2/clients", {
        client_name: "Café <i>",
        redirect_uris: ["https://cafe.example/cb"],
        metadata: { a: 1, "x/y~z": "s", keep: [null, { b: false }] }
      }),
      201
    )
    const at = `/api/oauth2/clients/${String(made["client_id"])}`
    assert.isString(made["client_secret"])
    const { client_secret: _, ...shown } = made
    assert.deepStrictEqual(good(await manage(`GET ${at}`)), shown)

    const changed = good(
      await manage(`PUT ${at}`, { metadata: { a: null, "x/y~z": { deep: [1] }, skip_consent: true, "ü b": "" } })
    )
    assert.deepStrictEqual(changed["metadata"], {
      keep: [null, { b: false }],
      "x/y~z": { deep: [1] },
      skip_consent: true,
      "ü b": ""
    })
    assert.strictEqual(changed["client_name"], "Café <i>")

    const fields = {
      client_name: "Café",
      redirect_uris: ["https://cafe.example/cb", "https://cafe.example/other"],
      post_logout_redirect_uris: ["https://cafe.example/bye"],
      scope: "openid email",
      skip_consent: true
    }
    const { updated_at, ...now } = good(await manage(`PUT ${at}`, { ...fields, metadata: { keep: null } }))
    const { updated_at: before, ...was } = changed
    const metadata = Object.fromEntries(Object.entries(was["metadata"] as object).filter(([name]) => name !== "keep"))
    assert.deepStrictEqual(now, { ...was, ...fields, metadata })
    assert.isAtLeast(Date.parse(String(updated_at)), Date.parse(String(before)))
    good(await manage(`PUT ${at}`, { redirect_uris: ["https://cafe.example/cb"] }))

    const rotated = good(await manage(`POST ${at}/rotate-secret`))
    assert.isString(rotated["client_secret"])
    assert.notStrictEqual(rotated["client_secret"], made["client_secret"])

    const ids = new Set<unknown>()
    for (let token: string | null = ""; token !== null;) {
      const query: string = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`
      const page = good(await manage(`GET /api/oauth2/clients?page_size=2${query}`))
      const clients = page["clients"] as ReadonlyArray<Record<string, unknown>>
      assert.isAtMost(clients.length, 2)
      for (const client of clients) {
        assert.notProperty(client, "client_secret")
        ids.add(client["client_id"])
      }
      token = page["next_page_token"] as string | null
    }
    assert.isTrue(ids.has(made["client_id"]) && ids.has(clientId))

    good(await manage(`DELETE ${at}`))
    assertRefused(await manage(`GET ${at}`), 404, "CLIENT_NOT_FOUND")
    assertRefused(await manage(`DELETE ${at}`), 404, "CLIENT_NOT_FOUND")
    assertRefused(await manage(`PUT ${at}`, { metadata: {} }), 404, "CLIENT_NOT_FOUND")
    assertRefused(await manage(`POST ${at}/rotate-secret`), 404, "CLIENT_NOT_FOUND")
  })

  it("have no secret if they are public", async () => {
    const made = good(
      await manage("POST /api/oauth2/clients", {
        redirect_uris: ["com.example.app:/cb"],
        token_endpoint_auth_method: "none"
      }),
      201
    )
    assert.isNull(made["client_secret"])
    // The defaults of RFC 7591 2.
    assert.deepInclude(made, { grant_types: ["authorization_code"], response_types: ["code"] })
    const machine = await manage("POST /api/oauth2/clients", { grant_types: ["client_credentials"] })
    assert.deepInclude(good(machine, 201), { grant_types: ["client_credentials"], response_types: [] })
  })

  it("are rejected if invalid", async () => {
    for (const body of [
      [],
      "x",
      { redirect_uris: "https://a.example" },
      { redirect_uris: ["javascript:alert(1)"] },
      { client_secret: "mine" },
      { metadata: { skip_consent: "yes" } },
      { client_name: "a\u0000b", tos_uri: "x" },
      `{"metadata":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`
    ]) {
      const reply = await manage("POST /api/oauth2/clients", body)
      assert.include([400, 201], reply.status, reply.text)
      if (reply.status === 400) assertRefused(reply, 400)
    }
    for (const body of [
      { metadata: [] },
      { metadata: { skip_consent: 1 } },
      { client_id: "x" },
      { token_endpoint_auth_method: "none" },
      { client_secret: "mine" },
      { redirect_uris: ["javascript:alert(1)"] },
      { allowed_cors_origins: ["https://a.example/path"] },
      { client_name: "a\u0000b" },
      { client_name: "x".repeat(9_000) }
    ]) {
      assertRefused(await manage(`PUT /api/oauth2/clients/${clientId}`, body), 400)
    }
    for (const query of ["page_size=0", "page_size=501", "page_size=x", "page_token="]) {
      assertRefused(await manage(`GET /api/oauth2/clients?${query}`), 400)
    }
    for (const id of ["%00", "a%2Fb", "..%2F..%2Fx", "%F0%9F%98%80"]) {
      assert.include([400, 404], (await manage(`GET /api/oauth2/clients/${id}`)).status, id)
    }
  })

  it("of the maximum size can sign users in", async () => {
    const id = await makeClient(parts)
    const at = `/api/oauth2/clients/${id}`
    const chars = (count: number) => randomBytes(count).toString("base64url").slice(0, count)
    const big = (count: number) => ({ metadata: { big: chars(count) } })
    assertRefused(await manage(`PUT ${at}`, big(8_200)), 400, "INVALID_REQUEST")
    assertRefused(await manage("POST /api/oauth2/clients", big(8_200)), 400, "INVALID_REQUEST")
    const room = 8_192 - Buffer.byteLength((await manage(`GET ${at}`)).text) - `"big":""`.length
    // Several small changes can't exceed the maximum either.
    good(await manage(`PUT ${at}`, big(room)))
    assertRefused(await manage(`PUT ${at}`, { metadata: { more: 1 } }), 400, "INVALID_REQUEST")
    assertRefused(await manage(`PUT ${at}`, big(room + 1)), 400, "INVALID_REQUEST")
    good(await manage(`PUT ${at}`, { metadata: { gone: null } }))
    await signsIn(id)
  })

  it("above the maximum, registered elsewhere, can sign users in too", async () => {
    const id = await makeClient(parts)
    const response = await fetch(`${parts.oauth2.adminUrl}/admin/clients/${id}`, {
      method: "PATCH",
      body: JSON.stringify([{ op: "add", path: "/metadata/big", value: randomBytes(8_100).toString("hex") }])
    })
    assert.strictEqual(response.status, 200, await response.text())
    assert.isAbove((await signsIn(id)).length, 8_192)
    // A change that makes a client smaller is always valid.
    good(await manage(`PUT /api/oauth2/clients/${id}`, { metadata: { other: null } }))
    assertRefused(await manage(`PUT /api/oauth2/clients/${id}`, { metadata: { other: 1 } }), 400, "INVALID_REQUEST")
    good(await manage(`PUT /api/oauth2/clients/${id}`, { metadata: { big: null, other: 1 } }))
  })

  it("keep both of two concurrent changes", async () => {
    const id = await makeClient(parts)
    const names = Array.from({ length: 10 }, (_, index) => `k${index}`)
    const replies = await Promise.all(
      names.map((name) => manage(`PUT /api/oauth2/clients/${id}`, { metadata: { [name]: 1 } }))
    )
    for (const reply of replies) good(reply)
    const { metadata } = good(await manage(`GET /api/oauth2/clients/${id}`))
    assert.hasAllKeys(metadata, names)
  })
})

it("only administrators manage clients and claims", async () => {
  const { credential } = await newUser()
  for (const line of [
    "GET /api/oauth2/claims-config",
    "PUT /api/oauth2/claims-config",
    "GET /api/oauth2/clients",
    "POST /api/oauth2/clients",
    `GET /api/oauth2/clients/${clientId}`,
    `PUT /api/oauth2/clients/${clientId}`,
    `DELETE /api/oauth2/clients/${clientId}`,
    `POST /api/oauth2/clients/${clientId}/rotate-secret`,
    "POST /api/oauth2/logout"
  ]) {
    assertRefused(await ask(parts.service, line), 401)
    assertRefused(await ask(parts.service, line, { key: parts.service.anon }), 403)
    assertRefused(await as(parts.service, credential, line), 403, "FORBIDDEN")
  }
  assert.isTrue(callback.startsWith(clientAddress))
})
