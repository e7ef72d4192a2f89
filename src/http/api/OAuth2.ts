import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
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
import { JsonObject } from "../../domain/text/JsonObject.ts"
import { longestChallenge } from "../../domain/oauth2/OAuth2.ts"
import { isPlain } from "../../domain/text/StorableText.ts"
import { Anybody, Management } from "../access/Access.ts"
import { Utf8Bodies } from "../front/Utf8Bodies.ts"
import { Visits } from "../access/Visits.ts"
import { Success } from "../wire/Body.ts"

const trouble = [Unavailable, BadGateway, GatewayTimeout] as const
const challengeTrouble = [InvalidRequest, StepUpRequired, Forbidden, NotFound, Gone, ...trouble] as const

const plain = (longest: number) => Schema.String.check(Schema.isBetweenLength(1, longest), isPlain)
const Challenge = plain(longestChallenge)
const ScopeName = plain(256)
const Id = plain(256)
const Names = Schema.Array(Schema.String)
const Onward = Schema.Struct({ redirect_to: Schema.String })
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

/** Where the OAuth 2.0 server sends browsers, and what a consent screen needs (spec: OAuth2 bridge and consent). */
export class OAuth2BridgeApi extends HttpApiGroup.make("oauth2Bridge")
  .add(
    HttpApiEndpoint.get("login", "/bridge/login", {
      query: { login_challenge: Schema.optionalKey(Challenge), since: Schema.optionalKey(Schema.String) },
      success: HttpApiSchema.Empty(302),
      error: challengeTrouble
    }).annotateMerge(summary("Sign somebody in for a client: the OAuth 2.0 server's login URL")),
    HttpApiEndpoint.get("consent", "/bridge/consent", {
      query: { consent_challenge: Schema.optionalKey(Challenge) },
      success: HttpApiSchema.Empty(302),
      error: challengeTrouble
    }).annotateMerge(summary("Let somebody consent, or skip that: the OAuth 2.0 server's consent URL")),
    HttpApiEndpoint.get("logout", "/bridge/logout", {
      query: { logout_challenge: Schema.optionalKey(Challenge) },
      success: HttpApiSchema.Empty(302),
      error: challengeTrouble
    }).annotateMerge(
      summary(
        "Sign somebody out: the OAuth 2.0 server's logout URL",
        "On to the server when a client asks with a token of theirs, else to the page `/oauth2/logout`."
      )
    ),
    HttpApiEndpoint.get("consentInfo", "/bridge/consent/info", {
      query: { consent_challenge: Challenge },
      success: ConsentInfo,
      error: challengeTrouble
    }).annotateMerge(summary("Tell a consent screen what a client asks for")),
    HttpApiEndpoint.post("consentAccept", "/bridge/consent/accept", {
      payload: Schema.Struct({
        challenge: Challenge,
        grant_scope: Schema.Array(ScopeName).check(Schema.isMaxLength(200)),
        grant_access_token_audience: Schema.optionalKey(Schema.Array(plain(2000)).check(Schema.isMaxLength(200))),
        remember: Schema.optionalKey(Schema.Boolean),
        remember_for: Schema.optionalKey(Seconds)
      }),
      success: Onward,
      error: challengeTrouble
    }).annotateMerge(
      summary("Allow a client some of what it asks for", "`remember_for` in seconds, 0 for ever; 30 days without it.")
    ),
    HttpApiEndpoint.post("consentReject", "/bridge/consent/reject", {
      payload: Schema.Struct({
        challenge: Challenge,
        error: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-z_]{1,100}$/))),
        error_description: Schema.optionalKey(plain(1000))
      }),
      success: Onward,
      error: challengeTrouble
    }).annotateMerge(summary("Deny a client what it asks for")),
    HttpApiEndpoint.get("status", "/bridge/status", {
      success: Schema.Struct({
        oauth2_configured: Schema.Boolean,
        idp_configured: Schema.Boolean,
        bridge_ready: Schema.Boolean,
        login_url: Schema.String,
        consent_url: Schema.String,
        logout_url: Schema.String
      })
    }).annotateMerge(summary("Tell whether the bridge is ready, and the URLs to configure the OAuth 2.0 server with"))
  )
  .middleware(Utf8Bodies)
  .middleware(Visits)
  .prefix("/api/oauth2")
  .annotateMerge(OpenApi.annotations({ title: "OAuth2 bridge", description: "By challenge; no key is asked for" })) {}

const ConsentSession = Schema.Struct({
  consent_request: Schema.Struct({
    client: Schema.Struct({ client_id: Schema.String, client_name: Schema.String }),
    requested_scope: Names
  }),
  grant_scope: Names,
  remember: Schema.Boolean,
  handled_at: Schema.NullOr(Schema.String)
})

/** What somebody has allowed: their own affair, and an administrator's. */
export class OAuth2ConsentsApi extends HttpApiGroup.make("oauth2Consents")
  .add(
    HttpApiEndpoint.get("list", "/consent/:subject", {
      params: { subject: Id },
      success: Schema.Array(ConsentSession),
      error: [Forbidden, ...trouble]
    }).annotateMerge(summary("List what somebody has allowed")),
    HttpApiEndpoint.delete("revoke", "/consent/:subject", {
      params: { subject: Id },
      query: { client: Schema.optionalKey(Id) },
      success: Success,
      error: [Forbidden, ...trouble]
    }).annotateMerge(summary("Revoke what somebody has allowed one client, or all", "Their tokens are revoked too."))
  )
  .middleware(Anybody)
  .prefix("/api/oauth2")
  .annotateMerge(OpenApi.annotations({ title: "OAuth2 consents" })) {}

const Client = Schema.Struct({
  client_id: Schema.String,
  client_name: Schema.String,
  logo_uri: Schema.String,
  tos_uri: Schema.String,
  policy_uri: Schema.String,
  redirect_uris: Names,
  post_logout_redirect_uris: Names,
  grant_types: Names,
  response_types: Names,
  scope: Schema.String,
  audience: Names,
  token_endpoint_auth_method: Schema.String,
  skip_consent: Schema.Boolean,
  metadata: JsonObject,
  created_at: Schema.NullOr(Schema.String),
  updated_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "OAuth2Client" })
const ClientWithSecret = Schema.Struct({ ...Client.fields, client_secret: Schema.NullOr(Schema.String) })

const ClaimsConfig = Schema.Struct({ id_token_claims: JsonObject, access_token_claims: JsonObject })
const client = { params: { id: Id }, success: Client, error: [NotFound, InvalidRequest, ...trouble] as const }

/** Clients, claims, and signing people out: for administrators. */
export class OAuth2AdminApi extends HttpApiGroup.make("oauth2Admin")
  .add(
    HttpApiEndpoint.get("claims", "/claims-config", { success: ClaimsConfig, error: Unavailable }).annotateMerge(
      summary("Show which claims tokens get")
    ),
    HttpApiEndpoint.put("setClaims", "/claims-config", {
      payload: ClaimsConfig,
      success: ClaimsConfig,
      error: [InvalidRequest, Unavailable]
    })
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" })
      .annotateMerge(
        summary(
          "Set which claims tokens get",
          "Templates with `{{id}}`, `{{traits.<name>}}` and `{{metadata_public.<name>}}`, resolved at consent time. Both objects are replaced."
        )
      ),
    HttpApiEndpoint.get("clients", "/clients", {
      query: {
        page_size: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 500 }))),
        page_token: Schema.optionalKey(plain(2000))
      },
      success: Schema.Struct({ clients: Schema.Array(Client), next_page_token: Schema.NullOr(Schema.String) }),
      error: [InvalidRequest, ...trouble]
    }).annotateMerge(summary("List clients", "100 unless `page_size` says otherwise.")),
    HttpApiEndpoint.post("createClient", "/clients", {
      payload: JsonObject,
      success: ClientWithSecret.pipe(HttpApiSchema.status(201)),
      error: [InvalidRequest, Conflict, ...trouble]
    }).annotateMerge(summary("Register a client (RFC 7591 fields); its secret is shown only now")),
    HttpApiEndpoint.get("client", "/clients/:id", client).annotateMerge(summary("Show a client")),
    HttpApiEndpoint.put("setClient", "/clients/:id", {
      ...client,
      payload: Schema.Struct({ metadata: JsonObject })
    })
      .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error" })
      .annotateMerge(
        summary(
          "Change a client's metadata",
          "Names that are not given stay as they are, null removes one. `skip_consent: true`: people are not asked. A client is at most 8 KiB of JSON."
        )
      ),
    HttpApiEndpoint.delete("removeClient", "/clients/:id", { ...client, success: Success }).annotateMerge(
      summary("Delete a client and its tokens")
    ),
    HttpApiEndpoint.post("rotateSecret", "/clients/:id/rotate-secret", {
      ...client,
      success: ClientWithSecret
    }).annotateMerge(summary("Give a client a new secret; the old one is good no more")),
    HttpApiEndpoint.post("signOut", "/logout", {
      payload: Schema.Struct({ subject: Id }),
      success: Success,
      error: trouble
    }).annotateMerge(summary("Revoke somebody's sign-ins and consents of all clients"))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/oauth2")
  .annotateMerge(OpenApi.annotations({ title: "OAuth2 clients and claims" })) {}
