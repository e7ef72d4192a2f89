import { createHmac } from "node:crypto"
import { type IncomingMessage, type ServerResponse } from "node:http"
import { type Configuration, errors, type JWK, type KoaContextWithOIDC, Provider } from "oidc-provider"
import { claimsOfScope } from "../../../domain/oauth2/ClaimsConfig.ts"
import { languages } from "../../../domain/language/Language.ts"
import { type PublicFetch } from "../PublicFetch.ts"
import { adapterOn } from "./Adapter.ts"
import { audiencesOf, clientScopesOf } from "./clients/ClientFields.ts"
import { type Loaded, overrideClasses } from "./Library.ts"
import { beginLogout } from "./Logouts.ts"
import { policyOn } from "./Policy.ts"
import { requestUrlOf } from "./Requests.ts"
import { afterLogout, middlewareOn, type ResumePlaces, renderErrorOn } from "./Resume.ts"
import { tokenHashOf, type OAuth2Store } from "./Store.ts"
import { type CurrentClaims, type UserClaims, userClaimsOn } from "./UserClaims.ts"

export interface ProviderOptions {
  readonly store: OAuth2Store
  /** The issuer's URL without a trailing slash; it may have a path. */
  readonly issuer: string
  /** Private keys; the first one signs. */
  readonly keys: ReadonlyArray<JWK>
  /** The secret that all replicas share. */
  readonly secret: string
  /** How long a user may take to sign in, in s. */
  readonly challengeSeconds: () => number
  /** Whether a user still exists and is active. */
  readonly isActive: (subject: string) => Promise<boolean>
  readonly currentClaims: CurrentClaims
  /** Fetches the URLs of clients: their keys, and those that are notified of sign-outs. */
  readonly fetch: PublicFetch
}

const day = 24 * 3_600

/** Times of life, in s. A grant ends its refresh tokens, however often they are renewed. */
const ttl = { accessToken: 3_600, code: 60, idToken: 3_600, refreshToken: 30 * day, grant: 365 * day }

/** Sends a browser with a new challenge to the bridge. */
const interactionUrlOn =
  ({ ask, sql }: OAuth2Store, issuer: string): NonNullable<NonNullable<Configuration["interactions"]>["url"]> =>
  async (_ctx, { exp, params, prompt, uid }) => {
    await ask(sql`
      insert into svc.oauth2_challenges (id, kind, request_url, expires_at)
      values (${tokenHashOf(uid)}, ${prompt.name}, ${requestUrlOf(issuer, params)}, to_timestamp(${exp}))`)
    return `${issuer}/api/oauth2/bridge/${prompt.name}?${prompt.name}_challenge=${uid}`
  }

const featuresOn = (
  { isActive, store }: ProviderOptions,
  { issuer, signedOut }: ResumePlaces
): NonNullable<Configuration["features"]> => ({
  devInteractions: { enabled: false },
  userinfo: { enabled: true },
  revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
  introspection: {
    enabled: true,
    allowedPolicy: async (_ctx, client, token) =>
      client.clientAuthMethod !== "none" &&
      token.clientId === client.clientId &&
      "accountId" in token &&
      (await isActive(String(token.accountId)))
  },
  backchannelLogout: { enabled: true },
  pushedAuthorizationRequests: { enabled: false },
  dPoP: { enabled: false },
  // RFC 8707: a token for an audience is a JWT that the API of that audience verifies.
  resourceIndicators: {
    enabled: true,
    defaultResource: (_ctx, _client, oneOf) => (Array.isArray(oneOf) ? oneOf[0] : oneOf) as string,
    useGrantedResource: () => true,
    getResourceServerInfo: async (_ctx, audience, { clientId }) => {
      const client = await store.client(clientId)
      if (client === undefined || !audiencesOf(client).has(audience)) throw new errors.InvalidTarget()
      return {
        scope: [...clientScopesOf(client)].join(" "),
        audience,
        accessTokenFormat: "jwt",
        accessTokenTTL: ttl.accessToken,
        jwt: { sign: { alg: "RS256" } }
      }
    }
  },
  rpInitiatedLogout: {
    enabled: true,
    logoutSource: async (ctx) => {
      const challenge = await beginLogout(store, ctx, afterLogout(ctx, signedOut))
      ctx.redirect(`${issuer}/api/oauth2/bridge/logout?logout_challenge=${challenge}`)
    },
    postLogoutSuccessSource: (ctx) => {
      ctx.redirect(signedOut)
    }
  }
})

const configurationOf = (options: ProviderOptions, places: ResumePlaces, claims: UserClaims): Configuration => {
  const { challengeSeconds, issuer, keys, secret, store } = options
  return {
    adapter: adapterOn(store),
    jwks: { keys },
    cookies: {
      keys: [createHmac("sha256", secret).update("oauth2 cookies").digest("base64url")],
      names: { session: "oauth2_session", interaction: "oauth2_interaction", resume: "oauth2_resume" },
      long: { signed: true, httpOnly: true, sameSite: "lax", path: `${places.path}/oauth2` },
      short: { signed: true, httpOnly: true, sameSite: "lax" }
    },
    // The paths of Ory Hydra, so that clients and guides need no change.
    routes: {
      authorization: "/oauth2/auth",
      token: "/oauth2/token",
      userinfo: "/oauth2/userinfo",
      revocation: "/oauth2/revoke",
      introspection: "/oauth2/introspect",
      jwks: "/.well-known/jwks.json",
      end_session: "/oauth2/sessions/logout"
    },
    scopes: ["openid", "offline_access", "offline", "email", "profile", "address", "phone"],
    claims: { openid: ["sub", "acr", "amr", "auth_time"], ...claimsOfScope },
    discovery: { ui_locales_supported: [...languages] },
    clientAuthMethods: ["client_secret_basic", "client_secret_post", "private_key_jwt", "none"],
    extraClientMetadata: { properties: ["allowed_cors_origins"] },
    clientDefaults: { grant_types: ["authorization_code"], response_types: ["code"] },
    extraParams: ["svc_silent", "svc_offline", "svc_switched"],
    responseTypes: ["code"],
    features: featuresOn(options, places),
    interactions: { policy: policyOn(store), url: interactionUrlOn(store, issuer) },
    loadExistingGrant: async ({ oidc }) => {
      const id = oidc.result?.consent?.grantId
      return id === undefined ? undefined : oidc.provider.Grant.find(id)
    },
    findAccount: claims.findAccount,
    extraTokenClaims: claims.extraTokenClaims,
    issueRefreshToken: (_ctx, client, { scopes }) =>
      client.grantTypeAllowed("refresh_token") && (scopes.has("offline_access") || scopes.has("offline")),
    rotateRefreshToken: true,
    // Tokens outlive a sign-out; revoking a consent ends them.
    expiresWithSession: () => false,
    clockTolerance: 5,
    ttl: {
      Interaction: () => Math.max(1, challengeSeconds()),
      AccessToken: ttl.accessToken,
      AuthorizationCode: ttl.code,
      IdToken: ttl.idToken,
      RefreshToken: ttl.refreshToken,
      Grant: ttl.grant,
      // The session lasts as long as that at the identity provider; use does not extend it.
      Session: ({ oidc }, { exp }) => {
        const chosen = oidc?.result?.login?.["rememberFor"]
        if (typeof chosen === "number") return Math.max(1, chosen)
        return exp === undefined ? ttl.accessToken : Math.max(1, exp - Math.floor(Date.now() / 1000))
      }
    },
    fetch: (url, init) => options.fetch(String(url), init as RequestInit),
    clientBasedCORS: (_ctx, origin, client) => claims.mayUse(origin, client),
    renderError: renderErrorOn(store, issuer)
  }
}

/** Errors of middleware that the client caused, such as a body that is too large. */
const refusalOf = (error: unknown) => {
  const { message, status } = error as { readonly message?: unknown; readonly status?: unknown }
  return typeof status === "number" && status >= 400 && status < 500
    ? { status, body: { error: "invalid_request", error_description: String(message) } }
    : undefined
}

/** Paths that answer programs; all others are for browsers, whatever they accept. */
const forPrograms = /^\/(?:oauth2\/(?:token|userinfo|revoke|introspect)$|\.well-known\/)/

/** The library with this server's configuration. Its keys can't change: after a rotation a new one is made. */
export const makeProvider = (options: ProviderOptions): Loaded => {
  const { issuer, store } = options
  const { host, pathname, protocol } = new URL(issuer)
  const path = pathname.replace(/\/+$/, "")
  const places: ResumePlaces = { issuer, path, signedOut: `${issuer}/oauth2/signed-out` }
  const provider = new Provider(issuer, configurationOf(options, places, userClaimsOn(options)))
  // The handler below sets the headers of a proxy.
  provider.proxy = true
  overrideClasses(provider)

  const failures = new WeakMap<IncomingMessage, { readonly error: unknown }>()
  provider.on("server_error", ({ req }, error) => failures.set(req, { error }))
  provider.use(async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === undefined) failures.set(ctx.req, { error })
      ctx.status = refusal?.status ?? 500
      ctx.body = refusal?.body ?? ""
    }
  })
  const middleware = middlewareOn(store, provider, places)
  provider.use((ctx, next) => middleware(ctx as KoaContextWithOIDC, next))
  const callback = provider.callback()

  return {
    provider,
    answer: (request: IncomingMessage, response: ServerResponse) =>
      store.withRequest(async () => {
        const { headers, url = "" } = request
        // Whatever host a request names: the library makes URLs of it, with codes for those who follow them.
        headers.host = host
        headers["x-forwarded-proto"] = protocol.slice(0, -1)
        delete headers["x-forwarded-host"]
        if (!forPrograms.test(url.split("?", 1)[0] ?? "")) headers.accept = "text/html"
        Object.assign(request, { originalUrl: `${path}${url}` })
        await callback(request, response)
        const failure = failures.get(request)
        if (failure !== undefined) throw failure.error
      })
  }
}
