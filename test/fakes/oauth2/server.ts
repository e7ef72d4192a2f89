import { authorize } from "./authorize.ts"
import { consentRequests, loginRequests, logoutRequests } from "./challenges.ts"
import { clientsHandler } from "./clients.ts"
import { makeKeys } from "./keys.ts"
import { consentSessions, loginSessions, logout } from "./sessions.ts"
import { type Behaviour, type State, type Urls } from "./state.ts"
import { introspect, revoke, tokens, userinfo } from "./tokens.ts"
import { type FakeRequest, type Handler, json, listen, type Reply } from "./wire.ts"

/** An OAuth 2.0 and OpenID server in memory, which implements the real protocol and admin API. */
export interface OAuth2Server extends AsyncDisposable {
  readonly publicUrl: string
  readonly adminUrl: string
  readonly urls: Urls
  readonly behaviour: Behaviour
  /** Makes all sign-ins older by so many ms. */
  readonly age: (millis: number) => void
  /** Requests to the admin API: method, path, and the Authorization header. */
  readonly requests: Array<{ readonly call: string; readonly authorization: string | undefined }>
  /** Replaces responses of the admin API; undefined lets a request through. `hang` never responds. */
  intercept: (request: FakeRequest) => Reply | "hang" | undefined
}

export interface OAuth2ServerOptions {
  readonly behaviour?: Partial<Behaviour>
}

export const startOAuth2Server = async (options: OAuth2ServerOptions = {}): Promise<OAuth2Server> => {
  const place = "http://127.0.0.1:1"
  let publicUrl = ""
  const state: State = {
    clients: new Map(),
    keys: await makeKeys(),
    urls: {
      login: `${place}/login`,
      consent: `${place}/consent`,
      logout: `${place}/logout`,
      error: `${place}/error`,
      postLogout: `${place}/bye`
    },
    behaviour: {
      challengeSeconds: 1_800,
      accessTokenSeconds: 3_600,
      usedChallengesAreGone: false,
      adminToken: undefined,
      ...options.behaviour
    },
    issuer: () => `${publicUrl}/`,
    logins: new Map(),
    loginVerifiers: new Map(),
    consents: new Map(),
    consentVerifiers: new Map(),
    answered: new Set(),
    granted: new Map(),
    sessions: new Map(),
    logouts: new Map(),
    codes: new Map(),
    accessTokens: new Map(),
    refreshTokens: new Map()
  }
  const requests: OAuth2Server["requests"] = []
  const publicSide = await listen(publicHandler(state))
  publicUrl = publicSide.url
  const admin = adminHandler(state)
  const adminSide = await listen((request) => {
    requests.push({ call: `${request.method} ${request.path}`, authorization: request.headers.authorization })
    const other = server.intercept(request)
    if (other === "hang") return new Promise<Reply>(() => undefined)
    return other ?? admin(request)
  })
  const server: OAuth2Server = {
    publicUrl,
    adminUrl: adminSide.url,
    urls: state.urls,
    behaviour: state.behaviour,
    age: (millis) => {
      for (const session of state.sessions.values()) session.authenticatedAt -= millis / 1000
    },
    requests,
    intercept: () => undefined,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([publicSide.close(), adminSide.close()])
    }
  }
  return server
}

const ready = json(200, { status: "ok" })
const nowhere = () => ({ status: 404, headers: { "content-type": "text/plain" }, body: "Not found" })

const publicHandler =
  (state: State): Handler =>
  (request) => {
    switch (request.path) {
      case "/health/ready":
        return ready
      case "/.well-known/openid-configuration":
        return json(200, discovery(state.issuer()))
      case "/.well-known/jwks.json":
        return json(200, state.keys.jwks)
      case "/oauth2/auth":
        return authorize(state, request)
      case "/oauth2/token":
        return tokens(state, request)
      case "/oauth2/revoke":
        return revoke(state, request)
      case "/oauth2/sessions/logout":
        return logout(state, request)
      case "/userinfo":
        return userinfo(state, request)
      default:
        return nowhere()
    }
  }

const adminHandler =
  (state: State): Handler =>
  (request) => {
    if (request.path === "/health/ready") return ready
    const { adminToken } = state.behaviour
    if (adminToken !== undefined && request.headers.authorization !== `Bearer ${adminToken}`) {
      return json(401, { error: { code: 401, status: "Unauthorized" } })
    }
    const [, kind, step = ""] =
      /^\/admin\/oauth2\/auth\/requests\/(login|consent|logout)(?:\/(accept|reject))?$/.exec(request.path) ?? []
    if (kind !== undefined) {
      const answers = { login: loginRequests, consent: consentRequests, logout: logoutRequests }
      return answers[kind as keyof typeof answers](state, request, step)
    }
    const [, id] = /^\/admin\/clients(?:\/([^/]+))?$/.exec(request.path) ?? [undefined, null]
    if (id !== null)
      return clientsHandler(state.clients, request, id === undefined ? undefined : decodeURIComponent(id))
    switch (request.path) {
      case "/admin/oauth2/auth/sessions/consent":
        return consentSessions(state, request)
      case "/admin/oauth2/auth/sessions/login":
        return loginSessions(state, request)
      case "/admin/oauth2/introspect":
        return introspect(state, request)
      default:
        return nowhere()
    }
  }

/** OpenID Connect Discovery 1.0. */
const discovery = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}oauth2/auth`,
  token_endpoint: `${issuer}oauth2/token`,
  userinfo_endpoint: `${issuer}userinfo`,
  revocation_endpoint: `${issuer}oauth2/revoke`,
  end_session_endpoint: `${issuer}oauth2/sessions/logout`,
  jwks_uri: `${issuer}.well-known/jwks.json`,
  subject_types_supported: ["public"],
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  scopes_supported: ["openid", "offline", "offline_access"],
  claims_supported: ["sub"],
  token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
  id_token_signing_alg_values_supported: ["RS256"],
  code_challenge_methods_supported: ["S256", "plain"]
})
