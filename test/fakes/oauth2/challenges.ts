import { type Denied, type Flow, flowOf, longToken, seconds, type State } from "./state.ts"
import { type FakeRequest, empty, json, objectOf, OAuth2Error, type Reply, withQuery } from "./wire.ts"

const challengeOf = ({ query }: FakeRequest, name: string) => query.get(name) ?? ""

const text = (value: unknown) => (typeof value === "string" ? value : "")
const texts = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : []
const object = (value: unknown) => (typeof value === "object" && value !== null ? value : {}) as Flow["idTokenClaims"]
const number = (value: unknown) => (typeof value === "number" ? value : 0)

const deniedOf = (body: Readonly<Record<string, unknown>>): Denied => ({
  error: text(body["error"]) || "request_denied",
  description: text(body["error_description"])
})

/** `/admin/oauth2/auth/requests/login` and its accept and reject calls. */
export const loginRequests = (state: State, request: FakeRequest, step: string): Reply => {
  const challenge = challengeOf(request, "login_challenge")
  const body = request.method === "PUT" ? objectOf(request) : {}
  const flow = flowOf(state, state.logins, challenge)
  if (request.method === "GET") {
    return (
      goneReply(state, challenge, flow.requestUrl) ??
      json(200, {
        ...shownOf(flow),
        challenge,
        skip: flow.loginSkip,
        subject: flow.subject,
        session_id: flow.sid
      })
    )
  }
  if (step === "accept" && flow.subject !== "" && flow.subject !== body["subject"]) {
    // The subject differs from the browser's session: restarts with a sign-in.
    return json(200, { redirect_to: withQuery(flow.requestUrl, { prompt: "login" }) })
  }
  once(state, challenge)
  const next: Flow =
    step === "reject"
      ? { ...flow, denied: deniedOf(body) }
      : {
          ...flow,
          subject: text(body["subject"]),
          acr: text(body["acr"]),
          amr: texts(body["amr"]),
          loginRemember: body["remember"] === true || flow.loginSkip,
          loginRememberFor: number(body["remember_for"]),
          authenticatedAt: flow.loginSkip ? flow.authenticatedAt : seconds()
        }
  const verifier = longToken(next)
  state.loginVerifiers.set(verifier, next)
  return json(200, { redirect_to: withQuery(flow.requestUrl, { login_verifier: verifier }) })
}

/** `/admin/oauth2/auth/requests/consent` and its accept and reject calls. */
export const consentRequests = (state: State, request: FakeRequest, step: string): Reply => {
  const challenge = challengeOf(request, "consent_challenge")
  const body = request.method === "PUT" ? objectOf(request) : {}
  const flow = flowOf(state, state.consents, challenge)
  if (request.method === "GET") {
    return (
      goneReply(state, challenge, flow.requestUrl) ??
      json(200, {
        ...shownOf(flow),
        challenge,
        consent_request_id: flow.consentId,
        skip: flow.consentSkip,
        subject: flow.subject,
        login_session_id: flow.sid,
        login_challenge: flow.id,
        context: {},
        acr: flow.acr,
        amr: flow.amr
      })
    )
  }
  once(state, challenge)
  const session = object(body["session"])
  const next: Flow =
    step === "reject"
      ? { ...flow, denied: deniedOf(body) }
      : {
          ...flow,
          // Whether a scope was requested is not checked.
          grantedScopes: texts(body["grant_scope"]),
          grantedAudience: texts(body["grant_access_token_audience"]),
          consentRemember: body["remember"] === true,
          consentRememberFor: number(body["remember_for"]),
          idTokenClaims: object(session["id_token"]),
          accessTokenClaims: object(session["access_token"]),
          handledAt: new Date().toISOString().replace(/\.\d+/, "")
        }
  const verifier = longToken(next)
  state.consentVerifiers.set(verifier, next)
  return json(200, { redirect_to: withQuery(flow.requestUrl, { consent_verifier: verifier }) })
}

/** `/admin/oauth2/auth/requests/logout` and its accept and reject calls. */
export const logoutRequests = (state: State, request: FakeRequest, step: string): Reply => {
  const challenge = challengeOf(request, "logout_challenge")
  const logout = state.logouts.get(challenge)
  if (logout === undefined) throw new OAuth2Error(404, "No such logout")
  if (step === "reject") {
    state.logouts.delete(challenge)
    return empty
  }
  if (step === "accept") {
    logout.accepted = true
    return json(200, { redirect_to: `${state.issuer()}oauth2/sessions/logout?logout_verifier=${logout.verifier}` })
  }
  if (logout.used) return json(410, { redirect_to: logout.requestUrl })
  return json(200, {
    challenge,
    subject: logout.subject,
    sid: logout.sid,
    request_url: logout.requestUrl,
    rp_initiated: logout.client !== null,
    client: logout.client
  })
}

const shownOf = (flow: Flow) => ({
  client: flow.client,
  request_url: flow.requestUrl,
  requested_scope: flow.scopes,
  requested_access_token_audience: flow.audience,
  oidc_context: {}
})

const goneReply = ({ answered, behaviour }: State, challenge: string, requestUrl: string) =>
  behaviour.usedChallengesAreGone && answered.has(challenge) ? json(410, { redirect_to: requestUrl }) : undefined

/** Servers that do not store challenges can't detect that one was answered. */
const once = ({ answered, behaviour }: State, challenge: string) => {
  if (behaviour.usedChallengesAreGone && answered.has(challenge)) {
    throw new OAuth2Error(409, "conflict", "The challenge has already been answered")
  }
  answered.add(challenge)
}
