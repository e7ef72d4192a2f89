import { type HttpServerRequest, HttpServerResponse } from "effect/http"

const exposed =
  "Content-Range, Content-Location, Content-Profile, Content-Disposition, ETag, Location, Preference-Applied, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id"
const methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

/**
 * CORS headers: `/v1` and `/ofrep` allow every origin, without cookies (the key is the credential); all other paths only
 * the dashboard's origin, with cookies.
 */
export const corsHeaders = (path: string, origin: string | undefined, dashboard: string | undefined) => {
  if (origin === undefined) return undefined // not a cross-origin request
  if (/^\/(v1|ofrep)/.test(path))
    return { "access-control-allow-origin": "*", "access-control-expose-headers": exposed }
  if (dashboard === undefined || origin !== dashboard) return undefined
  return {
    "access-control-allow-origin": dashboard,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": exposed,
    vary: "Origin"
  }
}

/** The response to a CORS preflight (Fetch standard); undefined for other requests. */
export const preflight = (
  request: HttpServerRequest.HttpServerRequest,
  allowed: Readonly<Record<string, string>> | undefined
): HttpServerResponse.HttpServerResponse | undefined => {
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return undefined
  return HttpServerResponse.empty({
    status: 204,
    headers: {
      ...allowed,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": request.headers["access-control-request-headers"] ?? "*",
      "access-control-max-age": "86400"
    }
  })
}
