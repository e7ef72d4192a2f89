import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose"
import { afterAll, afterEach, vi } from "vitest"
import { clientAlgorithms } from "../../../src/domain/oauth2/ClientRules.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { startBrowsing } from "../../support/browser/cookieClient.ts"
import { live, Outside } from "../../support/database.ts"
import { startEmbedded } from "../../support/oauth2/embedded.ts"
import {
  authorizationUrl,
  challengeAt,
  claimsOf,
  exchange,
  fresh,
  introspection,
  journey,
  type Party,
  party,
  refresh,
  signedIn
} from "../../support/oauth2/oauth2.ts"

vi.setConfig({ testTimeout: 60_000 })

const inactive = new Set<string>()
const { close, failures, port, server } = await startEmbedded("oauth2_tokens", {
  isActive: (subject) => Effect.sync(() => !inactive.has(subject))
})
afterAll(close)
afterEach(() => assert.deepStrictEqual(failures, []))
const issuer = server.publicUrl

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))

const tokensOf = Effect.fnUntraced(function* (of: Party, subject = fresh("ada")) {
  const { code } = yield* journey(server, of, { subject })
  const { body, status } = yield* exchange(server, of, code)
  assert.strictEqual(status, 200)
  return { ...body, code }
})
const isActive = (of: Party, token: string) => Effect.map(introspection(server, of, token), ({ active }) => active)
const all = { concurrency: "unbounded" } as const

layer(port, live)("a code", (it) => {
  it.effect("gives tokens once, also to requests at the same time", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const { code } = yield* journey(server, of, { subject: fresh("ada") })
      const replies = yield* Effect.all(
        Array.from({ length: 6 }, () => exchange(server, of, code)),
        all
      )
      const statuses = replies.map(({ status }) => status).sort()
      assert.isAtMost(statuses.filter((status) => status === 200).length, 1)
      assert.deepStrictEqual(
        statuses.filter((status) => status !== 200),
        Array.from({ length: statuses.filter((status) => status !== 200).length }, () => 400)
      )
      // It was used twice: whoever got tokens may be the thief.
      const won = replies.find(({ status }) => status === 200)?.body
      if (won !== undefined) {
        assert.isFalse(yield* isActive(of, won.access_token))
        assert.strictEqual((yield* refresh(server, of, won.refresh_token)).status, 400)
      }
    })
  )

  it.effect("that is used again later ends the tokens of the first use", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const { access_token, code, refresh_token } = yield* tokensOf(of)
      assert.isTrue(yield* isActive(of, access_token))
      assert.strictEqual((yield* exchange(server, of, code)).status, 400)
      assert.isFalse(yield* isActive(of, access_token))
      assert.strictEqual((yield* refresh(server, of, refresh_token)).status, 400)
    })
  )
})

layer(port, live)("a refresh token", (it) => {
  it.effect("gives tokens once to requests at the same time, and the client stays signed in", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const first = yield* tokensOf(of)
      const replies = yield* Effect.all(
        Array.from({ length: 8 }, () => refresh(server, of, first.refresh_token)),
        all
      )
      const won = replies.filter(({ status }) => status === 200)
      assert.lengthOf(won, 1)
      for (const { body, status } of replies) if (status !== 200) assert.strictEqual(body.error, "invalid_grant")
      assert.isFalse(yield* isActive(of, first.access_token))
      assert.strictEqual((yield* refresh(server, of, won[0]?.body.refresh_token)).status, 200)
    })
  )

  it.effect("that is used again later has been stolen, and ends the grant", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const first = yield* tokensOf(of)
      const second = (yield* refresh(server, of, first.refresh_token)).body
      yield* sql(
        "update svc.oauth2_items set consumed_at = now() - interval '11 seconds' where consumed_at is not null"
      )
      assert.strictEqual((yield* refresh(server, of, first.refresh_token)).status, 400)
      assert.isFalse(yield* isActive(of, second.access_token))
      assert.strictEqual((yield* refresh(server, of, second.refresh_token)).status, 400)
    })
  )

  it.effect("is of no use to another client, after a revocation, or for a user who is disabled", () =>
    Effect.gen(function* () {
      const { removeClient, revokeConsents } = yield* OAuth2
      const [of, other] = [yield* party(), yield* party()]
      const subject = fresh("ada")
      const one = yield* tokensOf(of, subject)
      assert.strictEqual((yield* refresh(server, other, one.refresh_token)).status, 400)
      inactive.add(subject)
      assert.strictEqual((yield* refresh(server, of, one.refresh_token)).status, 400)
      inactive.delete(subject)
      const two = yield* tokensOf(of, subject)
      yield* revokeConsents(subject, of.client.client_id)
      assert.strictEqual((yield* refresh(server, of, two.refresh_token)).status, 400)
      const three = yield* tokensOf(other, subject)
      yield* removeClient(other.client.client_id)
      assert.strictEqual((yield* refresh(server, other, three.refresh_token)).status, 401)
      assert.lengthOf(yield* sql("select from svc.oauth2_consents where subject = $1", [subject]), 0)
    })
  )

  it.effect("gives fewer scopes, but not more", () =>
    Effect.gen(function* () {
      const of = yield* party()
      const { refresh_token } = yield* tokensOf(of)
      const ask = (scope: string) =>
        Effect.promise(async () => {
          const basic = Buffer.from(`${of.client.client_id}:${of.secret}`).toString("base64")
          const response = await fetch(`${issuer}/oauth2/token`, {
            method: "POST",
            headers: { authorization: `Basic ${basic}` },
            body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: refresh_token ?? "", scope })
          })
          return (await response.json()) as { readonly error?: string; readonly scope?: string }
        })
      assert.strictEqual((yield* ask("openid email")).error, "invalid_scope")
      assert.strictEqual((yield* ask("openid")).scope, "openid")
    })
  )
})

layer(port, live)("a token for an audience", (it) => {
  it.effect("is a JWT for it only", () =>
    Effect.gen(function* () {
      const { acceptConsent, acceptLogin } = yield* OAuth2
      const audience = "https://api.example.com/"
      const of = yield* party({ audience: [audience], scope: "openid offline orders:read" })
      const browser = startBrowsing()
      const url = authorizationUrl(server, of, { audience, scope: "openid offline orders:read" })
      const login = yield* challengeAt(browser, url, "login")
      const consent = yield* challengeAt(browser, (yield* acceptLogin(login, signedIn("ada"))).redirectTo, "consent")
      const { redirectTo } = yield* acceptConsent(consent, {
        grantScope: ["openid", "offline", "orders:read"],
        grantAudience: [audience],
        remember: false,
        rememberFor: 0,
        idTokenClaims: {},
        accessTokenClaims: { role: "editor" }
      })
      const back = yield* Effect.promise(() => browser.go(redirectTo, ({ port }) => port === "5555"))
      const { body } = yield* exchange(server, of, back.url.searchParams.get("code") ?? "")
      const { aud, ext, iss, scope, sub } = claimsOf(body.access_token)
      assert.deepStrictEqual(
        { aud, ext, iss, scope, sub },
        { aud: audience, ext: { role: "editor" }, iss: issuer, scope: "openid offline orders:read", sub: "ada" }
      )
      const header = JSON.parse(Buffer.from(body.access_token.split(".")[0] ?? "", "base64url").toString())
      assert.deepStrictEqual([header.typ, header.alg], ["at+jwt", "RS256"])
      // Its claims are renewed with it.
      const renewed = yield* refresh(server, of, body.refresh_token)
      assert.strictEqual(claimsOf(renewed.body.access_token)["aud"], audience)
    })
  )
})

layer(port, live)("the database", (it) => {
  it.effect("holds nothing that is valid as a token, code, cookie, challenge or secret", () =>
    Effect.gen(function* () {
      const { acceptConsent, acceptLogin, acceptLogout } = yield* OAuth2
      const of = yield* party()
      const browser = startBrowsing()
      const login = yield* challengeAt(browser, authorizationUrl(server, of), "login")
      const signed = yield* acceptLogin(login, signedIn(fresh("ada")))
      const consent = yield* challengeAt(browser, signed.redirectTo, "consent")
      const given = { grantScope: ["openid", "offline"], grantAudience: [], remember: true, rememberFor: 0 }
      const accepted = yield* acceptConsent(consent, { ...given, idTokenClaims: {}, accessTokenClaims: {} })
      const pending = yield* challengeAt(startBrowsing(), authorizationUrl(server, of), "login")
      const back = yield* Effect.promise(() => browser.go(accepted.redirectTo, ({ port }) => port === "5555"))
      const code = back.url.searchParams.get("code") ?? ""
      const { body } = yield* exchange(server, of, code)
      const cookie = browser.cookie("127.0.0.1", "oauth2_session") ?? ""
      const logout = yield* challengeAt(browser, `${issuer}/oauth2/sessions/logout`, "logout")
      const { redirectTo } = yield* acceptLogout(logout)
      const rows = yield* Effect.forEach(
        ["items", "clients", "consents", "challenges", "answers", "logouts"],
        (table) => sql(`select * from svc.oauth2_${table}`)
      )
      const dump = JSON.stringify(rows)
      assert.include(dump, of.client.client_id)
      const secrets = {
        login,
        consent,
        pending,
        code,
        logout,
        cookie,
        access: body.access_token,
        refresh: body.refresh_token ?? "",
        secret: of.secret,
        verifier: new URL(signed.redirectTo).searchParams.get("verifier") ?? "",
        verifierOfLogout: new URL(redirectTo).searchParams.get("logout_verifier") ?? ""
      }
      for (const [name, secret] of Object.entries(secrets)) {
        assert.isAbove(secret.length, 20, name)
        assert.notInclude(dump, secret, name)
      }
    })
  )
})

layer(port, live)("a client's key set", (it) => {
  it.effect("is not fetched from an internal address", () =>
    Effect.gen(function* () {
      let requests = 0
      const internal = createServer((_request, response) => {
        requests++
        response.end("{}")
      }).listen(0, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => internal.close()))
      yield* Effect.promise(() => new Promise((listening) => internal.once("listening", listening)))
      const jwks_uri = `http://127.0.0.1:${(internal.address() as AddressInfo).port}/jwks.json`
      const of = yield* party({ token_endpoint_auth_method: "private_key_jwt", jwks_uri })
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
      const now = Math.floor(Date.now() / 1000)
      const id = of.client.client_id
      const claims = { iss: id, sub: id, aud: issuer, jti: fresh("jti"), exp: now + 60, iat: now }
      const assertion = `${part({ alg: "RS256", kid: "x" })}.${part(claims)}.${"A".repeat(342)}`
      const response = yield* Effect.promise(() =>
        fetch(`${issuer}/oauth2/token`, {
          method: "POST",
          body: new URLSearchParams({
            grant_type: "refresh_token",
            refresh_token: "x",
            client_id: id,
            client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            client_assertion: assertion
          })
        })
      )
      assert.include([400, 401], response.status)
      assert.strictEqual(requests, 0)
    })
  )
})

/** The signed statement by which a client authenticates (RFC 7523 2.2), with a code that does not exist. */
const authenticated = Effect.fnUntraced(function* (id: string, alg: string, key: CryptoKey) {
  const assertion = yield* Effect.promise(() =>
    new SignJWT({ jti: fresh("jti") })
      .setProtectedHeader({ alg })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(issuer)
      .setIssuedAt()
      .setExpirationTime("1m")
      .sign(key)
  )
  const body = new URLSearchParams({
    grant_type: "refresh_token",
    refresh_token: "x",
    client_id: id,
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: assertion
  })
  return yield* Effect.promise(async () => {
    const response = await fetch(`${issuer}/oauth2/token`, { method: "POST", body })
    return ((await response.json()) as { readonly error: string }).error
  })
})

layer(port, live)("token_endpoint_auth_signing_alg", (it) => {
  it.effect.each(clientAlgorithms)("%s is the only algorithm of the client", (alg) =>
    Effect.gen(function* () {
      const keys = new Map<string, CryptoKey>()
      const jwks: Array<object> = []
      for (const one of [alg, alg === "RS256" ? "ES256" : "RS256"]) {
        const pair = yield* Effect.promise(() => generateKeyPair(one))
        keys.set(one, pair.privateKey)
        jwks.push({ ...(yield* Effect.promise(() => exportJWK(pair.publicKey))), kid: one })
      }
      const method = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: jwks } }
      const { client_id: free } = (yield* party(method)).client
      const { client_id: bound } = (yield* party({ ...method, token_endpoint_auth_signing_alg: alg })).client
      for (const [one, key] of keys) {
        // The client is known then, and its refresh token is wrong.
        assert.strictEqual(yield* authenticated(free, one, key), "invalid_grant", one)
        const expected = one === alg ? "invalid_grant" : "invalid_client"
        assert.strictEqual(yield* authenticated(bound, one, key), expected, one)
      }
    })
  )

  it.effect("is not registered for what the server does not verify, or for another method", () =>
    Effect.gen(function* () {
      const keys = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://shop.example.com/jwks.json" }
      for (const fields of [
        { ...keys, token_endpoint_auth_signing_alg: "RS384" },
        { token_endpoint_auth_signing_alg: "RS256" }
      ]) {
        const refused = yield* Effect.flip(party(fields))
        assert.strictEqual(refused.status, 400)
        assert.include(refused.error, "token_endpoint_auth_signing_alg")
      }
    })
  )
})
