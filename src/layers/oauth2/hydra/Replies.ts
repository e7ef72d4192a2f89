import { Option, Schema, SchemaGetter } from "effect"
import { isJsonObject } from "../../../domain/text/JsonObject.ts"
import {
  type ConsentRequest,
  type ConsentSession,
  type LoginRequest,
  type LogoutRequest,
  type OAuth2Client
} from "../../../domain/oauth2/OAuth2.ts"
import { type Redirect } from "../../../services/ports/OAuth2.ts"

/** A field that the server may omit or set to null. */
const withDefault = <A>(schema: Schema.Codec<A>, value: A) =>
  Schema.optionalKey(Schema.NullOr(schema)).pipe(
    Schema.decodeTo(schema, {
      decode: SchemaGetter.transformOptional((given: Option.Option<A | null>) =>
        Option.some(Option.getOrNull(given) ?? value)
      ),
      encode: SchemaGetter.passthrough()
    })
  )

/** The fields that are read of the server's responses. */
const text = withDefault(Schema.String, "")
const texts = withDefault<ReadonlyArray<string>>(Schema.Array(Schema.String), [])
const yes = withDefault(Schema.Boolean, false)

const ClientReply = Schema.Struct({
  client_id: Schema.String,
  client_name: text,
  logo_uri: text,
  tos_uri: text,
  policy_uri: text,
  redirect_uris: texts,
  post_logout_redirect_uris: texts,
  allowed_cors_origins: texts,
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
const timeOf = (given: string) => {
  const millis = Date.parse(given)
  return millis > 0 ? new Date(millis).toISOString() : null
}

const clientOf = ({ created_at, metadata, updated_at, ...client }: ClientReply): OAuth2Client => ({
  ...client,
  metadata: isJsonObject(metadata) ? metadata : {},
  created_at: timeOf(created_at),
  updated_at: timeOf(updated_at)
})

export const readClient = reader(ClientReply, clientOf)
export const readClients = reader(Schema.Array(ClientReply), (all) => all.map(clientOf))

/** A client with its secret, which the server returns only once. */
export const readClientAndSecret = reader(
  Schema.Struct({ ...ClientReply.fields, ...SecretReply.fields }),
  ({ client_secret, ...reply }) => ({ client: clientOf(reply), secret: client_secret === "" ? null : client_secret })
)

export const readLogin = (challenge: string): Reader<LoginRequest> =>
  reader(LoginReply, ({ client, request_url, skip, subject }) => ({
    challenge,
    skip,
    subject,
    client: clientOf(client),
    requestUrl: request_url
  }))

export const readConsent = (challenge: string): Reader<ConsentRequest> =>
  reader(ConsentReply, (reply) => ({
    challenge,
    subject: reply.subject,
    skip: reply.skip,
    client: clientOf(reply.client),
    requestedScope: reply.requested_scope,
    requestedAudience: reply.requested_access_token_audience,
    requestUrl: reply.request_url
  }))

export const readLogout = (challenge: string): Reader<LogoutRequest> =>
  reader(LogoutReply, ({ client, rp_initiated, subject }) => {
    const isKnown = client !== undefined && client !== null && client.client_id !== ""
    return { challenge, subject, rpInitiated: rp_initiated, client: isKnown ? clientOf(client) : null }
  })

export const readConsents: Reader<ReadonlyArray<ConsentSession>> = reader(ConsentSessionsReply, (all) =>
  all.map(({ consent_request, grant_scope, handled_at, remember }) => ({
    client: clientOf(consent_request.client),
    requestedScope: consent_request.requested_scope,
    grantScope: grant_scope,
    remember,
    handledAt: timeOf(handled_at)
  }))
)

export const readRedirect: Reader<Redirect> = reader(RedirectReply, ({ redirect_to }) => ({ redirectTo: redirect_to }))
