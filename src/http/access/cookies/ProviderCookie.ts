import { Effect } from "effect"
import { Cookies, HttpEffect, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomBytes } from "node:crypto"
import { rawValue } from "./SessionCookies.ts"

/** Binds sign-ins at other services to the browser that began them. */
const nameOf = (secure: boolean) => (secure ? "__Host-svc_provider" : "svc_provider")
const minutes = 60

/** The cookie's secret; "" without one. Over https the cookie is one that only this host can set. */
export const providerSecretOf = ({ headers }: HttpServerRequest.HttpServerRequest, secure: boolean): string => {
  const value = rawValue(headers["cookie"] ?? "", nameOf(secure)) ?? ""
  return /^[\w-]{43}$/.test(value) ? value : ""
}

/** The secret of the browser's cookie, which is set if it is missing. Attempts in several tabs share it. */
export const takeProviderSecret = (request: HttpServerRequest.HttpServerRequest, secure: boolean) => {
  const value = providerSecretOf(request, secure) || randomBytes(32).toString("base64url")
  // The path is not /auth/callback alone because an attempt may begin below /api.
  const cookie = Cookies.makeCookieUnsafe(nameOf(secure), value, {
    path: "/",
    httpOnly: true,
    // Sent when the provider redirects back, which is a navigation from another site.
    sameSite: "lax",
    maxAge: `${minutes} minutes`,
    secure
  })
  return Effect.as(
    HttpEffect.appendPreResponseHandler((_request, response) =>
      Effect.succeed(HttpServerResponse.mergeCookies(response, Cookies.fromIterable([cookie])))
    ),
    value
  )
}
