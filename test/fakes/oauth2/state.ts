import { createHash, randomBytes, randomUUID } from "node:crypto"
import { deflateRawSync } from "node:zlib"
import { type Keys } from "./keys.ts"
import { OAuth2Error } from "./wire.ts"

/** Where users are redirected; may be changed while the server runs. */
export interface Urls {
  login: string
  consent: string
  logout: string
  error: string
  /** After a logout for which no client gave a URL. */
  postLogout: string
}

/** May be changed while the server runs. */
export interface Behaviour {
  /** How long a challenge is valid, in s. */
  challengeSeconds: number
  accessTokenSeconds: number
  /** As on servers up to 2.1: a challenge that was answered returns 410, and answering it again 409. */
  usedChallengesAreGone: boolean
  /** The Bearer token that the admin API requires, as behind a gateway; undefined: none. */
  adminToken: string | undefined
}

/** A registered application, with the server's field names. */
export interface Client {
  readonly client_id: string
  readonly client_name: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly post_logout_redirect_uris: ReadonlyArray<string>
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
  readonly scope: string
  readonly audience: ReadonlyArray<string>
  readonly token_endpoint_auth_method: string
  readonly [name: string]: unknown
}

export interface StoredClient {
  readonly client: Client
  readonly secret: string
}

/** The registered clients by id, and their secrets, which only the first response contains. */
export type Clients = Map<string, StoredClient>

/** Why a user or the service denied a request. */
export interface Denied {
  readonly error: string
  readonly description: string
}

/** A pending authorization request; each step is a copy, since the challenges of real servers contain it. */
export interface Flow {
  readonly id: string
  readonly client: Client
  readonly requestUrl: string
  readonly query: Readonly<Record<string, string>>
  readonly scopes: ReadonlyArray<string>
  readonly audience: ReadonlyArray<string>
  /** s since 1970, whole. */
  readonly requestedAt: number
  readonly loginSkip: boolean
  readonly subject: string
  readonly sid: string
  readonly loginCsrf: string
  readonly loginRemember: boolean
  readonly loginRememberFor: number
  readonly authenticatedAt: number
  readonly acr: string
  readonly amr: ReadonlyArray<string>
  readonly denied: Denied | null
  readonly consentId: string
  readonly consentSkip: boolean
  readonly consentCsrf: string
  readonly consentRemember: boolean
  readonly consentRememberFor: number
  readonly handledAt: string
  readonly grantedScopes: ReadonlyArray<string>
  readonly grantedAudience: ReadonlyArray<string>
  readonly idTokenClaims: Readonly<Record<string, unknown>>
  readonly accessTokenClaims: Readonly<Record<string, unknown>>
}

interface LoginSession {
  readonly subject: string
  authenticatedAt: number
  readonly remember: boolean
  /** ms since 1970. */
  readonly expiresAt: number
}

interface Logout {
  readonly subject: string
  readonly sid: string
  readonly client: Client | null
  readonly requestUrl: string
  readonly redirectTo: string
  readonly verifier: string
  accepted: boolean
  used: boolean
}

/** The grant of a code or token. */
export interface Grant {
  readonly flow: Flow
  /** s since 1970. */
  readonly expiresAt: number
  /** For refresh tokens and codes, which are valid once. */
  used: boolean
}

/** All of the server's state, in memory. */
export interface State {
  readonly clients: Clients
  readonly keys: Keys
  readonly urls: Urls
  readonly behaviour: Behaviour
  readonly issuer: () => string
  readonly logins: Map<string, Flow>
  readonly loginVerifiers: Map<string, Flow>
  readonly consents: Map<string, Flow>
  readonly consentVerifiers: Map<string, Flow>
  readonly answered: Set<string>
  /** By consent id: grants, including those of skipped requests. */
  readonly granted: Map<string, Flow>
  readonly sessions: Map<string, LoginSession>
  readonly logouts: Map<string, Logout>
  readonly codes: Map<string, Grant>
  readonly accessTokens: Map<string, Grant>
  readonly refreshTokens: Map<string, Grant>
}

export const seconds = () => Math.floor(Date.now() / 1000)
export const sessionCookie = "oauth2_session"

/** One per client, so that a browser can sign in to two applications at once. */
export const csrfCookie = (step: "login" | "consent", clientId: string) =>
  `oauth2_${step}_csrf_${createHash("sha256").update(clientId).digest("hex").slice(0, 12)}`

export const token = (kind: string) => `${kind}_${randomBytes(32).toString("base64url")}`

/** About as long as those of real servers, which contain the whole request and its client with all metadata. */
export const longToken = (flow: Flow) => {
  const size = deflateRawSync(JSON.stringify(flow)).length
  return randomBytes(size).toString("base64url")
}
export const uuid = () => randomUUID()

/** The flow of a challenge or verifier. */
export const flowOf = ({ behaviour }: State, flows: ReadonlyMap<string, Flow>, key: string): Flow => {
  const flow = flows.get(key)
  if (flow === undefined) throw new OAuth2Error(404, "Not Found", "No such request")
  if (flow.requestedAt + behaviour.challengeSeconds < Date.now() / 1000) {
    throw new OAuth2Error(401, "request_unauthorized", "The request has expired")
  }
  return flow
}

/** The session of a browser's cookie, if it is still valid. */
export const rememberedSession = (state: State, sid: string | undefined) => {
  const session = sid === undefined ? undefined : state.sessions.get(sid)
  return session !== undefined && session.remember && session.expiresAt > Date.now() ? session : undefined
}
