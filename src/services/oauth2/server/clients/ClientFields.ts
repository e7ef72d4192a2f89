import type { ClientMetadata, ResponseType } from "oidc-provider"
import { type OAuth2Client } from "../../../../domain/oauth2/OAuth2.ts"
import { isJsonObject, type JsonObject } from "../../../../domain/text/JsonObject.ts"
import { isPlainText } from "../../../../domain/text/StorableText.ts"
import { isStorableJson } from "../../../../domain/oauth2/Text.ts"

/** A row of svc.oauth2_clients. */
export interface StoredClient {
  readonly id: string
  /** JSON of the registered fields, without id and secret. */
  readonly fields: string
  readonly secret_hash: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** The authentication methods of clients without a secret. */
const secretlessMethods = new Set(["none", "private_key_jwt"])
export const hasSecret = (fields: JsonObject) => !secretlessMethods.has(textOf(fields, "token_endpoint_auth_method"))

const textOf = (fields: JsonObject, name: string, fallback = "") => {
  const value = fields[name]
  return typeof value === "string" ? value : fallback
}
const textsOf = (fields: JsonObject, name: string, fallback: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  const value = fields[name]
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : fallback
}

export const fieldsOf = ({ fields }: StoredClient) => JSON.parse(fields) as JsonObject

/** The scopes and audiences that a client may request. */
export const clientScopesOf = (row: StoredClient) => new Set(textOf(fieldsOf(row), "scope").split(" "))
export const audiencesOf = (row: StoredClient) => new Set(textsOf(fieldsOf(row), "audience"))

export const clientOf = (row: StoredClient): OAuth2Client => {
  const fields = fieldsOf(row)
  const { metadata, skip_consent } = fields
  return {
    client_id: row.id,
    client_name: textOf(fields, "client_name"),
    logo_uri: textOf(fields, "logo_uri"),
    tos_uri: textOf(fields, "tos_uri"),
    policy_uri: textOf(fields, "policy_uri"),
    redirect_uris: textsOf(fields, "redirect_uris"),
    post_logout_redirect_uris: textsOf(fields, "post_logout_redirect_uris"),
    allowed_cors_origins: textsOf(fields, "allowed_cors_origins"),
    grant_types: textsOf(fields, "grant_types"),
    response_types: textsOf(fields, "response_types"),
    scope: textOf(fields, "scope"),
    audience: textsOf(fields, "audience"),
    token_endpoint_auth_method: textOf(fields, "token_endpoint_auth_method"),
    skip_consent: skip_consent === true,
    metadata: isJsonObject(metadata) ? metadata : {},
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString()
  }
}

/**
 * The library's own fields, which it validates. `scope` is not among them: the library accepts only scopes that it
 * lists.
 */
const ofLibrary = new Set([
  "client_name",
  "client_uri",
  "logo_uri",
  "tos_uri",
  "policy_uri",
  "redirect_uris",
  "post_logout_redirect_uris",
  "grant_types",
  "response_types",
  "contacts",
  "token_endpoint_auth_method",
  "token_endpoint_auth_signing_alg",
  "jwks",
  "jwks_uri",
  "subject_type",
  "backchannel_logout_uri",
  "backchannel_logout_session_required",
  // This field is not the library's, but kept for clientBasedCORS.
  "allowed_cors_origins"
])

const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?:[:/?]|$)/i

/**
 * Apps of devices: they have addresses of their own schemes, or are public clients on a loopback address, whose port they
 * choose again each time (RFC 8252 7.3).
 */
const isNative = (fields: JsonObject) => {
  const uris = textsOf(fields, "redirect_uris")
  return (
    uris.some((uri) => !/^https?:/i.test(uri)) ||
    (uris.length > 0 &&
      textOf(fields, "token_endpoint_auth_method") === "none" &&
      uris.every((uri) => loopback.test(uri)))
  )
}

/** A client in the library's form. Its secret is the hash of the client's. */
export const libraryClient = (row: Pick<StoredClient, "id" | "fields" | "secret_hash">): ClientMetadata => {
  const fields = JSON.parse(row.fields) as JsonObject
  return {
    ...Object.fromEntries(Object.entries(fields).filter(([name, value]) => ofLibrary.has(name) && value !== "")),
    response_types: textsOf(fields, "response_types") as ReadonlyArray<ResponseType>,
    client_id: row.id,
    application_type: isNative(fields) ? "native" : "web",
    ...(row.secret_hash === null ? {} : { client_secret: row.secret_hash })
  }
}

const isTexts = (value: unknown) =>
  value === undefined || (Array.isArray(value) && value.every((one) => typeof one === "string"))

/** Scheme and host; unlike an origin also of addresses of apps. */
const siteOf = (uri: string) => {
  const { host, protocol } = new URL(uri)
  return `${protocol}//${host}`
}

/** Why a client can't be registered, in addition to the library's checks; undefined if nothing is wrong. */
export const problemOf = (fields: JsonObject): string | undefined => {
  const { allowed_cors_origins, audience, client_name, metadata, post_logout_redirect_uris, scope, skip_consent } =
    fields
  if (!isStorableJson(fields)) return "a field contains text that can't be stored, or is nested too deeply"
  if (metadata !== undefined && !isJsonObject(metadata)) return "metadata must be an object"
  if (scope !== undefined && typeof scope !== "string") return "scope must be a string"
  if (typeof client_name === "string" && !isPlainText(client_name)) return "client_name has control characters"
  if (skip_consent !== undefined && typeof skip_consent !== "boolean") return "skip_consent must be true or false"
  if (!isTexts(audience) || !isTexts(allowed_cors_origins)) return "audience and allowed_cors_origins must be strings"
  if (fields["frontchannel_logout_uri"] !== undefined) return "front-channel logout is not supported; use back-channel"
  const sites = new Set(
    textsOf(fields, "redirect_uris")
      .filter((uri) => URL.canParse(uri))
      .map(siteOf)
  )
  const elsewhere = Array.isArray(post_logout_redirect_uris)
    ? post_logout_redirect_uris.find((uri) => !URL.canParse(String(uri)) || !sites.has(siteOf(String(uri))))
    : undefined
  return elsewhere === undefined ? undefined : "post_logout_redirect_uris must be at the host of a redirect URI"
}

/** A new client's fields with defaults (RFC 7591 2). */
export const storedFields = (fields: JsonObject): JsonObject => ({
  ...Object.fromEntries(Object.entries(fields).filter(([name]) => name !== "client_id" && name !== "client_secret")),
  metadata: fields["metadata"] ?? {},
  token_endpoint_auth_method: fields["token_endpoint_auth_method"] ?? "client_secret_basic",
  grant_types: fields["grant_types"] ?? ["authorization_code"],
  response_types: fields["response_types"] ?? ["code"]
})
