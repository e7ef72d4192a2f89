import { isJsonObject, type JsonObject } from "../text/JsonObject.ts"
import { type OAuth2Client } from "./OAuth2.ts"
import { isPlainText } from "../text/StorableText.ts"

const longestText = 2000
const mostItems = 100
/** Bytes of a client as JSON: it becomes part of every challenge (domain/OAuth2.ts), there half as large again at worst. */
const largestClient = 8 * 1024

type Check = (value: unknown) => string | undefined

const text: Check = (value) =>
  typeof value !== "string"
    ? "expected text"
    : value.length > longestText
      ? `at most ${longestText} characters`
      : isPlainText(value)
        ? undefined
        : "no control characters and half surrogate pairs"

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
      : value.length > mostItems
        ? `at most ${mostItems}`
        : value.map(check).find((problem) => problem !== undefined)

/** What pages link to and show. */
const webUrl: Check = (value) =>
  text(value) ??
  (value === "" || (URL.canParse(value as string) && /^https?:\/\//i.test(value as string))
    ? undefined
    : "expected an http or https URL")

const forbiddenSchemes = /^(?:javascript|data|vbscript|file|blob|about):/i

/** Where a browser or app is sent back to (RFC 6749 3.1.2, RFC 8252 7): any scheme but those that are no address. */
const redirectUri: Check = (value) =>
  text(value) ??
  (!URL.canParse(value as string) || forbiddenSchemes.test(value as string)
    ? "expected an absolute URI of a page or an app"
    : (value as string).includes("#")
      ? "no fragment"
      : undefined)

const identifier: Check = (value) =>
  typeof value === "string" && /^[\w.~:-]{1,128}$/.test(value) ? undefined : "1 to 128 of A-Z a-z 0-9 . _ ~ : -"

/** undefined when it is nested deeper than can be written. */
const jsonOf = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const document: Check = (value) =>
  isJsonObject(value) && jsonOf(value) !== undefined ? undefined : "expected an object that is not nested so deep"

/** RFC 7591 2 and RFC 7592, and the server's `skip_consent`; a secret is always the server's to make. */
const fields: Readonly<Record<string, Check>> = {
  client_id: identifier,
  client_name: text,
  client_uri: webUrl,
  logo_uri: webUrl,
  tos_uri: webUrl,
  policy_uri: webUrl,
  redirect_uris: many(redirectUri),
  post_logout_redirect_uris: many(redirectUri),
  grant_types: many(text),
  response_types: many(text),
  scope: text,
  audience: many(text),
  contacts: many(text),
  token_endpoint_auth_method: oneOf("client_secret_basic", "client_secret_post", "private_key_jwt", "none"),
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

/** Infinity when it is nested deeper than can be written. */
const sizeOf = (value: unknown) => {
  const json = jsonOf(value)
  return json === undefined ? Infinity : Buffer.byteLength(json)
}

const tooLarge = `A client has at most ${largestClient} bytes of JSON, with its metadata`

/** A line for each field of a new client that can't be. */
export const clientProblems = (client: JsonObject): ReadonlyArray<string> => {
  const problems = Object.entries(client).flatMap(([name, value]) => {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined
    const problem = check === undefined ? "not a field of a client" : check(value)
    return problem === undefined ? [] : [`${name.slice(0, 100)}: ${problem}`]
  })
  return problems.length > 0 || sizeOf(client) <= largestClient ? problems : [tooLarge]
}

/** The same of what changing its metadata would make of a client. Less is always fine. */
export const mergeProblems = (client: OAuth2Client, metadata: JsonObject): ReadonlyArray<string> => {
  const merged = Object.entries({ ...client.metadata, ...metadata }).filter(([, value]) => value !== null)
  const size = sizeOf({ ...client, metadata: Object.fromEntries(merged) })
  return size <= Math.max(largestClient, sizeOf(client)) ? [] : [tooLarge]
}

/** A line for each name of metadata that can't be set; null removes one. */
export const metadataProblems = (metadata: JsonObject): ReadonlyArray<string> => {
  const problems = Object.entries(metadata).flatMap(([name, value]) => {
    const problem =
      name === "" || name.length > 100 || !isPlainText(name) || name === "__proto__"
        ? "a name has 1 to 100 characters, none of them control characters"
        : name === "skip_consent" && value !== null
          ? flag(value)
          : undefined
    return problem === undefined ? [] : [`metadata.${name.slice(0, 100)}: ${problem}`]
  })
  const json = jsonOf(metadata)
  if (json === undefined || Buffer.byteLength(json) > largestClient) {
    problems.push(`metadata: at most ${largestClient} bytes of JSON`)
  } else if (json.includes("\\u0000")) problems.push("metadata: no NUL")
  return problems
}
