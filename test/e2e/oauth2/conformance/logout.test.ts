import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { afterLogout } from "../../../support/identity/signIn.ts"
import { makeParty, makePerson, type Person, startProvider, walk } from "../../../support/oauth2/conformance.ts"

let service: Awaited<ReturnType<typeof startProvider>>
let party: Awaited<ReturnType<typeof makeParty>>
beforeAll(async () => {
  service = await startProvider()
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
