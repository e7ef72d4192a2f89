import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from "jose"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { afterAll, assert, beforeAll, describe, it, vi } from "vitest"
import { ask, sql } from "../../../support/client.ts"
import { asMember } from "../../../support/identity/people.ts"
import { afterLogout } from "../../../support/identity/signIn.ts"
import {
  makeParty,
  makePerson,
  patchPerson,
  type Person,
  startProvider,
  walk
} from "../../../support/oauth2/conformance.ts"

let service: Awaited<ReturnType<typeof startProvider>>
let party: Awaited<ReturnType<typeof makeParty>>
beforeAll(async () => {
  service = await startProvider({ SVC_OAUTH2_ALLOW_PRIVATE: "true" })
  party = await makeParty(service)
})
afterAll(() => service[Symbol.asyncDispose]())

interface Request {
  readonly hint?: (token: string) => string
  readonly to?: string
  readonly state?: string
}

/** Where a sign-out ends, and whether the person is signed out then. */
interface Outcome {
  /** The app, a page that says so, or a page with the error. */
  readonly at: "app" | "page" | "error"
  readonly asked: boolean
  readonly ended: boolean
}

const own = (token: string) => token
/** Another first character of the signature. */
const modified = (token: string) => {
  const [header, payload, signature = ""] = token.split(".")
  return `${header}.${payload}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`
}

const done: Outcome = { at: "app", asked: false, ended: true }
const refusedRequest: Outcome = { at: "error", asked: false, ended: false }
/** Without a proof that the app began it, the person is asked, and stays at the service. */
const confirmed: Outcome = { at: "page", asked: true, ended: true }

/** The modules of the plan: what a request has, and how it ends. */
const modules: Readonly<Record<string, readonly [Request, Outcome]>> = {
  "oidcc-rp-initiated-logout": [{ hint: own, to: afterLogout, state: "s-1" }, done],
  "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri": [
    { hint: own, to: `${afterLogout}/not-registered`, state: "s-1" },
    refusedRequest
  ],
  "oidcc-rp-initiated-logout-modified-id-token-hint": [
    { hint: modified, to: afterLogout, state: "s-1" },
    refusedRequest
  ],
  "oidcc-rp-initiated-logout-no-id-token-hint": [{ to: afterLogout, state: "s-1" }, confirmed],
  "oidcc-rp-initiated-logout-no-params": [{}, confirmed],
  "oidcc-rp-initiated-logout-only-state": [{ state: "s-1" }, confirmed],
  "oidcc-rp-initiated-logout-no-post-logout-redirect-uri": [
    { hint: own, state: "s-1" },
    { at: "page", asked: false, ended: true }
  ],
  "oidcc-rp-initiated-logout-no-state": [{ hint: own, to: afterLogout }, done],
  "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri": [
    { hint: own, to: `${afterLogout}?foo=bar`, state: "s-1" },
    refusedRequest
  ]
}

const leave = async (person: Person, { hint, state, to }: Request, token: string, post: boolean) => {
  const parameters = new URLSearchParams({
    ...(hint === undefined ? {} : { id_token_hint: hint(token) }),
    ...(to === undefined ? {} : { post_logout_redirect_uri: to }),
    ...(state === undefined ? {} : { state })
  })
  const endpoint = `${service.issuer}/oauth2/sessions/logout`
  return post ? walk(person, endpoint, { method: "POST", body: parameters }) : walk(person, `${endpoint}?${parameters}`)
}

const places = { app: afterLogout, page: "/oauth2/signed-out", error: "/oauth2/error" }

describe.each(["GET", "POST"])("OpenID Connect, plan RP-Initiated Logout OP, by %s", (method) => {
  it.each(Object.entries(modules))("%s", async (_name, [request, outcome]) => {
    const person = await makePerson(service)
    const { tokens } = await party.signIn(person)
    const { page, seen, url } = await leave(person, request, tokens.id_token ?? "", method === "POST")
    const place = places[outcome.at]
    assert.strictEqual(`${url.origin}${url.pathname}`, new URL(place, service.issuer).href)
    assert.strictEqual(url.searchParams.get("state"), outcome.at === "app" ? (request.state ?? null) : null)
    assert.strictEqual(page.status, { app: 0, page: 200, error: 400 }[outcome.at])
    assert.deepStrictEqual(seen, outcome.asked ? ["/oauth2/logout"] : [])
    // The plan checks by prompt=none whether the session has ended.
    const after = await party.authorize(person, { prompt: "none" })
    assert.strictEqual(after.query["error"], outcome.ended ? "login_required" : undefined, JSON.stringify(after.query))
  })
})

interface Received {
  readonly method: string | undefined
  readonly type: string | undefined
  readonly fields: Readonly<Record<string, string>>
}

/** A client's endpoint for notices. It answers with these statuses in turn, and then with 200. */
const startListener = async (...statuses: ReadonlyArray<number>) => {
  const received: Array<Received> = []
  const listener = createServer((request, response) => {
    let body = ""
    request
      .setEncoding("utf8")
      .on("data", (text: string) => (body += text))
      .once("end", () => {
        const status = statuses[received.length] ?? 200
        const { headers, method } = request
        received.push({ method, type: headers["content-type"], fields: Object.fromEntries(new URLSearchParams(body)) })
        response.writeHead(status, { location: "http://127.0.0.1:9/elsewhere" }).end()
      })
  }).listen(0, "127.0.0.1")
  await once(listener, "listening")
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/signed-out`,
    received,
    /** Waits for so many notices; returns the claims of each. */
    claims: async (count: number): Promise<ReadonlyArray<JWTPayload>> => {
      await vi.waitFor(() => assert.isAtLeast(received.length, count), { timeout: 12_000, interval: 50 })
      return received.map(({ fields }) => decodeJwt(fields["logout_token"] ?? ""))
    },
    [Symbol.asyncDispose]: async () => {
      listener.close()
    }
  }
}

const notices = (id: string) =>
  sql(service, "select attempts, due_at > now() as later from svc.oauth2_logout_notices where client_id = $1", [id])
const event = "http://schemas.openid.net/event/backchannel-logout"

const makeNotified = (url: string, fields: Readonly<Record<string, unknown>> = {}) =>
  makeParty(service, { backchannel_logout_uri: url, backchannel_logout_session_required: true, ...fields })

/** What ends the sessions of a person, who has signed in to a client. */
const ends: Readonly<Record<string, (person: Person) => Promise<unknown>>> = {
  "a sign-out that another client begins": async (person) => {
    const { tokens } = await party.signIn(person)
    await leave(person, { hint: own }, tokens.id_token ?? "", false)
  },
  "a sign-out that the person confirms": (person) => leave(person, {}, "", false),
  "an administrator who ends all sign-ins": ({ id }) =>
    ask(service, "POST /api/oauth2/logout", { key: service.service_role, body: { subject: id } }),
  "a new password": ({ cookie }) =>
    asMember(service, cookie, "PUT /api/auth/password", { body: { password: "five other common words" } }),
  "an account that is disabled": ({ id }) => patchPerson(service, id, { state: "inactive" }),
  "an account that is deleted": ({ id }) => ask(service, `DELETE /api/identities/${id}`, { key: service.service_role }),
  "another person who signs in with the same browser": async ({ browser }) => {
    const other = { ...(await makePerson(service)), browser }
    browser.setCookie("127.0.0.1", "idp_session", other.cookie.slice(other.cookie.indexOf("=") + 1))
    const { claims } = await party.signIn(other)
    assert.strictEqual(claims.sub, other.id)
  }
}

// Concurrent, because the service looks for some notices only every few seconds.
describe.concurrent("OpenID Connect, Back-Channel Logout", () => {
  it("says that it is supported, and that front-channel logout is not", async () => {
    const { json } = await ask(service, "GET /.well-known/openid-configuration")
    assert.deepInclude(json, { backchannel_logout_supported: true, backchannel_logout_session_supported: true })
    assert.notProperty(json, "frontchannel_logout_supported")
  })

  it("sends a token with the claims of the standard, and none of an ID token", async () => {
    await using listener = await startListener()
    const [person, app] = [await makePerson(service), await makeNotified(listener.url)]
    const { claims: signedIn, tokens } = await app.signIn(person)
    await leave(person, { hint: own, to: afterLogout }, tokens.id_token ?? "", false)
    await listener.claims(1)
    const notice = listener.received[0]!
    assert.strictEqual(notice.method, "POST")
    assert.match(notice.type ?? "", /^application\/x-www-form-urlencoded/)
    assert.deepStrictEqual(Object.keys(notice.fields), ["logout_token"])
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await jwtVerify(notice.fields["logout_token"] ?? "", keys, {
      issuer: service.issuer,
      audience: app.id,
      typ: "logout+jwt"
    })
    assert.strictEqual(protectedHeader.alg, "RS256")
    assert.sameMembers(Object.keys(payload), ["iss", "sub", "aud", "iat", "exp", "jti", "sid", "events"])
    assert.deepInclude(payload, { sub: person.id, sid: signedIn["sid"], events: { [event]: {} } })
    assert.isString(payload["sid"])
    assert.closeTo(payload.iat ?? 0, Date.now() / 1000, 20)
    assert.isAtMost((payload.exp ?? 0) - (payload.iat ?? 0), 120)
    // It is no ID token.
    await app.signIn(person)
    const token = notice.fields["logout_token"] ?? ""
    const hinted = await leave(person, { hint: () => token }, "", false)
    assert.strictEqual(hinted.url.searchParams.get("error"), "invalid_request", hinted.url.href)
    const { query } = await app.authorize(person, { prompt: "none", id_token_hint: token })
    assert.strictEqual(query["error"], "invalid_request")
    await vi.waitFor(async () => assert.lengthOf(await notices(app.id), 0))
    assert.lengthOf(listener.received, 1)
  })

  it("names the session only to clients that require it", async () => {
    await using listener = await startListener()
    const person = await makePerson(service)
    const app = await makeNotified(listener.url, { backchannel_logout_session_required: false })
    const { claims: signedIn, tokens } = await app.signIn(person)
    assert.notProperty(signedIn, "sid")
    await leave(person, { hint: own }, tokens.id_token ?? "", false)
    const [claims] = await listener.claims(1)
    assert.notProperty(claims, "sid")
    assert.strictEqual(claims?.sub, person.id)
  })

  it.each(Object.entries(ends))("notifies of %s", async (_name, end) => {
    await using listener = await startListener()
    const [person, app, stranger] = [
      await makePerson(service),
      await makeNotified(listener.url),
      await makePerson(service)
    ]
    const { claims: signedIn } = await app.signIn(person)
    await app.signIn(stranger)
    await end(person)
    const claims = await listener.claims(1)
    assert.deepStrictEqual(
      claims.map(({ sid, sub }) => ({ sid, sub })),
      [{ sid: signedIn["sid"], sub: person.id }]
    )
  })

  it("tells each session that ends, and neither those that stay nor clients without an address", async () => {
    await using listener = await startListener()
    const [person, app] = [await makePerson(service), await makeNotified(listener.url)]
    const elsewhere: Person = { ...person, browser: (await makePerson(service)).browser }
    const [here, there] = [await app.signIn(person), await app.signIn(elsewhere)]
    assert.notStrictEqual(here.claims["sid"], there.claims["sid"])
    await leave(person, { hint: own }, here.tokens.id_token ?? "", false)
    assert.deepStrictEqual(
      (await listener.claims(1)).map(({ sid }) => sid),
      [here.claims["sid"]]
    )
    assert.isDefined((await app.authorize(elsewhere, { prompt: "none" })).query["code"])
  })

  it("is repeated with a new token until the client accepts it, and follows no redirect", async () => {
    await using listener = await startListener(503, 302)
    const [person, app] = [await makePerson(service), await makeNotified(listener.url)]
    const { tokens } = await app.signIn(person)
    await leave(person, { hint: own }, tokens.id_token ?? "", false)
    const [first] = await listener.claims(1)
    for (const attempts of [1, 2]) {
      await vi.waitFor(async () => assert.deepStrictEqual(await notices(app.id), [{ attempts, later: true }]))
      await sql(service, "update svc.oauth2_logout_notices set due_at = now() where client_id = $1", [app.id])
      await listener.claims(attempts + 1)
    }
    await vi.waitFor(async () => assert.lengthOf(await notices(app.id), 0))
    const claims = await listener.claims(3)
    assert.strictEqual(new Set(claims.map(({ jti }) => jti)).size, 3)
    assert.deepStrictEqual(new Set(claims.map(({ sid }) => sid)), new Set([first?.["sid"]]))
  })

  it("is given up after the fifth attempt, and with the client", async () => {
    await using listener = await startListener(...Array.from({ length: 9 }, () => 400))
    const [person, app, removed] = [
      await makePerson(service),
      await makeNotified(listener.url),
      await makeNotified(listener.url)
    ]
    const { tokens } = await app.signIn(person)
    await removed.signIn(person)
    await leave(person, { hint: own }, tokens.id_token ?? "", false)
    await listener.claims(2)
    await ask(service, `DELETE /api/oauth2/clients/${removed.id}`, { key: service.service_role })
    assert.lengthOf(await notices(removed.id), 0)
    await vi.waitFor(async () => assert.isTrue((await notices(app.id))[0]?.["later"]))
    await sql(service, "update svc.oauth2_logout_notices set attempts = 4, due_at = now() where client_id = $1", [
      app.id
    ])
    await listener.claims(3)
    await vi.waitFor(async () => assert.lengthOf(await notices(app.id), 0))
    const last = new RegExp(
      `Failed to notify the client ${app.id} of a sign-out: [^"\\n]+; there will be no other attempt`
    )
    assert.match(service.output(), last)
  })
})
