import { Effect } from "effect"
import { type HttpServerRequest } from "effect/http"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { type IdentitySettings } from "../../services/identity/Settings.ts"
import { hasSessionCookie } from "./SessionCookies.ts"

type Request = Pick<HttpServerRequest.HttpServerRequest, "headers" | "method">
type Settings = Pick<IdentitySettings["Service"], "publicUrl" | "dashboardUrl">

/** A host as URLs write it: what else stands in a Host header was not put there by a browser of ours. */
const host = /^(?:[a-z\d](?:[a-z\d.-]{0,252})|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

const cameByHttps = ({ headers }: Request) =>
  headers["x-forwarded-proto"]?.split(",")[0]?.trim().toLowerCase() === "https"

/** Our own address as this browser knows it, without a slash at its end: PUBLIC_URL, else the Host it asked for. */
export const ownAddress = (request: Request, { publicUrl }: Settings): Effect.Effect<string, InvalidRequest> => {
  if (publicUrl !== undefined) return Effect.succeed(publicUrl)
  const given = request.headers["host"] ?? ""
  const address = `${cameByHttps(request) ? "https" : "http"}://${given.toLowerCase()}`
  return host.test(given) && URL.canParse(address)
    ? Effect.succeed(address)
    : Effect.fail(new InvalidRequest({ error: "The Host header is no host", code: "INVALID_HTTP" }))
}

/** Whether cookies that we set are for https only. */
export const isSecure = (request: Request, { publicUrl }: Settings): boolean =>
  publicUrl === undefined ? cameByHttps(request) : publicUrl.startsWith("https:")

const originOf = (url: string | undefined) => (url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined)

/** Whether pages of an origin may act for who is signed in: our own, and the dashboard's. */
export const isOurs = (origin: string, request: Request, { dashboardUrl, publicUrl }: Settings): boolean => {
  if (origin === originOf(dashboardUrl)) return true
  if (publicUrl !== undefined) return origin === originOf(publicUrl)
  const given = request.headers["host"] ?? ""
  // A proxy that ends TLS need not say so; nobody but us is at this host either way.
  const schemes = cameByHttps(request) ? ["https"] : ["https", "http"]
  return host.test(given) && schemes.some((scheme) => origin === originOf(`${scheme}://${given}`))
}

const crossSite = (error: string) => new Forbidden({ error, code: "CSRF" })
const jsonType = /^application\/json *(?:;|$)/i

const hasBody = ({ headers }: Request) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"

/** The origin of the page that a request comes from: `Origin`, else `Referer`; undefined when neither says. */
const pageOf = ({ headers }: Request) => headers["origin"] ?? originOf(headers["referer"])

/**
 * What another site can make a browser do, with the cookies it has, must not be done: such a request says which page
 * it comes from, and is JSON. Without cookies of a session it is only refused when it says that it is not from ours:
 * who signs in shall know as whom.
 */
export const refuseCrossSite = (request: Request, settings: Settings): Effect.Effect<void, Forbidden> => {
  if (["GET", "HEAD", "OPTIONS"].includes(request.method)) return Effect.void
  const page = pageOf(request)
  const signedIn = hasSessionCookie(request.headers["cookie"])
  if (page === undefined && !signedIn) return Effect.void
  if (page === undefined || !isOurs(page, request, settings)) {
    return Effect.fail(crossSite("A request with a session's cookie needs the Origin of this service or its dashboard"))
  }
  return signedIn && hasBody(request) && !jsonType.test(request.headers["content-type"] ?? "")
    ? Effect.fail(crossSite("A request with a session's cookie needs Content-Type: application/json"))
    : Effect.void
}

/** The same for a page's own connection, which no other protects (RFC 6455 10.2). */
export const refuseCrossSiteSocket = (request: Request, settings: Settings): Effect.Effect<void, Forbidden> => {
  const page = request.headers["origin"]
  return page === undefined || isOurs(page, request, settings)
    ? Effect.void
    : Effect.fail(crossSite("A connection with a session's cookie needs the Origin of this service or its dashboard"))
}

/** A form of a page of ours; its token says the rest. */
export const refuseForeignForm = (request: Request, { publicUrl }: Settings): Effect.Effect<void, Forbidden> => {
  const page = pageOf(request)
  return page === undefined || isOurs(page, request, { publicUrl, dashboardUrl: undefined })
    ? Effect.void
    : Effect.fail(crossSite("This form is not of this service"))
}
