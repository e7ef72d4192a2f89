import {
  type Client,
  csrfCookie,
  type Flow,
  flowOf,
  longToken,
  rememberedSession,
  seconds,
  sessionCookie
} from "./state.ts"
import { type State, token, uuid } from "./state.ts"
import { type FakeRequest, cookie, cookieOf, OAuth2Error, redirect, type Reply, withQuery } from "./wire.ts"

const words = (text: string | undefined) => (text ?? "").split(" ").filter((word) => word !== "")
const forbidden = (what: string) => new OAuth2Error(403, "request_forbidden", what)

/** Default lifetime of browser sessions, in s. */
const sessionSeconds = 30 * 24 * 3600

/** The authorization endpoint (RFC 6749 3.1, OpenID Connect Core 3.1.2), with its two redirects. */
export const authorize = (state: State, request: FakeRequest): Reply => {
  const query = Object.fromEntries(request.query)
  let client: Client
  let redirectUri: string
  try {
    client = clientOf(state, query)
    redirectUri = redirectUriOf(client, query)
  } catch (cause) {
    // There is no URL to redirect the browser to.
    return redirect(withQuery(state.urls.error, errorOf(cause)))
  }
  const back = (added: Readonly<Record<string, string>>) =>
    redirect(withQuery(redirectUri, { ...added, state: query["state"] ?? "" }), [], 303)
  try {
    const loginVerifier = query["login_verifier"]
    const consentVerifier = query["consent_verifier"]
    if (consentVerifier !== undefined) return back(granted(state, request, client, consentVerifier, redirectUri))
    if (loginVerifier !== undefined) return askConsent(state, request, client, loginVerifier, redirectUri)
    return askLogin(state, request, client, query)
  } catch (cause) {
    return back(errorOf(cause))
  }
}

const errorOf = (cause: unknown) =>
  cause instanceof OAuth2Error
    ? { error: cause.code, error_description: cause.message }
    : { error: "server_error", error_description: String(cause) }

const clientOf = ({ clients }: State, query: Readonly<Record<string, string>>) => {
  const stored = clients.get(query["client_id"] ?? "")
  if (stored === undefined) throw new OAuth2Error(401, "invalid_client", "No such client")
  return stored.client
}

const redirectUriOf = (client: Client, query: Readonly<Record<string, string>>) => {
  const uri = query["redirect_uri"]
  if (uri === undefined || !client.redirect_uris.includes(uri)) {
    throw new OAuth2Error(400, "invalid_request", "The redirect URI is not registered for the client")
  }
  return uri
}

const askLogin = (
  state: State,
  request: FakeRequest,
  client: Client,
  query: Readonly<Record<string, string>>
): Reply => {
  const prompt = words(query["prompt"])
  const sid = cookieOf(request, sessionCookie)
  const session = prompt.includes("login") ? undefined : rememberedSession(state, sid)
  const maxAge = query["max_age"] === undefined ? Infinity : Number(query["max_age"])
  const fresh = session !== undefined && session.authenticatedAt + maxAge >= Date.now() / 1000 ? session : undefined
  if (prompt.includes("none") && fresh === undefined) {
    throw new OAuth2Error(400, "login_required", "The user is not signed in")
  }
  const flow: Flow = {
    id: uuid(),
    client,
    requestUrl: `${state.issuer()}oauth2/auth?${request.query}`,
    query,
    scopes: words(query["scope"]),
    audience: words(query["audience"]),
    requestedAt: seconds(),
    loginSkip: fresh !== undefined,
    subject: fresh?.subject ?? "",
    sid: fresh === undefined ? uuid() : (sid ?? uuid()),
    loginCsrf: token("csrf"),
    loginRemember: false,
    loginRememberFor: 0,
    authenticatedAt: fresh?.authenticatedAt ?? 0,
    acr: "",
    amr: [],
    denied: null,
    consentId: "",
    consentSkip: false,
    consentCsrf: "",
    consentRemember: false,
    consentRememberFor: 0,
    handledAt: "",
    grantedScopes: [],
    grantedAudience: [],
    idTokenClaims: {},
    accessTokenClaims: {}
  }
  const challenge = longToken(flow)
  state.logins.set(challenge, flow)
  return redirect(withQuery(state.urls.login, { login_challenge: challenge }), [
    cookie(csrfCookie("login", client.client_id), flow.loginCsrf, state.behaviour.challengeSeconds)
  ])
}

const askConsent = (
  state: State,
  request: FakeRequest,
  client: Client,
  verifier: string,
  redirectUri: string
): Reply => {
  const flow = flowOf(state, state.loginVerifiers, verifier)
  if (flow.denied !== null) throw new OAuth2Error(400, flow.denied.error, flow.denied.description)
  if (cookieOf(request, csrfCookie("login", flow.client.client_id)) !== flow.loginCsrf) {
    throw forbidden("The sign-in was started in another browser")
  }
  const prompt = words(flow.query["prompt"])
  const cookies = remember(state, flow)
  const skip = !prompt.includes("consent") && maySkip(state, flow, redirectUri)
  if (prompt.includes("none") && !skip) throw new OAuth2Error(400, "consent_required", "Consent is required")
  const next: Flow = { ...flow, consentId: uuid(), consentSkip: skip, consentCsrf: token("csrf") }
  const challenge = longToken(next)
  state.consents.set(challenge, next)
  return redirect(withQuery(state.urls.consent, { consent_challenge: challenge }), [
    cookie(csrfCookie("consent", client.client_id), next.consentCsrf, state.behaviour.challengeSeconds),
    ...cookies
  ])
}

/** The browser's own session at this server, started by a remembered sign-in. */
const remember = (state: State, flow: Flow): ReadonlyArray<string> => {
  if (flow.loginSkip) return []
  const lifetime = flow.loginRememberFor > 0 ? Math.min(flow.loginRememberFor, sessionSeconds) : sessionSeconds
  state.sessions.set(flow.sid, {
    subject: flow.subject,
    authenticatedAt: flow.authenticatedAt,
    remember: flow.loginRemember,
    expiresAt: Date.now() + lifetime * 1000
  })
  return [flow.loginRemember ? cookie(sessionCookie, flow.sid, lifetime) : cookie(sessionCookie, "", 0)]
}

/** Whether the latest remembered consent covers the request, and only the client can have sent it (RFC 6749 10.2). */
const maySkip = (state: State, { client, scopes, subject }: Flow, redirectUri: string) => {
  const { hostname, protocol } = new URL(redirectUri)
  const local = protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\]|.+\.localhost)$/.test(hostname)
  if (client.token_endpoint_auth_method === "none" && protocol !== "https:" && !local) return false
  const remembered = [...state.granted.values()]
    .filter((one) => one.client.client_id === client.client_id && one.subject === subject)
    .filter((one) => one.consentRemember && !one.consentSkip && isGood(one))
    .toSorted((a, b) => b.requestedAt - a.requestedAt)
  return remembered[0] !== undefined && scopes.every((scope) => remembered[0]?.grantedScopes.includes(scope))
}

/** Whether a grant has not expired. */
export const isGood = ({ consentRemember, consentRememberFor, handledAt }: Flow) =>
  !consentRemember || consentRememberFor === 0 || Date.parse(handledAt) + consentRememberFor * 1000 > Date.now()

const granted = (state: State, request: FakeRequest, client: Client, verifier: string, redirectUri: string) => {
  const flow = flowOf(state, state.consentVerifiers, verifier)
  if (flow.denied !== null) throw new OAuth2Error(400, flow.denied.error, flow.denied.description)
  if (state.granted.has(flow.consentId))
    throw new OAuth2Error(403, "access_denied", "The consent has already been used")
  state.granted.set(flow.consentId, flow)
  if (cookieOf(request, csrfCookie("consent", client.client_id)) !== flow.consentCsrf) {
    throw forbidden("The consent was given in another browser")
  }
  const code = token("code")
  const query = { ...flow.query, redirect_uri: redirectUri }
  state.codes.set(code, { flow: { ...flow, query }, expiresAt: seconds() + 600, used: false })
  return { code, scope: flow.grantedScopes.join(" ") }
}
