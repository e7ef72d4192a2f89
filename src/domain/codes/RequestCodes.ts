/** Codes of requests to any path. An entry is its status, and what it means and what to do, as docs/errors.md has it. */
export const requestCodes = {
  INVALID_REQUEST: [400, "Body, parameters or URL are invalid; `details` names the fields"],
  INVALID_HTTP: ["400, 417", "Not a valid HTTP/1.1 request: check the client or the proxy"],
  JSON_TOO_COMPLEX: [
    400,
    "A JSON body, other than rows and arguments of `/v1/db`, exceeds 200 levels, 20,000 keys or 100,000 values; one with the context of flags 80, 2,000 and 10,000. A message of a channel with more closes its WebSocket with 1008"
  ],
  INVALID_PAGE_TOKEN: [400, "The page token is invalid, or of another list: start without one"],
  NOT_FOUND: [404, "No such route; see `/openapi.json`. Paths are case-sensitive and have no trailing slash"],
  METHOD_NOT_ALLOWED: [405, "The path does not support this method; `Allow` lists those it does"],
  NOT_ACCEPTABLE: [406, "Not available in the requested format"],
  REQUEST_TIMEOUT: [
    408,
    "The request took more than 10 s for its headers, or 60 s in total; a body over 32 KiB more than 5 s and another second for each 256 KiB"
  ],
  CONFLICT: [409, "The request conflicts with the current state"],
  GONE: [410, "Used up or expired: start again"],
  PRECONDITION_FAILED: [412, "`If-Match` names another revision: read the record again, and retry"],
  PAYLOAD_TOO_LARGE: [
    413,
    "The body exceeds 10 MiB (`/v1/db`), 64 KiB (a context of flags; 384 KiB with the keys of flags) or 1 MiB (elsewhere), or its CSV exceeds 40 MiB as JSON, where each row repeats the column names"
  ],
  URI_TOO_LONG: [414, "The URL exceeds 16 KiB: shorten the filters, or use a function with a body"],
  UNSUPPORTED_MEDIA_TYPE: [415, "The body has an unsupported `Content-Type`, or a `Content-Encoding`"],
  UNPROCESSABLE: [422, "The request is valid, but can't be performed"],
  UPGRADE_REQUIRED: [426, "A WebSocket endpoint: use a WebSocket client"],
  RATE_LIMITED: [429, "The key's `rate_limit` is exceeded: wait `Retry-After` seconds. Rejected calls do not count"],
  TOO_MANY_LARGE_REQUESTS: [
    429,
    "Requests with bodies over 32 KiB, regular expressions or over 10 embeds, and of functions whose answer was large or is not yet known, take turns, two of a client (a user, or a key at an address) at a time. This one waited for 20 s, or 256 others wait: send fewer at the same time"
  ],
  HEADERS_TOO_LARGE: [431, "The headers exceed 64 KiB: send fewer cookies"],
  INTERNAL_ERROR: [500, "A bug in the service, whose cause is only in the log: report it with the `request_id`"],
  NOT_IMPLEMENTED: [501, "The service does not support this"],
  BAD_GATEWAY: [502, "A component does not respond"],
  UNAVAILABLE: [503, "The service is starting or shutting down: try again"],
  SHUTTING_DOWN: [503, "`/readyz` after SIGTERM: use another replica"],
  NOT_CONFIGURED: [503, "The component is not configured; see [configuration](configuration.md)"],
  SECRET_UNREADABLE: [
    503,
    "The key that encrypted a stored secret is missing: restore `SVC_ENCRYPTION_KEY`, or list it in `SVC_ENCRYPTION_KEYS_OLD`"
  ],
  GATEWAY_TIMEOUT: [504, "A component did not respond in time"]
} as const

/** Codes of API keys, JWTs and cookies. */
export const credentialCodes = {
  AMBIGUOUS_API_KEY: [400, "`apikey` and `x-api-key` have different values: send one"],
  AMBIGUOUS_JWT: [400, "`?jwt=` and `Authorization` have different tokens: send one"],
  UNAUTHORIZED: [401, "No credentials: send an API key"],
  INVALID_API_KEY: [
    401,
    "The key is missing, unknown or revoked: send it in the header `apikey`; `svc key service_role` creates one"
  ],
  JWT_INVALID: [
    401,
    "The token is malformed, or not signed by a trusted key: sign in again; see [configuration](configuration.md#jwts)"
  ],
  JWT_EXPIRED: [401, "`exp` is in the past: sign in again"],
  JWT_NOT_YET_VALID: [401, "`nbf` is in the future: correct the issuer's clock"],
  JWT_AUDIENCE: [401, "`aud` is not `SVC_JWT_AUDIENCE`"],
  JWT_SCOPE: [401, "The token has none of the scopes in `SVC_JWT_SCOPE`: request one at the OAuth 2.0 server"],
  JWT_NOT_ACCESS_TOKEN: [
    401,
    "An ID token, or another token of the OAuth 2.0 server: send the access token, which must be a JWT ([apps](apps.md#apps-and-rows))"
  ],
  JWT_NOT_CONFIGURED: [401, "No key to verify the token: set `SVC_JWT_SECRET` or `SVC_JWKS_URL`"],
  FORBIDDEN: [403, "The key is of the wrong type: use a service_role key, on a server only"],
  CSRF: [
    403,
    "A request with a cookie comes from a page of another origin than the service and the dashboard (`PUBLIC_URL`, `DASHBOARD_URL`), or is not `application/json`"
  ],
  DASHBOARD_DISABLED: [404, "The dashboard is turned off: set `SVC_DASHBOARD=true`"],
  KEY_NOT_FOUND: [404, "No API key with this id; see `GET /api/keys`"],
  LINK_EXPIRED: [
    410,
    "The sign-in link of the dashboard or of the first administrator has expired or was used: restart the service for another, or sign in with a key"
  ],
  JWKS_UNAVAILABLE: [503, "The URL of the signing keys does not respond: try again; check `SVC_JWKS_URL`"]
} as const
