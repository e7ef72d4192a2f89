import { Schema } from "effect"
import { type Language, languageOfLocales } from "../language/Language.ts"
import { JsonObjectSchema } from "../text/JsonObjectSchema.ts"

/**
 * Maximum length of a challenge in characters. Servers store a request in its challenge, together with the whole client;
 * with a path of this service it must fit into the longest URL (16 KiB).
 */
export const maxChallengeLength = 14_000

const Names = Schema.Array(Schema.String)

/** A client of the OAuth 2.0 server (RFC 7591 names). */
export const OAuth2Client = Schema.Struct({
  client_id: Schema.String,
  client_name: Schema.String,
  logo_uri: Schema.String,
  tos_uri: Schema.String,
  policy_uri: Schema.String,
  redirect_uris: Names,
  post_logout_redirect_uris: Names,
  /** Origins of web pages that may redeem codes (the server's own field). */
  allowed_cors_origins: Names,
  grant_types: Names,
  response_types: Names,
  /** Names separated by spaces. */
  scope: Schema.String,
  audience: Names,
  token_endpoint_auth_method: Schema.String,
  /** The server's own field, separate from `metadata.skip_consent`. */
  skip_consent: Schema.Boolean,
  metadata: JsonObjectSchema,
  created_at: Schema.NullOr(Schema.String),
  updated_at: Schema.NullOr(Schema.String)
}).annotate({ identifier: "OAuth2Client" })
export type OAuth2Client = typeof OAuth2Client.Type

/** A request to sign a user in (OpenID Connect Core 3.1.2.1). */
export interface LoginRequest {
  readonly challenge: string
  /** Whether the server recognises the subject by its own cookie. */
  readonly skip: boolean
  /** "" unless `skip`. */
  readonly subject: string
  readonly client: OAuth2Client
  /** The authorization request that started it. */
  readonly requestUrl: string
}

/** A request for a user's consent to what a client may access. */
export interface ConsentRequest {
  readonly challenge: string
  readonly subject: string
  /** Whether consent was remembered. */
  readonly skip: boolean
  readonly client: OAuth2Client
  readonly requestedScope: ReadonlyArray<string>
  readonly requestedAudience: ReadonlyArray<string>
  readonly requestUrl: string
}

/** A request to sign a user out (OpenID Connect RP-Initiated Logout 1.0). */
export interface LogoutRequest {
  readonly challenge: string
  readonly subject: string
  /** Whether a client started it, rather than the user. */
  readonly rpInitiated: boolean
  readonly client: OAuth2Client | null
}

/** The consent that a user has given to a client (spec: Consent session). */
export interface ConsentSession {
  readonly client: OAuth2Client
  readonly requestedScope: ReadonlyArray<string>
  readonly grantScope: ReadonlyArray<string>
  readonly remember: boolean
  /** ISO 8601. */
  readonly handledAt: string | null
}

/** The parameters of an authorization request about the sign-in itself (OpenID Connect Core 3.1.2.1). */
export interface SignInParameters {
  /** `prompt=none`: fail rather than show a page. */
  readonly silent: boolean
  /** `prompt=login` or `select_account`: the user must sign in again. */
  readonly reauthenticate: boolean
  /** s since the last sign-in; undefined: any. */
  readonly maxAge: number | undefined
}

/** The language that an app requests by `ui_locales`, if the service has it. */
export const localesOf = (requestUrl: string): Language | undefined =>
  URL.canParse(requestUrl) ? languageOfLocales(new URL(requestUrl).searchParams.get("ui_locales") ?? "") : undefined

/** Marks a request to which the server, not the client, has added `prompt=login`. */
const switchedMark = "svc_switched"

export const signInParameters = (requestUrl: string): SignInParameters => {
  const params = URL.canParse(requestUrl) ? new URL(requestUrl).searchParams : new URLSearchParams()
  const prompts = (params.get("prompt") ?? "").split(" ")
  const maxAge = params.get("max_age") ?? ""
  return {
    silent: prompts.includes("none"),
    // A choice between accounts is made by signing in to one.
    reauthenticate: (prompts.includes("login") && !params.has(switchedMark)) || prompts.includes("select_account"),
    maxAge: /^\d{1,9}$/.test(maxAge) ? Number(maxAge) : undefined
  }
}

/**
 * The redirect after a sign-in as another user than the server's session has: the server starts the request again with
 * `prompt=login`, which must not make that user sign in twice.
 */
export const asSwitched = (redirectTo: string): string => {
  const url = new URL(redirectTo)
  url.searchParams.set(switchedMark, "1")
  return url.href
}

/** The URL that starts a request again so that another user can sign in; undefined if the request's is unknown. */
export const asOtherUser = (requestUrl: string): string | undefined => {
  if (!URL.canParse(requestUrl)) return undefined
  const url = new URL(requestUrl)
  const prompts = new Set((url.searchParams.get("prompt") ?? "").split(" ").filter(Boolean))
  url.searchParams.set("prompt", [...prompts.add("login")].join(" "))
  url.searchParams.delete(switchedMark)
  return url.href
}
