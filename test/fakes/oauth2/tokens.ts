import { createHash, timingSafeEqual } from "node:crypto"
import { type Client, type Flow, type Grant, seconds, type State, token, uuid } from "./state.ts"
import { type FakeRequest, empty, formOf, json, OAuth2Error, type Reply } from "./wire.ts"

/** Claims that only the server sets; those in a consent are ignored. */
const own = new Set(["iss", "sub", "aud", "exp", "iat", "rat", "auth_time", "nonce", "at_hash", "c_hash"])
for (const name of ["acr", "amr", "jti", "sid"]) own.add(name)

/** How long a refresh token is valid, in s. */
const refreshSeconds = 30 * 24 * 3600

const bad = (code: string, what: string) => new OAuth2Error(400, code, what)
const noClient = (what: string) => new OAuth2Error(401, "invalid_client", what)
const noGrant = (what: string) => bad("invalid_grant", what)

const isSame = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** Authenticates the client by its registered method (RFC 6749 2.3). */
const clientOf = ({ clients }: State, request: FakeRequest): Client => {
  const form = formOf(request)
  const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? "")?.[1]
  const decoded = basic === undefined ? undefined : Buffer.from(basic, "base64").toString("utf8")
  const part = (text: string) => decodeURIComponent(text.replaceAll("+", " "))
  const mark = decoded?.indexOf(":") ?? -1
  const id = decoded === undefined ? (form.get("client_id") ?? "") : part(decoded.slice(0, mark))
  const secret = decoded === undefined ? form.get("client_secret") : part(decoded.slice(mark + 1))
  const stored = clients.get(id)
  if (stored === undefined) throw noClient("No such client")
  const method = decoded !== undefined ? "client_secret_basic" : secret === null ? "none" : "client_secret_post"
  if (method !== "none" && !isSame(secret ?? "", stored.secret)) throw noClient("The secret is wrong")
  return stored.client
}

/** The token endpoint (RFC 6749 3.2, RFC 7636). */
export const tokens = async (state: State, request: FakeRequest): Promise<Reply> => {
  const client = clientOf(state, request)
  const form = formOf(request)
  const kind = form.get("grant_type") ?? ""
  const flow = kind === "refresh_token" ? refreshed(state, client, form) : exchanged(state, client, form)
  return json(200, await issue(state, flow))
}

/** A code or refresh token that is used twice may be stolen: all tokens of its grant are revoked. */
const takeOnce = (state: State, grants: ReadonlyMap<string, Grant>, key: string, client: Client): Flow => {
  const grant = grants.get(key)
  if (grant === undefined || grant.flow.client.client_id !== client.client_id) throw noGrant("Unknown")
  if (grant.used) {
    endTokens(state, (flow) => flow.consentId === grant.flow.consentId)
    throw noGrant("Already used")
  }
  grant.used = true
  return grant.flow
}

const exchanged = (state: State, client: Client, form: URLSearchParams) => {
  const key = form.get("code") ?? ""
  const query = state.codes.get(key)?.flow.query ?? {}
  const verifier = form.get("code_verifier") ?? ""
  const challenge = query["code_challenge"] ?? ""
  const hashed = createHash("sha256").update(verifier).digest("base64url")
  if (challenge !== "" && !isSame(hashed, challenge)) throw noGrant("code_verifier does not match")
  const flow = takeOnce(state, state.codes, key, client)
  return flow
}

const refreshed = (state: State, client: Client, form: URLSearchParams) => {
  const flow = takeOnce(state, state.refreshTokens, form.get("refresh_token") ?? "", client)
  for (const [key, { flow: of }] of state.accessTokens) {
    if (of.consentId === flow.consentId) state.accessTokens.delete(key)
  }
  return flow
}

const issue = async (state: State, flow: Flow) => {
  const { accessTokenSeconds } = state.behaviour
  const access = await accessToken(state, flow)
  state.accessTokens.set(access, { flow, expiresAt: seconds() + accessTokenSeconds, used: false })
  const refreshes = flow.grantedScopes.includes("offline") || flow.grantedScopes.includes("offline_access")
  const refresh = refreshes && flow.client.grant_types.includes("refresh_token") ? token("rt") : undefined
  if (refresh !== undefined)
    state.refreshTokens.set(refresh, { flow, expiresAt: seconds() + refreshSeconds, used: false })
  return {
    access_token: access,
    token_type: "bearer",
    expires_in: accessTokenSeconds,
    scope: flow.grantedScopes.join(" "),
    ...(refresh === undefined ? {} : { refresh_token: refresh }),
    ...(flow.grantedScopes.includes("openid") ? { id_token: await idToken(state, flow, access) } : {})
  }
}

/** As configured in deploy/oauth2: a JWT. */
const accessToken = (state: State, flow: Flow) =>
  state.keys.sign({
    iss: state.issuer(),
    sub: flow.subject,
    aud: [...flow.grantedAudience],
    client_id: flow.client.client_id,
    scp: [...flow.grantedScopes],
    iat: seconds(),
    nbf: seconds(),
    exp: seconds() + state.behaviour.accessTokenSeconds,
    jti: uuid(),
    ext: flow.accessTokenClaims
  })

const custom = (claims: Flow["idTokenClaims"]) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => !own.has(name)))

const idToken = (state: State, flow: Flow, access: string) => {
  const nonce = flow.query["nonce"]
  return state.keys.sign({
    ...custom(flow.idTokenClaims),
    iss: state.issuer(),
    sub: flow.subject,
    aud: [flow.client.client_id],
    iat: seconds(),
    exp: seconds() + 3600,
    rat: flow.requestedAt,
    auth_time: flow.authenticatedAt,
    at_hash: createHash("sha256").update(access).digest().subarray(0, 16).toString("base64url"),
    jti: uuid(),
    sid: flow.sid,
    ...(flow.acr === "" ? {} : { acr: flow.acr }),
    ...(flow.amr.length === 0 ? {} : { amr: flow.amr }),
    ...(nonce === undefined ? {} : { nonce })
  })
}

/** Revokes the tokens and codes of some flows. */
export const endTokens = (state: State, which: (flow: Flow) => boolean) => {
  for (const grants of [state.accessTokens, state.refreshTokens, state.codes]) {
    for (const [key, { flow }] of grants) if (which(flow)) grants.delete(key)
  }
}

const goodAccess = (state: State, key: string) => {
  const grant = state.accessTokens.get(key)
  return grant !== undefined && grant.expiresAt > seconds() ? grant : undefined
}

/** The userinfo endpoint (OpenID Connect Core 5.3). */
export const userinfo = (state: State, request: FakeRequest): Reply => {
  const key = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? ""
  const flow = goodAccess(state, key)?.flow
  if (flow === undefined || !flow.grantedScopes.includes("openid")) {
    const body = {
      error: "request_unauthorized",
      error_description: "The access token is invalid or lacks the scope openid"
    }
    return json(401, body, { "www-authenticate": 'Bearer error="invalid_token"' })
  }
  return json(200, {
    ...custom(flow.idTokenClaims),
    sub: flow.subject,
    aud: [flow.client.client_id],
    iss: state.issuer(),
    iat: seconds(),
    rat: flow.requestedAt,
    auth_time: flow.authenticatedAt,
    acr: flow.acr,
    amr: flow.amr
  })
}

/** Token revocation (RFC 7009): of either token, with all others of the same grant. */
export const revoke = (state: State, request: FakeRequest): Reply => {
  const client = clientOf(state, request)
  const key = formOf(request).get("token") ?? ""
  const grant = state.accessTokens.get(key) ?? state.refreshTokens.get(key)
  if (grant !== undefined && grant.flow.client.client_id === client.client_id) {
    endTokens(state, (flow) => flow.consentId === grant.flow.consentId)
  }
  return { ...empty, status: 200 }
}

/** Token introspection (RFC 7662), in the admin API. */
export const introspect = (state: State, request: FakeRequest): Reply => {
  const key = formOf(request).get("token") ?? ""
  const refresh = state.refreshTokens.get(key)
  const grant = goodAccess(state, key) ?? (refresh?.used === false ? refresh : undefined)
  if (grant === undefined) return json(200, { active: false })
  const { expiresAt, flow } = grant
  return json(200, {
    active: true,
    scope: flow.grantedScopes.join(" "),
    client_id: flow.client.client_id,
    sub: flow.subject,
    iss: state.issuer(),
    aud: flow.grantedAudience,
    iat: seconds(),
    nbf: seconds(),
    exp: expiresAt,
    token_type: "Bearer",
    token_use: refresh === undefined ? "access_token" : "refresh_token",
    ext: flow.accessTokenClaims
  })
}
