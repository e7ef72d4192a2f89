import { Redacted } from "effect"
import { assert } from "vitest"
import { type Credential } from "../../../src/domain/identity/Identity.ts"
import { type Browsing, type Page, startBrowsing } from "../browser/cookieClient.ts"
import { ask } from "../client.ts"
import { type IdentityService } from "../identity/service.ts"

/** This URL has no server; browsers stop before it. */
export const clientAddress = "http://127.0.0.1:5555"
export const callback = `${clientAddress}/callback`

/** Registers a client with the service's API; returns its id. */
export const makeClient = async (
  { service }: IdentityService,
  fields: Readonly<Record<string, unknown>> = {}
): Promise<string> => {
  const reply = await ask(service, "POST /api/oauth2/clients", {
    key: service.service_role,
    body: {
      client_name: "Shop",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "openid offline email profile",
      redirect_uris: [callback],
      token_endpoint_auth_method: "client_secret_basic",
      ...fields
    }
  })
  assert.strictEqual(reply.status, 201, reply.text)
  return (reply.json as { client_id: string }).client_id
}

/** The URL that starts the flow; `more` overrides the default parameters. */
export const authorizationUrl = (
  { oauth2 }: IdentityService,
  clientId: string,
  more: Readonly<Record<string, string>> = {}
): string =>
  `${oauth2.publicUrl}/oauth2/auth?${new URLSearchParams({
    client_id: clientId,
    response_type: "code",
    scope: "openid offline email",
    redirect_uri: callback,
    state: "state-12345678",
    nonce: "nonce-12345678",
    ...more
  })}`

/** A browser with a session at the identity provider, or without a credential. */
export const browserOf = (credential?: Credential): Browsing => {
  const browser = startBrowsing()
  if (credential === undefined) return browser
  const name = credential._tag === "Token" ? "svc_session" : "idp_session"
  browser.setCookie("127.0.0.1", name, Redacted.value(credential.value))
  return browser
}

/** Follows redirects to the identity provider, a consent screen, the client, or a response. */
export const goOn = ({ idp }: IdentityService, browser: Browsing, url: string | URL): Promise<Page> =>
  browser.go(
    url,
    (to) =>
      to.host === new URL(idp.publicUrl).host || to.pathname === "/oauth2/consent" || to.href.startsWith(clientAddress)
  )

/** The consent challenge that the browser is redirected to. */
export const consentChallenge = async (
  parts: IdentityService,
  browser: Browsing,
  clientId: string,
  more: Readonly<Record<string, string>> = {}
): Promise<string> => {
  const { text, url } = await goOn(parts, browser, authorizationUrl(parts, clientId, more))
  const challenge = url.searchParams.get("consent_challenge")
  assert.isNotNull(challenge, `${url.href.slice(0, 300)} ${text.slice(0, 300)}`)
  return challenge ?? ""
}
