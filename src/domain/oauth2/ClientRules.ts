import { isJsonObject, type JsonObject } from "../text/JsonObject.ts"
import { type OAuth2Client } from "./OAuth2.ts"
import { isPlainText } from "../text/StorableText.ts"

const maxTextLength = 2000
const maxItems = 100
/** Maximum size of a client as JSON: it is part of every challenge (OAuth2.ts), where it takes up to 1.5 times as much. */
const maxClientBytes = 8 * 1024

type Check = (value: unknown) => string | undefined

const text: Check = (value) =>
  typeof value !== "string"
    ? "expected a string"
    : value.length > maxTextLength
      ? `at most ${maxTextLength} characters`
      : isPlainText(value)
        ? undefined
        : "must not contain control characters or unpaired surrogates"

const flag: Check = (value) => (typeof value === "boolean" ? undefined : "expected true or false")

const oneOf =
  (...names: ReadonlyArray<string>): Check =>
  (value) =>
    names.includes(value as string) ? undefined : `expected one of ${names.join(", ")}`

const many =
  (check: Check): Check =>
  (value) =>
    !Array.isArray(value)
      ? "expected an array"
      : value.length > maxItems
        ? `at most ${maxItems}`
        : value.map(check).find((problem) => problem !== undefined)

/** URLs that pages link to and show. */
const webUrl: Check = (value) =>
  text(value) ??
  (value === "" || (URL.canParse(value as string) && /^https?:\/\//i.test(value as string))
    ? undefined
    : "expected an http or https URL")

const forbiddenSchemes = /^(?:javascript|data|vbscript|file|blob|about):/i

/**
 * A redirect URI of a browser or app (RFC 6749 3.1.2, RFC 8252 7): any scheme except those that run or embed content.
 */
const redirectUri: Check = (value) =>
  text(value) ??
  (!URL.canParse(value as string) || forbiddenSchemes.test(value as string)
    ? "expected an absolute URI of a web page or app"
    : (value as string).includes("#")
      ? "must not have a fragment"
      : undefined)

/** The origin of web pages, without a path. */
const origin: Check = (value) =>
  typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value) && new URL(value).origin === value
    ? undefined
    : "expected an origin such as https://app.example.com"

const identifier: Check = (value) =>
  typeof value === "string" && /^[\w.~:-]{1,128}$/.test(value)
    ? undefined
    : "expected 1 to 128 characters of A-Z a-z 0-9 . _ ~ : -"

/** undefined when the value is nested too deeply to serialise. */
const jsonOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const document: Check = (value) =>
  isJsonObject(value) && jsonOf(value) !== undefined ? undefined : "expected an object that is not nested too deeply"

/** The algorithms of `private_key_jwt` that the embedded server verifies. */
export const clientAlgorithms = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"]

/** The fields of RFC 7591 2 and RFC 7592, and the server's `skip_consent` and `allowed_cors_origins`; secrets are always generated. */
const fields: Readonly<Record<string, Check>> = {
  client_id: identifier,
  client_name: text,
  client_uri: webUrl,
  logo_uri: webUrl,
  tos_uri: webUrl,
  policy_uri: webUrl,
  redirect_uris: many(redirectUri),
  post_logout_redirect_uris: many(redirectUri),
  allowed_cors_origins: many(origin),
  grant_types: many(text),
  response_types: many(text),
  scope: text,
  audience: many(text),
  contacts: many(text),
  token_endpoint_auth_method: oneOf("client_secret_basic", "client_secret_post", "private_key_jwt", "none"),
  token_endpoint_auth_signing_alg: oneOf(...clientAlgorithms),
  jwks: document,
  jwks_uri: webUrl,
  subject_type: oneOf("public", "pairwise"),
  backchannel_logout_uri: webUrl,
  backchannel_logout_session_required: flag,
  frontchannel_logout_uri: webUrl,
  frontchannel_logout_session_required: flag,
  skip_consent: flag,
  metadata: (value) => (isJsonObject(value) ? metadataProblems(value)[0] : "expected an object")
}

/** Infinity when the value is nested too deeply to serialise. */
const sizeOf = (value: unknown) => {
  const json = jsonOf(value)
  return json === undefined ? Infinity : Buffer.byteLength(json)
}

const tooLarge = `A client with its metadata must be at most ${maxClientBytes} bytes of JSON`

/** A line for each invalid field of a new client. */
export const clientProblems = (client: JsonObject): ReadonlyArray<string> => {
  const problems = Object.entries(client).flatMap(([name, value]) => {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined
    const problem = check === undefined ? "not a field of a client" : check(value)
    return problem === undefined ? [] : [`${name.slice(0, 100)}: ${problem}`]
  })
  return problems.length > 0 || sizeOf(client) <= maxClientBytes ? problems : [tooLarge]
}

/** A new client with the defaults of RFC 7591 2, which servers apply without showing them. */
export const withDefaults = (client: JsonObject): JsonObject => {
  const { grant_types = ["authorization_code"], response_types } = client
  const byCode = Array.isArray(grant_types) && grant_types.includes("authorization_code")
  return { ...client, grant_types, response_types: response_types ?? (byCode ? ["code"] : []) }
}

/** The faults of a changed client. A change that makes it smaller is always valid. */
export const mergeProblems = (
  client: OAuth2Client,
  metadata: JsonObject,
  changed: JsonObject
): ReadonlyArray<string> => {
  const merged = Object.entries({ ...client.metadata, ...metadata }).filter(([, value]) => value !== null)
  const size = sizeOf({ ...client, ...changed, metadata: Object.fromEntries(merged) })
  return size <= Math.max(maxClientBytes, sizeOf(client)) ? [] : [tooLarge]
}

/** A line for each invalid name or value in metadata; null removes a name. */
export const metadataProblems = (metadata: JsonObject): ReadonlyArray<string> => {
  const problems = Object.entries(metadata).flatMap(([name, value]) => {
    const problem =
      name === "" || name.length > 100 || !isPlainText(name) || name === "__proto__"
        ? "a name must have 1 to 100 characters and no control characters"
        : name === "skip_consent" && value !== null
          ? flag(value)
          : undefined
    return problem === undefined ? [] : [`metadata.${name.slice(0, 100)}: ${problem}`]
  })
  const json = jsonOf(metadata)
  if (json === undefined || Buffer.byteLength(json) > maxClientBytes) {
    problems.push(`metadata: at most ${maxClientBytes} bytes of JSON`)
  } else if (json.includes("\\u0000")) problems.push("metadata: must not contain NUL")
  return problems
}
