import { Effect } from "effect"
import { type HttpServerRequest } from "effect/http"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { type IdentitySettings } from "../../services/identity/Settings.ts"
import { hasDashboardCookie } from "./cookies/DashboardCookie.ts"
import { hasSessionCookie } from "./cookies/SessionCookies.ts"

type Request = Pick<HttpServerRequest.HttpServerRequest, "headers" | "method">
type Settings = Pick<IdentitySettings["Service"], "publicUrl" | "dashboardUrl">

/** A Host header as browsers write it; anything else did not come from one. */
const hostPattern = /^(?:[a-z\d](?:[a-z\d.-]{0,252})|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

const cameByHttps = ({ headers }: Request) =>
  headers["x-forwarded-proto"]?.split(",")[0]?.trim().toLowerCase() === "https"

/** The URL at which this browser reaches the service, without a trailing slash: PUBLIC_URL, else from the Host header. */
export const baseUrlOf = (request: Request, { publicUrl }: Settings): Effect.Effect<string, InvalidRequest> => {
  if (publicUrl !== undefined) return Effect.succeed(publicUrl)
  const host = request.headers["host"] ?? ""
  const url = `${cameByHttps(request) ? "https" : "http"}://${host.toLowerCase()}`
  return hostPattern.test(host) && URL.canParse(url)
    ? Effect.succeed(url)
    : Effect.fail(new InvalidRequest({ error: "The Host header is not a valid host", code: "INVALID_HTTP" }))
}

/** Whether cookies are set with `Secure`. */
export const isSecure = (request: Request, { publicUrl }: Settings): boolean =>
  publicUrl === undefined ? cameByHttps(request) : publicUrl.startsWith("https:")

const originOf = (url: string | undefined) => (url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined)

/** Whether pages of an origin may act for a signed-in user: only the service's own and the dashboard's. */
export const isOurs = (origin: string, request: Request, { dashboardUrl, publicUrl }: Settings): boolean => {
  if (origin === originOf(dashboardUrl)) return true
  if (publicUrl !== undefined) return origin === originOf(publicUrl)
  const host = request.headers["host"] ?? ""
  // A proxy that terminates TLS may not report it; this host is the service either way.
  const schemes = cameByHttps(request) ? ["https"] : ["https", "http"]
  return hostPattern.test(host) && schemes.some((scheme) => origin === originOf(`${scheme}://${host}`))
}

const crossSite = (error: string) => new Forbidden({ error, code: "CSRF" })
const jsonType = /^application\/json *(?:;|$)/i

const hasBody = ({ headers }: Request) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/**
 * Whether a request that names no page is a program's, and not that of a page or form of another site. No program has the
 * dashboard's cookie.
 */
const isOfProgram = ({ headers }: Request) =>
  !hasDashboardCookie(headers["cookie"]) &&
  ["same-origin", "none"].includes(headers["sec-fetch-site"] ?? "none") &&
  jsonType.test(headers["content-type"] ?? "application/json")

/** The origin of the page that sent the request: `Origin`, else `Referer`; undefined when neither is present. */
const pageOf = ({ headers }: Request) => headers["origin"] ?? originOf(headers["referer"])

/**
 * Refuses requests that another site made a browser send with the user's cookies. A write of a browser names its page in
 * `Origin`, and in `Sec-Fetch-Site` whether that is another site's; the only ones for which old browsers do not are forms,
 * which are not JSON. What names no page comes from a program, whose cookies are its own. Without a session cookie a
 * request is refused only when it names a foreign page, so that no site can sign a user in to an account of its own.
 */
export const refuseCrossSite = (request: Request, settings: Settings): Effect.Effect<void, Forbidden> => {
  if (["GET", "HEAD", "OPTIONS"].includes(request.method)) return Effect.void
  const page = pageOf(request)
  const { cookie } = request.headers
  const hasSession = hasSessionCookie(cookie) || hasDashboardCookie(cookie)
  if (page === undefined && !hasSession) return Effect.void
  if (page === undefined ? !isOfProgram(request) : !isOurs(page, request, settings)) {
    return Effect.fail(
      crossSite(
        "A request with a session cookie must come from a page of this service or its dashboard, or be JSON of a program"
      )
    )
  }
  return hasSession && hasBody(request) && !jsonType.test(request.headers["content-type"] ?? "")
    ? Effect.fail(crossSite("A request with a session cookie needs Content-Type: application/json"))
    : Effect.void
}

/** The header with which pages of the dashboard call `/v1` by their session. No form or navigation can send it. */
export const dashboardHeader = "x-svc-dashboard"

/**
 * Refuses requests to `/v1` by session that did not come from a page of this very origin, reads included: `/v1` answers
 * what the database's owner stores, and other origins may call it with keys.
 */
export const refuseOtherOrigins = (request: Request, { publicUrl }: Settings): Effect.Effect<void, Forbidden> => {
  const site = request.headers["sec-fetch-site"]
  const page = pageOf(request)
  const same =
    (site === undefined || site === "same-origin") &&
    // Browsers send Sec-Fetch-Site to https and to this machine only, and no Origin with a GET.
    (page === undefined ? site === "same-origin" : isOurs(page, request, { publicUrl, dashboardUrl: undefined }))
  return same
    ? Effect.void
    : Effect.fail(crossSite("A request to /v1 with a session cookie must come from a page of this service"))
}

/** Refuses WebSockets of other sites, which no same-origin policy blocks (RFC 6455 10.2). */
export const refuseCrossSiteSocket = (request: Request, settings: Settings): Effect.Effect<void, Forbidden> => {
  const page = request.headers["origin"]
  return page === undefined || isOurs(page, request, settings)
    ? Effect.void
    : Effect.fail(
        crossSite("A connection with a session cookie needs an Origin header that names this service or its dashboard")
      )
}

/** Refuses forms that another site posts. The form's token is checked separately. */
export const refuseForeignForm = (request: Request, { publicUrl }: Settings): Effect.Effect<void, Forbidden> => {
  const page = pageOf(request)
  return page === undefined || isOurs(page, request, { publicUrl, dashboardUrl: undefined })
    ? Effect.void
    : Effect.fail(crossSite("The form was submitted from another site"))
}
