import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "node:http"
import { afterAll, afterEach, vi } from "vitest"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { live } from "../../support/database.ts"
import { startEmbedded } from "../../support/oauth2/embedded.ts"
import {
  afterLogout,
  allow,
  arrive,
  authorizationUrl,
  callback,
  challengeAt,
  claimsOf,
  exchange,
  fresh,
  journey,
  party,
  signedIn,
  signIn
} from "../../support/oauth2/oauth2.ts"

vi.setConfig({ testTimeout: 60_000 })

const { close, failures, port, server } = await startEmbedded("oauth2_attacks")
afterAll(close)
afterEach(() => assert.deepStrictEqual(failures, []))
const issuer = server.publicUrl

/** A request with headers that fetch does not let a page set. */
const sent = (path: string, headers: Readonly<Record<string, string>>) =>
  Effect.promise(
    () =>
      new Promise<{ readonly status: number; readonly location: string; readonly all: string }>((resolve, reject) => {
        request(`${issuer}${path}`, { headers }, (response) => {
          let body = ""
          response
            .setEncoding("utf8")
            .on("data", (text: string) => (body += text))
            .once("end", () =>
              resolve({
                status: response.statusCode ?? 0,
                location: response.headers.location ?? "",
                all: `${JSON.stringify(response.headers)} ${body}`
              })
            )
        })
          .once("error", reject)
          .end()
      })
  )

layer(port, live)("an attacker who forwards a challenge", (it) => {
  it.effect("does not become the victim who answers it", () =>
    Effect.gen(function* () {
      const { acceptLogin, login } = yield* OAuth2
      const of = yield* party()
      const [attacker, victim] = [startBrowsing(), startBrowsing()]
      const challenge = yield* challengeAt(attacker, authorizationUrl(server, of), "login")
      const { redirectTo } = yield* acceptLogin(challenge, signedIn("victim"))
      // The attacker has the cookie of the beginning, but not the answer.
      const next = yield* challengeAt(attacker, `${issuer}/oauth2/auth/${challenge}`, "login")
      assert.notStrictEqual(next, challenge)
      assert.isFalse((yield* login(next)).skip)
      // The victim has the answer, but not the cookie.
      const { query } = yield* arrive(victim, redirectTo)
      assert.deepStrictEqual([query["error"], query["code"]], ["request_forbidden", undefined])
      const later = yield* challengeAt(victim, authorizationUrl(server, of), "login")
      assert.isFalse((yield* login(later)).skip)
    })
  )

  it.effect("can't use a verifier of another challenge, or a made-up one", () =>
    Effect.gen(function* () {
      const { acceptLogin } = yield* OAuth2
      const of = yield* party()
      const [attacker, other] = [startBrowsing(), startBrowsing()]
      const first = yield* challengeAt(attacker, authorizationUrl(server, of), "login")
      const second = yield* challengeAt(other, authorizationUrl(server, of), "login")
      yield* acceptLogin(first, signedIn("victim"))
      const mine = new URL((yield* acceptLogin(second, signedIn("attacker"))).redirectTo)
      for (const verifier of [mine.searchParams.get("verifier") ?? "", "x".repeat(43), ""]) {
        const { query } = yield* arrive(attacker.copy(), `${issuer}/oauth2/auth/${first}?verifier=${verifier}`)
        assert.notInclude(Object.keys(query), "code", verifier)
        assert.notInclude(Object.keys(query), "consent_challenge", verifier)
      }
    })
  )

  it.effect("can't move the cookie of one challenge to another", () =>
    Effect.gen(function* () {
      const { acceptLogin } = yield* OAuth2
      const of = yield* party()
      const [attacker, other] = [startBrowsing(), startBrowsing()]
      const first = yield* challengeAt(attacker, authorizationUrl(server, of), "login")
      const second = yield* challengeAt(other, authorizationUrl(server, of), "login")
      const { redirectTo } = yield* acceptLogin(second, signedIn("victim"))
      const moved = startBrowsing()
      moved.setCookie("127.0.0.1", "oauth2_resume", attacker.cookie("127.0.0.1", "oauth2_resume") ?? "")
      moved.setCookie("127.0.0.1", "oauth2_resume.sig", attacker.cookie("127.0.0.1", "oauth2_resume.sig") ?? "")
      assert.strictEqual(moved.cookie("127.0.0.1", "oauth2_resume"), first)
      assert.isDefined((yield* arrive(moved, redirectTo)).query["login_challenge"])
      const forged = startBrowsing()
      forged.setCookie("127.0.0.1", "oauth2_resume", second)
      assert.strictEqual((yield* arrive(forged, redirectTo)).query["error"], "request_forbidden")
      forged.setCookie("127.0.0.1", "oauth2_resume.sig", moved.cookie("127.0.0.1", "oauth2_resume.sig") ?? "")
      assert.strictEqual((yield* arrive(forged, redirectTo)).query["error"], "request_forbidden")
    })
  )

  it.effect("does not get the code of a consent that the victim gives", () =>
    Effect.gen(function* () {
      const { acceptConsent } = yield* OAuth2
      const of = yield* party()
      const attacker = startBrowsing()
      const consent = yield* signIn(server, of, { browser: attacker, subject: "attacker" })
      const given = { grantScope: ["openid"], grantAudience: [], remember: false, rememberFor: 0 }
      const { redirectTo } = yield* acceptConsent(consent, { ...given, idTokenClaims: {}, accessTokenClaims: {} })
      assert.strictEqual((yield* arrive(startBrowsing(), redirectTo)).query["error"], "request_forbidden")
      const { query } = yield* arrive(attacker, `${issuer}/oauth2/auth/${consent}`)
      assert.isUndefined(query["code"])
    })
  )

  it.effect("gets one code for one answer, from two browsers at once", () =>
    Effect.gen(function* () {
      const { acceptConsent } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const consent = yield* signIn(server, of, { browser, subject: fresh("ada") })
      const given = { grantScope: ["openid"], grantAudience: [], remember: false, rememberFor: 0 }
      const answer = acceptConsent(consent, { ...given, idTokenClaims: {}, accessTokenClaims: {} })
      const redirects = (yield* Effect.all(Array.from({ length: 8 }, () => answer))).map(({ redirectTo }) => redirectTo)
      // Without a verifier too, in case that another request has just brought one.
      const urls = redirects.flatMap((url) => [url, url.replace(/\?.*/, "")])
      const arrived = yield* Effect.forEach(urls, (url) => arrive(browser.copy(), url), { concurrency: 16 })
      const codes = arrived.filter(({ query }) => query["code"] !== undefined)
      assert.isAtMost(codes.length, 1)
    })
  )
})

layer(port, live)("the Host header", (it) => {
  const evil = { host: "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" }

  it.effect("changes no URL that the server makes", () =>
    Effect.gen(function* () {
      const { acceptLogin } = yield* OAuth2
      const of = yield* party()
      const { pathname, search } = new URL(authorizationUrl(server, of))
      const begun = yield* sent(`${pathname}${search}`, evil)
      assert.isTrue(begun.location.startsWith(`${issuer}/api/oauth2/bridge/login?`), begun.location)
      assert.notInclude(begun.all, "evil")
      const challenge = new URL(begun.location).searchParams.get("login_challenge") ?? ""
      const { redirectTo } = yield* acceptLogin(challenge, signedIn("ada"))
      assert.isTrue(redirectTo.startsWith(`${issuer}/oauth2/auth/${challenge}?`), redirectTo)
      for (const path of [
        "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server",
        "/oauth2/sessions/logout",
        "/oauth2/auth?client_id=none",
        `/oauth2/auth/${challenge}`
      ]) {
        const { all, status } = yield* sent(path, evil)
        assert.isBelow(status, 500, path)
        assert.notInclude(all, "evil", path)
      }
    })
  )
})

layer(port, live)("a redirect URI", (it) => {
  it.effect.each([
    `${callback}/`,
    `${callback}x`,
    callback.toUpperCase(),
    callback.replace("5555", "5556"),
    callback.replace("127.0.0.1", "localhost"),
    `${callback}#x`,
    `${callback}?x=1`,
    callback.replace("//", "//user@"),
    callback.replace("//", "//evil.example@"),
    callback.replace("/callback", "/a/..;/callback"),
    callback.replace("/callback", "/%2e%2e/callback"),
    `${callback}%00`,
    "javascript:alert(1)",
    "data:text/html,x",
    "//evil.example/callback",
    "https://evil.example/callback"
  ])("must be registered: %s", (uri) =>
    Effect.gen(function* () {
      const of = yield* party()
      const browser = startBrowsing()
      const page = yield* Effect.promise(() =>
        browser.once(authorizationUrl(server, of, { redirect_uri: uri }), { redirect: "manual" })
      )
      const to = new URL(page.headers.get("location") ?? "none:")
      assert.strictEqual(`${to.origin}${to.pathname}`, `${issuer}/oauth2/error`, to.href)
    })
  )

  it.effect("on a loopback address may have any port, for public clients only", () =>
    Effect.gen(function* () {
      const elsewhere = { redirect_uri: callback.replace("5555", "4321") }
      const app = yield* party({ token_endpoint_auth_method: "none" })
      yield* challengeAt(startBrowsing(), authorizationUrl(server, app, elsewhere), "login")
      const web = yield* party()
      const { query } = yield* arrive(startBrowsing(), authorizationUrl(server, web, elsewhere)).pipe(
        Effect.catchCause(() => Effect.succeed({ query: {} as Record<string, string> }))
      )
      assert.isUndefined(query["login_challenge"])
    })
  )
})

layer(port, live)("an authorization request", (it) => {
  it.effect.each([
    { name: "NUL in state", more: { state: "\u0000" } },
    { name: "NUL in client_id", more: { client_id: "\u0000" } },
    { name: "half a surrogate", more: { client_id: "é\ud800" } },
    { name: "20 KB of scope", more: { scope: "openid ".repeat(1_000) } },
    { name: "max_age in words", more: { max_age: "abc" } },
    { name: "prompt none login", more: { prompt: "none login" } },
    { name: "an unknown prompt", more: { prompt: "dance" } },
    { name: "claims", more: { claims: "{" } },
    { name: "id_token_hint", more: { id_token_hint: "x.y.z" } },
    { name: "request", more: { request: "x.y.z" } },
    { name: "response_type token", more: { response_type: "token" } },
    { name: "response_type id_token", more: { response_type: "id_token" } },
    { name: "plain PKCE", more: { code_challenge_method: "plain" } },
    { name: "no PKCE", more: { code_challenge: "", code_challenge_method: "" } },
    { name: "a foreign scope", more: { scope: "openid admin" } },
    { name: "a foreign audience", more: { audience: "https://api.evil.example" } },
    { name: "a relative audience", more: { resource: "x" } }
  ])("is refused, or leads to a login, without a code: $name", ({ more }) =>
    Effect.gen(function* () {
      const of = yield* party({ token_endpoint_auth_method: "none" })
      const page = yield* Effect.promise(() => startBrowsing().once(authorizationUrl(server, of, more)))
      assert.include([302, 303], page.status, page.text)
      const to = new URL(page.headers.get("location") ?? "")
      assert.isNull(to.searchParams.get("code"))
      if (to.pathname.endsWith("/bridge/login")) return assert.include(["\u0000", "dance", "{"], Object.values(more)[0])
      assert.isTrue(to.href.startsWith(callback) || to.href.startsWith(`${issuer}/oauth2/error`), to.href)
      return assert.match(`${to.search}${to.hash}`, /[?#&]error=\w/)
    })
  )

  it.effect("has no marks of this server in it", () =>
    Effect.gen(function* () {
      const { consent, login } = yield* OAuth2
      const of = yield* party()
      const subject = fresh("ada")
      const browser = startBrowsing()
      yield* journey(server, of, { browser, subject, remember: true })
      const more = { prompt: "consent", svc_offline: "1", svc_silent: "1" }
      const asked = yield* signIn(server, of, { browser, subject, more })
      assert.isFalse((yield* consent(asked)).skip, "prompt=consent was the client's")
      const offline = { prompt: "login", scope: "openid offline_access" }
      const app = yield* party({ scope: "openid offline_access" })
      const renewed = yield* challengeAt(browser, authorizationUrl(server, app, offline), "login")
      const known = yield* login(renewed)
      assert.isFalse(known.skip, "prompt=login was the client's")
      assert.strictEqual(new URL(known.requestUrl).searchParams.get("prompt"), "login")
      const next = yield* challengeAt(browser, authorizationUrl(server, of, { svc_silent: "1" }), "login")
      assert.isNull(new URL((yield* login(next)).requestUrl).searchParams.get("prompt"))
    })
  )
})

layer(port, live)("prompt=none with offline_access", (it) => {
  const more = { prompt: "none", scope: "openid offline_access" }

  it.effect("gives a refresh token if that was consented to, and otherwise asks no user", () =>
    Effect.gen(function* () {
      const { acceptLogin, consent, login } = yield* OAuth2
      const of = yield* party({ scope: "openid offline_access" })
      const [browser, subject] = [startBrowsing(), fresh("ada")]
      const silent = authorizationUrl(server, of, more)
      assert.strictEqual((yield* arrive(browser, silent)).query["error"], "login_required")
      const first = { browser, subject, more: { scope: "openid" }, grantScope: ["openid"], remember: true }
      yield* journey(server, of, first)
      const early = yield* challengeAt(browser, silent, "login")
      const known = yield* login(early)
      assert.isTrue(known.skip)
      assert.strictEqual(new URL(known.requestUrl).searchParams.get("prompt"), "none", "so the bridge asks no user")
      const unasked = yield* challengeAt(browser, (yield* acceptLogin(early, signedIn(subject))).redirectTo, "consent")
      const asked = yield* consent(unasked)
      assert.isFalse(asked.skip)
      assert.strictEqual(
        new URL(asked.requestUrl).searchParams.get("prompt"),
        "none",
        "so the bridge answers consent_required"
      )
      const scope = { scope: "openid offline_access" }
      const grantScope = ["openid", "offline_access"]
      yield* journey(server, of, { browser, subject, more: scope, grantScope, remember: true })
      const again = yield* signIn(server, of, { browser, subject, more })
      assert.isTrue((yield* consent(again)).skip)
      const { code } = yield* allow(again, { browser, subject, grantScope })
      assert.isString((yield* exchange(server, of, code)).body.refresh_token)
    })
  )
})

layer(port, live)("claims", (it) => {
  it.effect("can't replace those of the server", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const subject = fresh("ada")
      const mine = { sub: "root", iss: "https://evil.example", aud: "other", exp: 9, nonce: "n", acr: "aal9", sid: "s" }
      const { code } = yield* journey(server, of, { subject, idTokenClaims: { ...mine, ok: 1 } })
      const { body } = yield* exchange(server, of, code)
      const { acr, aud, iss, nonce, ok, sub } = claimsOf(body.id_token)
      assert.deepStrictEqual(
        { acr, aud, iss, nonce, ok, sub },
        {
          acr: "aal1",
          aud: of.client.client_id,
          iss: issuer,
          nonce: "nonce-12345678",
          ok: 1,
          sub: subject
        }
      )
    })
  )
})

layer(port, live)("a sign-out", (it) => {
  const endSession = (query: Readonly<Record<string, string>>) =>
    `${issuer}/oauth2/sessions/logout?${new URLSearchParams(query)}`

  it.effect("is not a client's with another user's ID token, or a forged one", () =>
    Effect.gen(function* () {
      const { logoutRequest } = yield* OAuth2
      const of = yield* party()
      const tokenOf = Effect.fnUntraced(function* (browser: ReturnType<typeof startBrowsing>) {
        const { code } = yield* journey(server, of, { browser, subject: fresh("ada") })
        return (yield* exchange(server, of, code)).body.id_token ?? ""
      })
      const victim = startBrowsing()
      const own = yield* tokenOf(victim)
      const foreign = yield* tokenOf(startBrowsing())
      const hint = (id_token_hint: string) => endSession({ id_token_hint, post_logout_redirect_uri: afterLogout })
      const byOwn = yield* logoutRequest(yield* challengeAt(victim, hint(own), "logout"))
      assert.isTrue(byOwn.rpInitiated)
      const byForeign = yield* logoutRequest(yield* challengeAt(victim, hint(foreign), "logout"))
      assert.isFalse(byForeign.rpInitiated)
      const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${own.split(".")[1]}.`
      for (const forged of [none, `${own.slice(0, -4)}AAAA`, "x"]) {
        const page = yield* Effect.promise(() => victim.once(hint(forged)))
        assert.include(page.headers.get("location"), "/oauth2/error?error=invalid_request", forged.slice(0, 30))
      }
    })
  )

  it.effect("of a client that is named without an ID token is asked of the user, then returns to it", () =>
    Effect.gen(function* () {
      const { acceptLogout, login, logoutRequest } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const { body } = yield* exchange(
        server,
        of,
        (yield* journey(server, of, { browser, subject: fresh("ada") }))["code"]
      )
      const named = (client_id: string, more: Readonly<Record<string, string>> = {}) =>
        endSession({ client_id, post_logout_redirect_uri: afterLogout, state: "s1", ...more })
      const challenge = yield* challengeAt(browser, named(of.client.client_id), "logout")
      assert.isFalse((yield* logoutRequest(challenge)).rpInitiated)
      assert.isTrue(
        (yield* login(yield* challengeAt(browser, authorizationUrl(server, of), "login"))).skip,
        "nothing has ended before the answer"
      )
      const { redirectTo } = yield* acceptLogout(challenge)
      const there = yield* arrive(browser, redirectTo)
      assert.isTrue(there.url.href.startsWith(afterLogout), there.url.href)
      assert.deepStrictEqual(there.query, { state: "s1" })
      // Another client's name, none that is registered, and a URL that is not the client's.
      const other = yield* party()
      for (const url of [
        named(other.client.client_id, { id_token_hint: body.id_token ?? "" }),
        named("nobody"),
        named(of.client.client_id, { post_logout_redirect_uri: "https://evil.example.com/" })
      ]) {
        const refused = yield* Effect.promise(() => browser.once(url))
        const { searchParams } = new URL(refused.headers.get("location") ?? "", issuer)
        assert.match(searchParams.get("error") ?? "", /^invalid_/, url)
      }
    })
  )

  it.effect("that was accepted clears no other browser's session", () =>
    Effect.gen(function* () {
      const { acceptLogout, login } = yield* OAuth2
      const of = yield* party()
      const [attacker, victim] = [startBrowsing(), startBrowsing()]
      yield* journey(server, of, { browser: attacker, subject: fresh("eve") })
      yield* journey(server, of, { browser: victim, subject: fresh("ada") })
      const { redirectTo } = yield* acceptLogout(yield* challengeAt(attacker, endSession({}), "logout"))
      yield* Effect.promise(() => victim.once(redirectTo))
      const next = yield* challengeAt(victim, authorizationUrl(server, of), "login")
      assert.isTrue((yield* login(next)).skip)
    })
  )
})

layer(port, live)("a client", (it) => {
  it.effect("can't use the code of another", () =>
    Effect.gen(function* () {
      const [one, two] = [yield* party(), yield* party()]
      const { code } = yield* journey(server, one, { subject: fresh("ada") })
      const { body, status } = yield* exchange(server, two, code)
      assert.deepStrictEqual([status, body.error], [400, "invalid_grant"])
    })
  )

  it.effect.each(["javascript:alert(1)", "data:text/html,x", "nowhere"])("can't have the redirect URI %s", (uri) =>
    Effect.gen(function* () {
      const { createClient } = yield* OAuth2
      const error = yield* Effect.flip(createClient({ redirect_uris: [uri] }))
      assert.strictEqual(error.code, "INVALID_CLIENT")
    })
  )

  it.effect("gets only what was allowed, however it asks", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const consent = yield* signIn(server, of, { subject: fresh("ada"), browser: startBrowsing() })
      const { error } = yield* allow(consent, { subject: "ada" })
      assert.strictEqual(error, "request_forbidden", "in a browser that did not begin")
    })
  )
})
