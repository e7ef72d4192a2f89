import { isGood } from "./authorize.ts"
import { pageOf } from "./pages.ts"
import { type Flow, rememberedSession, sessionCookie, type State, uuid } from "./state.ts"
import { endTokens } from "./tokens.ts"
import { type FakeRequest, cookie, cookieOf, empty, OAuth2Error, redirect, type Reply, withQuery } from "./wire.ts"

const bad = (what: string) => new OAuth2Error(400, "invalid_request", what)

/** `/admin/oauth2/auth/sessions/consent`. */
export const consentSessions = (state: State, request: FakeRequest): Reply => {
  const subject = request.query.get("subject") ?? ""
  if (request.method === "DELETE") {
    const client = request.query.get("client") ?? ""
    const all = request.query.get("all") === "true"
    const which = (flow: Flow) => flow.subject === subject && (all || flow.client.client_id === client)
    for (const [id, flow] of state.granted) if (which(flow)) state.granted.delete(id)
    endTokens(state, which)
    return empty
  }
  const shown = [...state.granted.values()].filter((one) => one.subject === subject && !one.consentSkip && isGood(one))
  const reply = pageOf(request, shown, ({ consentId }) => consentId)
  const page = JSON.parse(reply.body ?? "[]") as ReadonlyArray<Flow>
  return { ...reply, body: JSON.stringify(page.map(consentOf)) }
}

const consentOf = (flow: Flow) => ({
  consent_request: {
    challenge: "",
    client: flow.client,
    requested_scope: flow.scopes,
    requested_access_token_audience: flow.audience,
    subject: flow.subject,
    skip: false
  },
  consent_request_id: flow.consentId,
  grant_scope: flow.grantedScopes,
  grant_access_token_audience: flow.grantedAudience,
  remember: flow.consentRemember,
  remember_for: flow.consentRememberFor,
  handled_at: flow.handledAt,
  session: { id_token: flow.idTokenClaims, access_token: flow.accessTokenClaims }
})

/** `/admin/oauth2/auth/sessions/login`: the browser sessions of a subject; tokens stay valid. */
export const loginSessions = (state: State, request: FakeRequest): Reply => {
  const subject = request.query.get("subject") ?? ""
  for (const [sid, session] of state.sessions) if (session.subject === subject) state.sessions.delete(sid)
  return empty
}

/** The end session endpoint (OpenID Connect RP-Initiated Logout 1.0). */
export const logout = async (state: State, request: FakeRequest): Promise<Reply> => {
  const verifier = request.query.get("logout_verifier")
  try {
    if (verifier !== null) return endSession(state, request, verifier)
    return await askLogout(state, request, request.query)
  } catch (cause) {
    if (!(cause instanceof OAuth2Error)) throw cause
    return redirect(withQuery(state.urls.error, { error: cause.code, error_description: cause.message }))
  }
}

const askLogout = async (state: State, request: FakeRequest, query: URLSearchParams): Promise<Reply> => {
  const hint = query.get("id_token_hint")
  const wanted = query.get("post_logout_redirect_uri")
  if (hint === null) {
    const sid = cookieOf(request, sessionCookie)
    const session = rememberedSession(state, sid)
    if (session === undefined || sid === undefined) return redirect(state.urls.postLogout)
    return toLogout(state, request, sid, session.subject, null, state.urls.postLogout)
  }
  const claims = await state.keys.verify(hint)
  const client = [claims.aud ?? []].flat().map((id) => state.clients.get(id)?.client)[0]
  if (client === undefined) throw bad("No such client")
  if (wanted !== null && !client.post_logout_redirect_uris.includes(wanted)) throw bad("Not an address of the client's")
  const after = query.get("state")
  const redirectTo = wanted === null ? state.urls.postLogout : withQuery(wanted, after === null ? {} : { state: after })
  const sid = String(claims["sid"])
  const session = rememberedSession(state, sid)
  return session === undefined
    ? redirect(redirectTo)
    : toLogout(state, request, sid, session.subject, client, redirectTo)
}

const toLogout = (
  state: State,
  request: FakeRequest,
  sid: string,
  subject: string,
  client: Flow["client"] | null,
  redirectTo: string
) => {
  const challenge = uuid().replaceAll("-", "")
  const requestUrl = `${request.path}?${request.query}`
  const verifier = uuid().replaceAll("-", "")
  state.logouts.set(challenge, { subject, sid, client, requestUrl, redirectTo, verifier, accepted: false, used: false })
  return redirect(withQuery(state.urls.logout, { logout_challenge: challenge }))
}

const endSession = (state: State, request: FakeRequest, verifier: string) => {
  const found = [...state.logouts.values()].find((one) => one.verifier === verifier && one.accepted)
  if (found === undefined) throw new OAuth2Error(404, "not_found", "No such logout")
  found.used = true
  // Without an ID token, only the browser that is signed in as the subject is signed out.
  const own = rememberedSession(state, cookieOf(request, sessionCookie))
  if (found.client === null && own?.subject !== found.subject) return redirect(found.redirectTo)
  state.sessions.delete(found.sid)
  return redirect(found.redirectTo, [cookie(sessionCookie, "", 0)])
}
