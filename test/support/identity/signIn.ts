import { assert } from "@effect/vitest"
import { Redacted } from "effect"
import { type IDToken, type TokenEndpointResponse, type TokenEndpointResponseHelpers } from "openid-client"
import { type Browsing, type Page, startBrowsing } from "../browser/cookieClient.ts"
import { cookieOf, type IdPUnderTest, makePerson, type Person } from "./idp.ts"
import { type Attempt, type RelyingParty, startRelyingParty } from "../oauth2/relyingParty.ts"
import { type Service } from "../service.ts"

/** Everything that takes part in a sign-in to a third-party application. */
export interface Stage {
  readonly service: Pick<Service, "url" | "service_role">
  readonly idp: IdPUnderTest
  /** The OAuth 2.0 server. */
  readonly publicUrl: string
}

/** These URLs have no server; browsers stop before them. */
export const dashboard = "http://127.0.0.1:24656"
export const callback = "http://127.0.0.1:5555/callback"
export const afterLogout = "http://127.0.0.1:5555/bye"

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

const answerOf = ({ status, text }: Page): Answer => ({ status, body: JSON.parse(text) as Answer["body"] })

/** A call of the management API with the service key. */
export const manage = async ({ service }: Stage, method: string, path: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${service.url}/api/oauth2${path}`, {
    method,
    headers: {
      apikey: service.service_role,
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: response.status, body: (await response.json()) as Answer["body"] }
}

/** The same from the dashboard's page, with the browser's cookies. */
export const fromDashboard = async (
  { service }: Stage,
  browser: Browsing,
  method: string,
  path: string,
  body?: unknown
): Promise<Answer> =>
  answerOf(
    await browser.once(`${service.url}/api/oauth2${path}`, {
      method,
      headers: { origin: dashboard, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  )

export interface Application extends RelyingParty {
  readonly id: string
  readonly secret: string
}

/** Registers a client with the service's API and returns it as a relying party. */
export const makeApplication = async (
  stage: Stage,
  fields: Readonly<Record<string, unknown>> = {}
): Promise<Application> => {
  const method = (fields["token_endpoint_auth_method"] ?? "client_secret_basic") as "client_secret_basic"
  const { body, status } = await manage(stage, "POST", "/clients", {
    client_name: "Shop",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    scope: "openid offline email profile",
    redirect_uris: [callback],
    post_logout_redirect_uris: [afterLogout],
    token_endpoint_auth_method: method,
    ...fields
  })
  assert.strictEqual(status, 201, JSON.stringify(body))
  const [id, secret] = [String(body["client_id"]), String(body["client_secret"] ?? "")]
  const registered = { clientId: id, secret, method, redirectUri: callback }
  return { ...(await startRelyingParty(`${stage.publicUrl}/`, registered)), id, secret }
}

/** An identity and its browser, which is not signed in yet. */
export interface Browser {
  readonly person: Person
  readonly browser: Browsing
}

export const makeVisitor = async ({ idp }: Stage): Promise<Browser> => ({
  person: await makePerson(idp, { name: "Ada Lovelace", metadata_public: { plan: { tier: "pro" }, level: 3 } }),
  browser: startBrowsing()
})

/** The host of the cookies, which all ports share. */
export const hostOf = ({ publicUrl }: Pick<IdPUnderTest, "publicUrl">) => new URL(publicUrl).hostname

/** Signs in at the identity provider's page. */
export const signInAtIdp = async ({ idp }: Stage, { browser, person }: Browser) => {
  const credential = await cookieOf(idp, person)
  browser.setCookie(hostOf(idp), "idp_session", Redacted.value(credential.value))
}

/** Where a browser stops: the identity provider's sign-in, the consent page, the application, or a response. */
export const goOn = async ({ idp }: Stage, browser: Browsing, url: string | URL) => {
  const idpHost = new URL(idp.publicUrl).host
  const stops = new Set([idpHost, new URL(dashboard).host, new URL(callback).host])
  const page = await browser.go(url, (to) => stops.has(to.host))
  const at = new Map([
    [idpHost, "idp"],
    [new URL(dashboard).host, "dashboard"],
    [new URL(callback).host, "application"]
  ]).get(page.url.host)
  return { at: at ?? `${page.status} ${page.text.slice(0, 300)}`, url: page.url }
}

/** Goes to the consent page, signing in if needed; returns the challenge. */
export const toConsent = async (stage: Stage, browser: Browser, url: string | URL) => {
  let there = await goOn(stage, browser.browser, url)
  if (there.at === "idp") {
    await signInAtIdp(stage, browser)
    there = await goOn(stage, browser.browser, there.url.searchParams.get("return_to") ?? "")
  }
  assert.strictEqual(there.at, "dashboard")
  assert.strictEqual(there.url.pathname, "/oauth2/consent")
  return there.url.searchParams.get("consent_challenge") ?? ""
}

export interface Allowed {
  readonly scope?: ReadonlyArray<string>
  readonly remember?: boolean
}

/** Goes from the consent page back to the application. */
export const allow = async (stage: Stage, { browser }: Browser, challenge: string, allowed: Allowed = {}) => {
  const { body, status } = await fromDashboard(stage, browser, "POST", "/bridge/consent/accept", {
    challenge,
    grant_scope: allowed.scope ?? ["openid", "offline"],
    remember: allowed.remember ?? false
  })
  assert.strictEqual(status, 200, JSON.stringify(body))
  const there = await goOn(stage, browser, String(body["redirect_to"]))
  assert.strictEqual(there.at, "application")
  return there.url
}

/** The whole flow, up to the tokens. */
export const signIn = async (
  stage: Stage,
  browser: Browser,
  application: Application,
  { parameters, ...allowed }: Allowed & { readonly parameters?: Readonly<Record<string, string>> } = {}
): Promise<{ readonly attempt: Attempt } & Tokens> => {
  const attempt = await application.begin(parameters)
  const challenge = await toConsent(stage, browser, attempt.url)
  const tokens = await application.finish(attempt, await allow(stage, browser, challenge, allowed))
  return Object.assign(tokens, { attempt, idClaims: tokens.claims() })
}

export type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers & { readonly idClaims: IDToken | undefined }

/** The error code with which the library rejects: OAuth 2.0's, or its own. */
export const refused = (promise: Promise<unknown>) =>
  promise.then(
    () => "taken",
    (cause: { readonly error?: string; readonly code?: string }) => cause.error ?? cause.code ?? String(cause)
  )
