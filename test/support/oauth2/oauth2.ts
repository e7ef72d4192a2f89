import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { type OAuth2Client } from "../../../src/domain/oauth2/OAuth2.ts"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { type Browsing, startBrowsing } from "../browser/cookieClient.ts"

const { OAUTH2_TEST_ADMIN_URL, OAUTH2_TEST_CHALLENGE_SECONDS, OAUTH2_TEST_PUBLIC_URL } = process.env

/** The addresses of a server under test. */
export interface TestServer {
  readonly publicUrl: string
  /** Undefined for the embedded server, which has no admin API. */
  readonly adminUrl: string | undefined
  /** Waits until all current challenges have expired; the result undoes any change that this needed. */
  readonly outwait?: () => Promise<() => void>
}

/** For a server with a short lifetime of challenges (`ttl.login_consent_request` of Ory Hydra). */
const waiting = (seconds: number) => async () => {
  await sleep(seconds * 1000 + 1_500)
  return () => undefined
}

/** A second server to test with; undefined without OAUTH2_TEST_PUBLIC_URL and OAUTH2_TEST_ADMIN_URL. */
export const otherOAuth2Server: (TestServer & { readonly adminUrl: string }) | undefined =
  OAUTH2_TEST_PUBLIC_URL === undefined || OAUTH2_TEST_ADMIN_URL === undefined
    ? undefined
    : {
        publicUrl: OAUTH2_TEST_PUBLIC_URL.replace(/\/+$/, ""),
        adminUrl: OAUTH2_TEST_ADMIN_URL.replace(/\/+$/, ""),
        ...(OAUTH2_TEST_CHALLENGE_SECONDS === undefined
          ? {}
          : { outwait: waiting(Number(OAUTH2_TEST_CHALLENGE_SECONDS)) })
      }

/** This URL has no server; browsers stop before it. */
export const callback = "http://127.0.0.1:5555/callback"
export const afterLogout = "http://127.0.0.1:5555/bye"

export interface Party {
  readonly client: OAuth2Client
  /** "" for public clients. */
  readonly secret: string
}

const made = randomBytes(4).toString("hex")
let count = 0
/** A name that is unique on the server. */
export const fresh = (what: string) => `${what}-${made}-${++count}`

/** A client that may use the code flow, with additional fields. */
export const party = (fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const { createClient } = yield* OAuth2
    const { client, secret } = yield* createClient({
      client_name: "Contract",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "openid offline email profile",
      redirect_uris: [callback],
      post_logout_redirect_uris: [afterLogout],
      token_endpoint_auth_method: "client_secret_basic",
      ...fields
    })
    return { client, secret: secret ?? "" }
  })

/** A URL of the authorization endpoint, with PKCE. */
export const authorizationUrl = (
  { publicUrl }: TestServer,
  { client }: Party,
  more: Readonly<Record<string, string>> = {}
) =>
  `${publicUrl}/oauth2/auth?${new URLSearchParams({
    client_id: client.client_id,
    response_type: "code",
    scope: "openid offline",
    redirect_uri: callback,
    state: "state-12345678",
    nonce: "nonce-12345678",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...more
  })}`

const verifier = randomBytes(32).toString("base64url")

const challengeNames = ["login_challenge", "consent_challenge", "logout_challenge"]
const isStop = (url: URL) =>
  url.href.startsWith("http://127.0.0.1:5555/") || challengeNames.some((name) => url.searchParams.has(name))

/** Follows redirects to a challenge, the client, or an end; returns the query there. */
export const arrive = (browser: Browsing, url: string) =>
  Effect.promise(async () => {
    const page = await browser.go(url, isStop)
    return { url: page.url, status: page.status, query: Object.fromEntries(page.url.searchParams) }
  })

/** The challenge that a browser is redirected to. */
export const challengeAt = (browser: Browsing, url: string, kind: "login" | "consent" | "logout") =>
  Effect.map(arrive(browser, url), ({ query, url }) => {
    const challenge = query[`${kind}_challenge`]
    assert.isDefined(challenge, `No ${kind} challenge in ${url.href.slice(0, 300)}`)
    return challenge ?? ""
  })

export const signedIn = (subject: string) => ({
  subject,
  acr: "aal1",
  amr: ["password"],
  sessionId: "7a5d4b44-8a1c-4a0e-9d0b-5a4a3b1c2d3e",
  authenticatedAt: Math.floor(Date.now() / 1000),
  rememberFor: 3600
})

/** Follows redirects to the consent challenge. */
export const signIn = (server: TestServer, of: Party, { browser = startBrowsing(), more = {}, subject }: Journey) =>
  Effect.gen(function* () {
    const { acceptLogin } = yield* OAuth2
    const login = yield* challengeAt(browser, authorizationUrl(server, of, more), "login")
    const { redirectTo } = yield* acceptLogin(login, signedIn(subject))
    return yield* challengeAt(browser, redirectTo, "consent")
  })

export interface Journey {
  readonly subject: string
  readonly browser?: Browsing
  /** Parameters of the authorization request. */
  readonly more?: Readonly<Record<string, string>>
  readonly remember?: boolean
  readonly grantScope?: ReadonlyArray<string>
  readonly idTokenClaims?: Readonly<Record<string, unknown>>
  readonly accessTokenClaims?: Readonly<Record<string, unknown>>
}

/** Goes from the consent challenge to the client; returns the query there. */
export const allow = (challenge: string, { browser = startBrowsing(), ...journey }: Journey) =>
  Effect.gen(function* () {
    const { acceptConsent } = yield* OAuth2
    const { redirectTo } = yield* acceptConsent(challenge, {
      grantScope: journey.grantScope ?? ["openid", "offline"],
      grantAudience: [],
      remember: journey.remember ?? false,
      rememberFor: 0,
      idTokenClaims: journey.idTokenClaims ?? {},
      accessTokenClaims: journey.accessTokenClaims ?? {}
    })
    return (yield* arrive(browser, redirectTo)).query
  })

/** The whole flow; returns the query that the client receives. */
export const journey = (server: TestServer, of: Party, how: Journey) =>
  Effect.gen(function* () {
    const browser = how.browser ?? startBrowsing()
    return yield* allow(yield* signIn(server, of, { ...how, browser }), { ...how, browser })
  })

interface Tokens {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
  readonly error?: string
}

const post = (url: string, body: Readonly<Record<string, string>>, { client, secret }: Party) =>
  Effect.promise(async () => {
    const basic = Buffer.from(`${encodeURIComponent(client.client_id)}:${encodeURIComponent(secret)}`)
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Basic ${basic.toString("base64")}` },
      body: new URLSearchParams(body)
    })
    const text = await response.text()
    return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as Tokens }
  })

export const exchange = (server: TestServer, of: Party, code: string | undefined) =>
  post(
    `${server.publicUrl}/oauth2/token`,
    { grant_type: "authorization_code", code: code ?? "", redirect_uri: callback, code_verifier: verifier },
    of
  )

export const refresh = (server: TestServer, of: Party, token: string | undefined) =>
  post(`${server.publicUrl}/oauth2/token`, { grant_type: "refresh_token", refresh_token: token ?? "" }, of)

/** 200 when the client's secret is valid, else 401. */
export const knock = (server: TestServer, of: Party) =>
  Effect.map(post(`${server.publicUrl}/oauth2/revoke`, { token: "none" }, of), ({ status }) => status)

/** With the admin API, or as the client that the token was issued to (RFC 7662). */
export const introspection = ({ adminUrl, publicUrl }: TestServer, of: Party, token: string) =>
  adminUrl === undefined
    ? Effect.map(
        post(`${publicUrl}/oauth2/introspect`, { token }, of),
        ({ body }): Readonly<Record<string, unknown>> => ({ ...body })
      )
    : Effect.promise(async () => {
        const response = await fetch(`${adminUrl}/admin/oauth2/introspect`, {
          method: "POST",
          body: new URLSearchParams({ token })
        })
        return (await response.json()) as Readonly<Record<string, unknown>>
      })

export const claimsOf = (jwt: string | undefined) =>
  JSON.parse(Buffer.from((jwt ?? "").split(".")[1] ?? "", "base64url").toString("utf8")) as Readonly<
    Record<string, unknown>
  >
