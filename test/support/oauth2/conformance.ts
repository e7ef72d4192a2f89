import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretBasic,
  ClientSecretPost,
  discovery,
  enableNonRepudiationChecks,
  randomNonce,
  randomState,
  refreshTokenGrant
} from "openid-client"
import { assert } from "vitest"
import { type Browsing, type Page, startBrowsing } from "../browser/cookieClient.ts"
import { ask, sql } from "../client.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { afterLogout, callback } from "../identity/signIn.ts"
import { type Member, register } from "../identity/people.ts"
import { type Service, startService } from "../service.ts"
import { onwardIn, pressed, sendForm } from "./pageForm.ts"

/** The service with accounts of its own, at the address that its tokens name. */
export const startProvider = async (
  env: Readonly<Record<string, string>> = {}
): Promise<Service & { readonly issuer: string }> => {
  const port = String(await freePort())
  const issuer = `http://127.0.0.1:${port}`
  return Object.assign(await startService({ env: { PORT: port, PUBLIC_URL: issuer, ...env } }), { issuer })
}
type ProviderService = Awaited<ReturnType<typeof startProvider>>

export interface Person extends Member {
  readonly browser: Browsing
}

/** A person with an account and a browser that is not signed in. */
export const makePerson = async (service: ProviderService): Promise<Person> => ({
  ...(await register(service)),
  browser: startBrowsing()
})

/** Changes an account as an administrator. */
export const patchPerson = async (service: ProviderService, id: string, body: unknown) => {
  const reply = await ask(service, `PATCH /api/identities/${id}`, { key: service.service_role, body })
  assert.strictEqual(reply.status, 200, reply.text)
}

/** Makes the sessions of a person older, before the service has seen them. */
export const ageSessions = (service: ProviderService, { id }: Member, seconds: number) =>
  sql(
    service,
    `update svc.identity_sessions set authenticated_at = authenticated_at - make_interval(secs => $2::int)
     where identity_id = $1::text::uuid`,
    [id, seconds]
  )

const isApp = ({ port }: URL) => port === "5555"

/** Where a journey of the browser ended, and the paths of the pages on which the person acted. */
export interface Arrival {
  readonly url: URL
  readonly page: Page
  readonly seen: ReadonlyArray<string>
}

/** Follows redirects and fills the forms in: signs in, consents, confirms sign-outs. Stops at the app, or at another page. */
export const walk = async (person: Person, url: string | URL, first?: RequestInit): Promise<Arrival> => {
  const { browser } = person
  const seen: Array<string> = []
  let page = await browser.go(url, isApp, first)
  for (let step = 0; step < 8; step++) {
    if (page.status === 0) return { url: page.url, page, seen }
    const onward = onwardIn(page)
    if (onward !== "") {
      page = isApp(new URL(onward, page.url))
        ? { ...page, url: new URL(onward), status: 0 }
        : await browser.go(new URL(onward, page.url), isApp)
      continue
    }
    const action = /<form (?:class="choice" )?method="post" action="([^"]*)"/.exec(page.text)
    if (action === null) return { url: page.url, page, seen }
    seen.push(page.url.pathname)
    const typed = { email: person.email, password: person.password }
    const fields = [
      ...pressed(page, page.url.pathname.endsWith("/logout") ? "leave" : "allow"),
      ...(page.text.includes('name="remember"') ? [["remember", "on"] as const] : []),
      ...Object.entries(typed).filter(([name]) => page.text.includes(`name="${name}"`))
    ]
    const to = new URL((action[1] ?? "").replaceAll("&amp;", "&"), page.url)
    const sent = await sendForm(browser, to, fields, { origin: page.url.origin })
    const location = sent.headers.get("location")
    page = location === null ? sent : await browser.go(new URL(location, sent.url), isApp)
  }
  throw new Error(
    `The browser does not arrive: ${seen.join(" ")} ${page.url} ${page.text.slice(page.text.indexOf("<body")).slice(0, 1_500)}`
  )
}

/** A relying party as the certification's plans describe it: a confidential client, without PKCE. */
export const makeParty = async (service: ProviderService, fields: Readonly<Record<string, unknown>> = {}) => {
  const method = fields["token_endpoint_auth_method"] ?? "client_secret_basic"
  const reply = await ask(service, "POST /api/oauth2/clients", {
    key: service.service_role,
    body: {
      client_name: "Conformance",
      grant_types: ["authorization_code", "refresh_token"],
      scope: "openid profile email address phone offline_access",
      redirect_uris: [callback],
      post_logout_redirect_uris: [afterLogout],
      ...fields
    }
  })
  assert.strictEqual(reply.status, 201, reply.text)
  const { client_id: id, client_secret: secret } = reply.json as { client_id: string; client_secret: string }
  const authentication = method === "client_secret_post" ? ClientSecretPost(secret) : ClientSecretBasic(secret)
  const config = await discovery(new URL(service.issuer), id, undefined, authentication, {
    execute: [allowInsecureRequests, enableNonRepudiationChecks]
  })
  const parametersOf = (more: Readonly<Record<string, string | undefined>>) =>
    new URLSearchParams(
      Object.entries({
        client_id: id,
        response_type: "code",
        redirect_uri: callback,
        scope: "openid",
        state: randomState(),
        nonce: randomNonce(),
        ...more
      }).flatMap(([name, value]): Array<[string, string]> => (value === undefined ? [] : [[name, value]]))
    )
  const endpoint = `${service.issuer}/oauth2/auth`
  const exchange = (back: URL, parameters: URLSearchParams) =>
    authorizationCodeGrant(config, back, {
      expectedState: parameters.get("state") ?? undefined!,
      ...(parameters.has("nonce") ? { expectedNonce: parameters.get("nonce")! } : {}),
      ...(parameters.has("max_age") ? { maxAge: Number(parameters.get("max_age")) } : {}),
      idTokenExpected: true
    })
  return {
    id,
    secret,
    config,
    /** Sends the person's browser to the authorization endpoint, and on to where it ends. */
    authorize: async (person: Person, more: Readonly<Record<string, string | undefined>> = {}, post = false) => {
      const parameters = parametersOf(more)
      const arrival = post
        ? await walk(person, endpoint, { method: "POST", body: parameters })
        : await walk(person, `${endpoint}?${parameters}`)
      return { ...arrival, parameters, query: Object.fromEntries(arrival.url.searchParams) }
    },
    exchange,
    /** The whole flow. */
    signIn: async function (person: Person, more: Readonly<Record<string, string | undefined>> = {}, post = false) {
      const arrival = await this.authorize(person, more, post)
      assert.isTrue(isApp(arrival.url), `${arrival.url} ${arrival.page.text.slice(0, 300)}`)
      assert.isUndefined(arrival.query["error"], JSON.stringify(arrival.query))
      const tokens = await exchange(arrival.url, arrival.parameters)
      return { ...arrival, tokens, claims: tokens.claims()! }
    },
    refresh: (token: string) => refreshTokenGrant(config, token),
    post: async (path: string, body: Readonly<Record<string, string>>) => {
      const response = await fetch(`${service.issuer}${path}`, {
        method: "POST",
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}` },
        body: new URLSearchParams(body)
      })
      return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> }
    },
    userinfo: async (token: string) => {
      const response = await fetch(`${service.issuer}/oauth2/userinfo`, {
        headers: { authorization: `Bearer ${token}` }
      })
      return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> }
    }
  }
}
