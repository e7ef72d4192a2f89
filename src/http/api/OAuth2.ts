import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  BadGateway,
  Conflict,
  Forbidden,
  GatewayTimeout,
  Gone,
  InvalidRequest,
  NotFound,
  StepUpRequired,
  Unavailable
} from "../../domain/errors.ts"
import { JsonObjectSchema } from "../../domain/text/JsonObjectSchema.ts"
import { maxChallengeLength, OAuth2Client } from "../../domain/oauth2/OAuth2.ts"
import { isPlain } from "../../domain/text/StorableText.ts"
import { AnyKeyOrSession, Management } from "../access/Access.ts"
import { BrowserRequests } from "../access/BrowserRequests.ts"
import { Success, Utf8Bodies } from "../wire/Body.ts"

const upstreamErrors = [Unavailable, BadGateway, GatewayTimeout] as const
const challengeErrors = [InvalidRequest, StepUpRequired, Forbidden, NotFound, Gone, ...upstreamErrors] as const

const plain = (maxLength: number) => Schema.String.check(Schema.isBetweenLength(1, maxLength), isPlain)
const Challenge = plain(maxChallengeLength)
const ScopeName = plain(256)
const Id = plain(256)
const Names = Schema.Array(Schema.String)
const Redirect = Schema.Struct({ redirect_to: Schema.String })
const Seconds = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10 * 365 * 24 * 3600 }))

const ConsentInfo = Schema.Struct({
  challenge: Schema.String,
  client: Schema.Struct({
    client_id: Schema.String,
    client_name: Schema.String,
    logo_uri: Schema.String,
    tos_uri: Schema.String,
    policy_uri: Schema.String
  }),
  requested_scope: Names,
  requested_access_token_audience: Names,
  subject: Schema.String,
  skip: Schema.Boolean
})

const summary = (summary: string, description?: string) =>
  OpenApi.annotations(description === undefined ? { summary } : { summary, description })

/** The URLs that the OAuth 2.0 server redirects to, and the API of consent screens (spec: OAuth2 bridge and consent). */
export class OAuth2BridgeApi extends HttpApiGroup.make("oauth2Bridge")
  .add(
    HttpApiEndpoint.get("login", "/bridge/login", {
      query: { login_challenge: Schema.optionalKey(Challenge), since: Schema.optionalKey(Schema.String) },
      success: HttpApiSchema.Empty(302),
      error: challengeErrors
    }).annotateMerge(summary("Sign a user in for a client: the OAuth 2.0 server's login URL")),
    HttpApiEndpoint.get("consent", "/bridge/consent", {
      query: { consent_challenge: Schema.optionalKey(Challenge), since: Schema.optionalKey(Schema.String) },
      success: HttpApiSchema.Empty(302),
      error: challengeErrors
    }).annotateMerge(summary("Ask a user for consent, or skip it: the OAuth 2.0 server's consent URL")),
    HttpApiEndpoint.get("logout", "/bridge/logout", {
      query: { logout_challenge: Schema.optionalKey(Challenge) },
      success: HttpApiSchema.Empty(302),
      error: challengeErrors
    }).annotateMerge(
      summary(
        "Sign a user out: the OAuth 2.0 server's logout URL",
        "Redirects to the server if a client sent the user's ID token, otherwise to the page `/oauth2/logout`."
      )
    ),
    HttpApiEndpoint.get("consentInfo", "/bridge/consent/info", {
      query: { consent_challenge: Challenge },
      success: ConsentInfo,
      error: challengeErrors
    }).annotateMerge(summary("Show what a client requests, for a consent screen")),
    HttpApiEndpoint.post("consentAccept", "/bridge/consent/accept", {
      payload: Schema.Struct({
        challenge: Challenge,
        grant_scope: Schema.Array(ScopeName).check(Schema.isMaxLength(200)),
        grant_access_token_audience: Schema.optionalKey(Schema.Array(plain(2000)).check(Schema.isMaxLength(200))),
        remember: Schema.optionalKey(Schema.Boolean),
        remember_for: Schema.optionalKey(Seconds)
      }),
      success: Redirect,
      error: challengeErrors
    }).annotateMerge(
      summary(
        "Grant a client some or all of what it requests",
        "`remember_for` in seconds; 0: forever; default 30 days."
      )
    ),
    HttpApiEndpoint.post("consentReject", "/bridge/consent/reject", {
      payload: Schema.Struct({
        challenge: Challenge,
        error: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-z_]{1,100}$/))),
        error_description: Schema.optionalKey(plain(1000))
      }),
      success: Redirect,
      error: challengeErrors
    }).annotateMerge(summary("Deny a client's request")),
    HttpApiEndpoint.get("status", "/bridge/status", {
      success: Schema.Struct({
        oauth2_configured: Schema.Boolean,
        idp_configured: Schema.Boolean,
        bridge_ready: Schema.Boolean,
        login_url: Schema.String,
        consent_url: Schema.String,
        logout_url: Schema.String
      })
    }).annotateMerge(summary("Show whether the bridge is ready, and the URLs to configure in the OAuth 2.0 server"))
  )
  .middleware(Utf8Bodies)
  .middleware(BrowserRequests)
  .prefix("/api/oauth2")
  .annotateMerge(OpenApi.annotations({ title: "OAuth2 bridge", description: "Needs a challenge, but no API key" })) {}

const ConsentSession = Schema.Struct({
  consent_request: Schema.Struct({
    client: Schema.Struct({ client_id: Schema.String, client_name: Schema.String }),
    requested_scope: Names
  }),
  grant_scope: Names,
  remember: Schema.Boolean,
  handled_at: Schema.NullOr(Schema.String)
})

/** A user's consents, for that user and administrators. */
export class OAuth2ConsentsApi extends HttpApiGroup.make("oauth2Consents")
  .add(
    HttpApiEndpoint.get("list", "/consent/:subject", {
      params: { subject: Id },
      success: Schema.Array(ConsentSession),
      error: [Forbidden, ...upstreamErrors]
    }).annotateMerge(summary("List a user's consents")),
    HttpApiEndpoint.delete("revoke", "/consent/:subject", {
      params: { subject: Id },
      query: { client: Schema.optionalKey(Id) },
      success: Success,
      error: [Forbidden, ...upstreamErrors]
    }).annotateMerge(summary("Revoke a user's consent to one client, or to all", "Also revokes the clients' tokens."))
  )
  .middleware(AnyKeyOrSession)
  .prefix("/api/oauth2")
  .annotateMerge(OpenApi.annotations({ title: "OAuth2 consents" })) {}

const ClientWithSecret = Schema.Struct({ ...OAuth2Client.fields, client_secret: Schema.NullOr(Schema.String) })

/** The fields of a client that can change, under the rules of its registration. */
const ClientChanges = Schema.Struct({
  client_name: Schema.optionalKey(Schema.String),
  logo_uri: Schema.optionalKey(Schema.String),
  tos_uri: Schema.optionalKey(Schema.String),
  policy_uri: Schema.optionalKey(Schema.String),
  redirect_uris: Schema.optionalKey(Names),
  post_logout_redirect_uris: Schema.optionalKey(Names),
  allowed_cors_origins: Schema.optionalKey(Names),
  grant_types: Schema.optionalKey(Names),
  response_types: Schema.optionalKey(Names),
  scope: Schema.optionalKey(Schema.String),
  audience: Schema.optionalKey(Names),
  skip_consent: Schema.optionalKey(Schema.Boolean),
  metadata: Schema.optionalKey(JsonObjectSchema)
})
const ClaimsConfig = Schema.Struct({
  id_token_claims: JsonObjectSchema,
  access_token_claims: JsonObjectSchema,
  claim_scopes: Schema.optionalKey(JsonObjectSchema)
})
const SigningKey = Schema.Struct({
  kid: Schema.String,
  /** Whether a newer key has replaced it for new tokens. */
  retired: Schema.Boolean
})
const client = {
  params: { id: Id },
  success: OAuth2Client,
  error: [NotFound, InvalidRequest, ...upstreamErrors] as const
}

/** Clients, claims and sign-out of users, for administrators. */
export class OAuth2AdminApi extends HttpApiGroup.make("oauth2Admin")
  .add(
    HttpApiEndpoint.get("claims", "/claims-config", { success: ClaimsConfig, error: Unavailable }).annotateMerge(
      summary("Show the claims of tokens")
    ),
    HttpApiEndpoint.put("setClaims", "/claims-config", {
      payload: ClaimsConfig,
      success: ClaimsConfig,
      error: [InvalidRequest, Unavailable]
    }).annotateMerge(
      summary(
        "Set the claims of tokens",
        "Templates with `{{id}}`, `{{traits.<name>}}` and `{{metadata_public.<name>}}`, resolved at consent time. `claim_scopes`: the scope that a claim requires, by its name; by default a standard claim requires its own (OpenID Connect Core 5.4), others none. Replaces the whole configuration."
      )
    ),
    HttpApiEndpoint.post("previewClaims", "/claims-config/preview", {
      payload: Schema.Struct({
        subject: Id,
        scope: Schema.Array(ScopeName).check(Schema.isMaxLength(200)),
        config: Schema.optionalKey(ClaimsConfig)
      }),
      success: Schema.Struct({ id_token_claims: JsonObjectSchema, access_token_claims: JsonObjectSchema }),
      error: [InvalidRequest, NotFound, ...upstreamErrors]
    }).annotateMerge(
      summary(
        "Show the claims that a user's tokens would have",
        "For the identity `subject` and the granted scopes, by the stored configuration or by another one, which is not stored."
      )
    ),
    HttpApiEndpoint.get("clients", "/clients", {
      query: {
        page_size: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))),
        page_token: Schema.optionalKey(plain(2000))
      },
      success: Schema.Struct({ clients: Schema.Array(OAuth2Client), next_page_token: Schema.NullOr(Schema.String) }),
      error: [InvalidRequest, ...upstreamErrors]
    }).annotateMerge(summary("List clients", "`page_size` defaults to 100.")),
    HttpApiEndpoint.post("createClient", "/clients", {
      payload: JsonObjectSchema,
      success: ClientWithSecret.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Conflict, ...upstreamErrors]
    }).annotateMerge(summary("Register a client (RFC 7591 fields); its secret is returned only once")),
    HttpApiEndpoint.get("client", "/clients/:id", client).annotateMerge(summary("Show a client")),
    HttpApiEndpoint.put("setClient", "/clients/:id", {
      ...client,
      payload: ClientChanges
    }).annotateMerge(
      summary(
        "Change a client",
        "Fields that are not given stay unchanged, and so do names of `metadata`; null removes a name. `skip_consent: true`: users are not asked for consent. A client is at most 8 KiB of JSON. Its id and how it authenticates are fixed."
      )
    ),
    HttpApiEndpoint.delete("removeClient", "/clients/:id", { ...client, success: Success }).annotateMerge(
      summary("Delete a client and its tokens")
    ),
    HttpApiEndpoint.post("rotateSecret", "/clients/:id/rotate-secret", {
      ...client,
      success: ClientWithSecret
    }).annotateMerge(summary("Generate a new secret for a client; the old one becomes invalid")),
    HttpApiEndpoint.post("rotateKeys", "/keys/rotate", {
      success: Schema.Struct({ kid: Schema.String, keys: Schema.Array(SigningKey) }),
      error: Unavailable
    }).annotateMerge(
      summary(
        "Sign tokens of this service with a new key",
        "The old keys verify tokens for another 30 days; all of them are at `/.well-known/jwks.json`."
      )
    ),
    HttpApiEndpoint.post("signOut", "/logout", {
      payload: Schema.Struct({ subject: Id }),
      success: Success,
      error: upstreamErrors
    }).annotateMerge(summary("Revoke a user's sign-ins and consents for all clients"))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/oauth2")
  .annotateMerge(OpenApi.annotations({ title: "OAuth2 clients and claims" })) {}
