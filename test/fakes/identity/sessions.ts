import { type State } from "./state.ts"
import {
  type Call,
  csrfPair,
  dropSession,
  failure,
  needFactor,
  needSession,
  redirect,
  type Reply,
  sessionJson,
  sessionOf
} from "./wire.ts"

/** GET /sessions/whoami */
export const whoami = (state: State, call: Call): Reply => {
  const session = needSession(state, call)
  needFactor(state, session)
  const headers = { "x-kratos-authenticated-identity-id": session.person.id }
  return { status: 200, body: sessionJson(session), headers }
}

/** GET /sessions: the identity's other sessions. */
export const listSessions = (state: State, call: Call): Reply => {
  const session = needSession(state, call)
  needFactor(state, session)
  const others = [...state.sessions.values()].filter(
    (one) => one.person === session.person && one !== session && state.alive(one) !== undefined
  )
  return { status: 200, body: others.toReversed().map(sessionJson) }
}

/** DELETE /sessions/{id}: 204 also for unknown sessions and those of other identities. */
export const revoke = (state: State, call: Call, id: string): Reply => {
  const session = needSession(state, call)
  if (!/^[0-9a-f-]{36}$/i.test(id)) throw failure({ status: 400, reason: "could not parse UUID" })
  if (state.sessions.get(id.toLowerCase())?.person === session.person) state.sessions.delete(id.toLowerCase())
  return { status: 204 }
}

/** GET /self-service/logout/browser */
export const beginLogout = (state: State, call: Call): Reply => {
  const { cookies } = csrfPair(state, call)
  const { logoutToken } = needSession(state, call, "session_inactive")
  const back = call.url.searchParams.get("return_to")
  const query = `token=${logoutToken}${back === null ? "" : `&return_to=${encodeURIComponent(back)}`}`
  const body = { logout_token: logoutToken, logout_url: `${state.baseUrl}self-service/logout?${query}` }
  return { status: 200, body, cookies }
}

/** GET /self-service/logout?token= */
export const logout = (state: State, call: Call): Reply => {
  const session = needSession(state, call, "session_inactive")
  if (call.url.searchParams.get("token") !== session.logoutToken)
    throw failure({ status: 403, reason: "Unable to log out because the logout token does not match the session." })
  state.sessions.delete(session.id)
  if (call.json) return { status: 204, cookies: [dropSession] }
  return redirect(call.url.searchParams.get("return_to") ?? state.settings.returnUrl, [dropSession])
}

/** DELETE /self-service/logout/api: 204 again for a token that was logged out. */
export const logoutToken = (state: State, call: Call): Reply => {
  const token = String(call.body["session_token"] ?? "")
  const session = sessionOf(state, { ...call, cookies: new Map(), headers: { "x-session-token": token } })
  if (session !== undefined) state.sessions.delete(session.id)
  else if (!state.endedTokens.has(token)) throw failure({ status: 403, reason: "The token could not be found." })
  state.endedTokens.add(token)
  return { status: 204 }
}
