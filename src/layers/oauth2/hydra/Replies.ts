import { Option, Schema } from "effect"
import { isJsonObject, type JsonObject } from "../../../domain/text/JsonObject.ts"
import {
  type ConsentRequest,
  type ConsentSession,
  type LoginRequest,
  type LogoutRequest,
  type OAuth2Client
} from "../../../domain/oauth2/OAuth2.ts"
import { type Redirect } from "../../../services/ports/OAuth2.ts"

/** The fields that are read of the server's responses. Those that it may omit or set to null have a default. */
const text = Schema.optionalKey(Schema.NullOr(Schema.String))
const texts = Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String)))
const yes = Schema.optionalKey(Schema.NullOr(Schema.Boolean))

const ClientReply = Schema.Struct({
  client_id: Schema.String,
  client_name: text,
  logo_uri: text,
  tos_uri: text,
  policy_uri: text,
  redirect_uris: texts,
  post_logout_redirect_uris: texts,
  grant_types: texts,
  response_types: texts,
  scope: text,
  audience: texts,
  token_endpoint_auth_method: text,
  skip_consent: yes,
  metadata: Schema.optionalKey(Schema.Unknown),
  created_at: text,
  updated_at: text
})

const LoginReply = Schema.Struct({ skip: yes, subject: text, client: ClientReply, request_url: text })

const ConsentReply = Schema.Struct({
  subject: text,
  skip: yes,
  client: ClientReply,
  requested_scope: texts,
  requested_access_token_audience: texts,
  request_url: text
})

const LogoutReply = Schema.Struct({
  subject: Schema.String,
  rp_initiated: yes,
  client: Schema.optionalKey(Schema.NullOr(Schema.Struct({ ...ClientReply.fields, client_id: text })))
})

const ConsentSessionsReply = Schema.Array(
  Schema.Struct({
    consent_request: Schema.Struct({ client: ClientReply, requested_scope: texts }),
    grant_scope: texts,
    remember: yes,
    handled_at: text
  })
)

/** A URL to which browsers are redirected. */
const HttpUrl = Schema.String.check(Schema.isPattern(/^https?:\/\//i))
const RedirectReply = Schema.Struct({ redirect_to: HttpUrl })
const SecretReply = Schema.Struct({ client_secret: text })

/** Converts a parsed response; undefined when it has another form. */
export type Reader<A> = (json: unknown) => A | undefined

const reader = <S extends Schema.ConstraintDecoder<unknown>, A>(schema: S, map: (reply: S["Type"]) => A): Reader<A> => {
  const decode = Schema.decodeUnknownOption(schema)
  return (json) => Option.getOrUndefined(Option.map(decode(json), map))
}

type ClientReply = typeof ClientReply.Type

/** ISO 8601 with milliseconds; null when absent, or Go's zero time. */
const timeOf = (given: string | null | undefined) => {
  const millis = Date.parse(given ?? "")
  return millis > 0 ? new Date(millis).toISOString() : null
}

const metadataOf = (given: unknown): JsonObject => (isJsonObject(given) ? given : {})

const clientOf = (reply: ClientReply): OAuth2Client => ({
  client_id: reply.client_id,
  client_name: reply.client_name ?? "",
  logo_uri: reply.logo_uri ?? "",
  tos_uri: reply.tos_uri ?? "",
  policy_uri: reply.policy_uri ?? "",
  redirect_uris: reply.redirect_uris ?? [],
  post_logout_redirect_uris: reply.post_logout_redirect_uris ?? [],
  grant_types: reply.grant_types ?? [],
  response_types: reply.response_types ?? [],
  scope: reply.scope ?? "",
  audience: reply.audience ?? [],
  token_endpoint_auth_method: reply.token_endpoint_auth_method ?? "",
  skip_consent: reply.skip_consent ?? false,
  metadata: metadataOf(reply.metadata),
  created_at: timeOf(reply.created_at),
  updated_at: timeOf(reply.updated_at)
})

export const readClient = reader(ClientReply, clientOf)
export const readClients = reader(Schema.Array(ClientReply), (all) => all.map(clientOf))

/** A client with its secret, which the server returns only once. */
export const readClientAndSecret = reader(
  Schema.Struct({ ...ClientReply.fields, ...SecretReply.fields }),
  ({ client_secret, ...reply }) => {
    const secret = client_secret === undefined || client_secret === "" ? null : client_secret
    return { client: clientOf(reply), secret }
  }
)

export const readLogin = (challenge: string): Reader<LoginRequest> =>
  reader(LoginReply, ({ client, request_url, skip, subject }) => ({
    challenge,
    skip: skip ?? false,
    subject: subject ?? "",
    client: clientOf(client),
    requestUrl: request_url ?? ""
  }))

export const readConsent = (challenge: string): Reader<ConsentRequest> =>
  reader(ConsentReply, (reply) => ({
    challenge,
    subject: reply.subject ?? "",
    skip: reply.skip ?? false,
    client: clientOf(reply.client),
    requestedScope: reply.requested_scope ?? [],
    requestedAudience: reply.requested_access_token_audience ?? [],
    requestUrl: reply.request_url ?? ""
  }))

export const readLogout = (challenge: string): Reader<LogoutRequest> =>
  reader(LogoutReply, ({ client, rp_initiated, subject }) => {
    const id = client?.client_id ?? ""
    return {
      challenge,
      subject,
      rpInitiated: rp_initiated ?? false,
      client: client && id !== "" ? clientOf({ ...client, client_id: id }) : null
    }
  })

export const readConsents: Reader<ReadonlyArray<ConsentSession>> = reader(ConsentSessionsReply, (all) =>
  all.map(({ consent_request, grant_scope, handled_at, remember }) => ({
    client: clientOf(consent_request.client),
    requestedScope: consent_request.requested_scope ?? [],
    grantScope: grant_scope ?? [],
    remember: remember ?? false,
    handledAt: timeOf(handled_at)
  }))
)

export const readRedirect: Reader<Redirect> = reader(RedirectReply, ({ redirect_to }) => ({ redirectTo: redirect_to }))
