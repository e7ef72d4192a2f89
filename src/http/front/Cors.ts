import { type HttpServerRequest, HttpServerResponse } from "effect/http"

const exposed =
  "Content-Range, Content-Location, Content-Profile, Content-Disposition, ETag, Location, Preference-Applied, Retry-After, WWW-Authenticate, X-Max-Rows, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, X-Svc-Lsn"
/** The response headers that Supabase's clients read, in addition to `exposed`. */
const exposedToSupabase = `${exposed}, Link, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Expires, Upload-Length, Upload-Offset, X-Relay-Error, X-Supabase-Api-Version, X-Total-Count`
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

/** The OAuth 2.0 server decides for each client which origins may use its tokens. */
const ofOAuth2Server = /^\/oauth2\/(?:token|userinfo|revoke|introspect)$/

/**
 * CORS headers: `/v1` and `/ofrep` allow every origin, without cookies (the key is the credential); all other paths only
 * the dashboard's origin, with cookies.
 */
export const corsHeaders = (path: string, origin: string | undefined, dashboard: string | undefined) => {
  if (origin === undefined) return undefined // not a cross-origin request
  if (path.startsWith("/.well-known/")) return { "access-control-allow-origin": "*" }
  if (ofOAuth2Server.test(path)) return undefined
  if (/^\/(v1|ofrep)/.test(path))
    return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed }
  if (dashboard === undefined || origin !== dashboard) return undefined
  return {
    "access-control-allow-origin": dashboard,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": exposed
  }
}

/** CORS headers of the paths of Supabase's clients, where the key is the credential too. */
export const supabaseCorsHeaders = (origin: string | undefined) =>
  origin === undefined
    ? undefined
    : { "access-control-allow-origin": "*", "access-control-expose-headers": exposedToSupabase }

/** The headers with credentials. Caches treat only Authorization as one by default, so `Vary` lists all of them. */
const credentials = "Apikey, Authorization, X-Api-Key"
const keyed = `Accept-Encoding, ${credentials}, X-Svc-Branch, Origin`
const rows = `Accept, Accept-Profile, Prefer, Range, ${keyed}`
const management = `Accept, Accept-Encoding, ${credentials}, Cookie, Origin`

/** The request headers that select a response (RFC 9110 12.5.5), in addition to those that its handler names. */
export const varyOf = (path: string, own: string | undefined) => {
  const all = path.startsWith("/v1/db/")
    ? rows
    : path.startsWith("/v1")
      ? keyed
      : isApi.test(path)
        ? management
        : "Origin"
  return own === undefined ? all : `${own}, ${all}`
}

const isApi = /^\/(?:api|oauth2|ofrep|realtime)/

/** Characters of a list of headers that a preflight repeats. */
const maxList = 2048

/** The response to a CORS preflight (Fetch standard); undefined for other requests. */
export const preflight = (
  request: HttpServerRequest.HttpServerRequest,
  path: string,
  allowed: Readonly<Record<string, string>> | undefined
): HttpServerResponse.HttpServerResponse | undefined => {
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return undefined
  if (ofOAuth2Server.test(path)) return undefined
  const asked = request.headers["access-control-request-headers"] ?? "*"
  return HttpServerResponse.empty({
    status: 204,
    headers: {
      ...allowed,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": asked.length > maxList ? "*" : asked,
      "access-control-max-age": "86400"
    }
  })
}
