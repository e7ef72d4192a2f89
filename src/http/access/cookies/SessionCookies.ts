import { Effect, Redacted } from "effect"
import { Cookies, HttpEffect, HttpServerResponse } from "effect/http"
import { type Credential } from "../../../domain/identity/Identity.ts"
import { deviceCookie } from "../../../services/ports/identity/Accounts.ts"

/** `svc_session` is this service's, for apps that have a session token; `idp_session` is the identity provider's. */
const tokenCookie = "svc_session"
const idpCookie = "idp_session"
/**
 * The embedded identity provider sets this copy of `idp_session` over https. Browsers accept it from this host only, so
 * it takes precedence over the others, which a sibling domain's host can set.
 */
const hostCookie = "__Host-idp_session"

export const isSessionCookie = (name: string) => name === tokenCookie || name === idpCookie || name === hostCookie

/** A cookie value (RFC 6265 4.1.1), unquoted and no longer than browsers store. */
const valuePattern = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{1,4096}$/

/** The first value of a name, as it was sent: decoding would change it. */
export const rawValue = (header: string, name: string) => {
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=")
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}

/** The session credentials in a `Cookie` header, in the order in which to try them. Invalid values are left out. */
export const credentialsOf = (cookie: string | undefined): ReadonlyArray<Credential> => {
  if (cookie === undefined || !cookie.includes("_session")) return []
  const of = (_tag: Credential["_tag"], name: string): ReadonlyArray<Credential> => {
    const value = rawValue(cookie, name)
    return value !== undefined && valuePattern.test(value) ? [{ _tag, value: Redacted.make(value) }] : []
  }
  const own = of("Cookie", hostCookie)
  const others = [...of("Token", tokenCookie), ...of("Cookie", idpCookie)]
  const [first] = own
  if (first === undefined) return others
  const same = ({ _tag, value }: Credential) =>
    _tag === "Cookie" && Redacted.value(value) === Redacted.value(first.value)
  return [first, ...others.filter((one) => !same(one))]
}

/** Whether a browser sent session cookies, valid or not. */
export const hasSessionCookie = (cookie: string | undefined): boolean =>
  cookie !== undefined && [tokenCookie, idpCookie, hostCookie].some((name) => rawValue(cookie, name) !== undefined)

const setCookies = (cookies: Cookies.Cookies) =>
  Cookies.isEmpty(cookies)
    ? Effect.void
    : HttpEffect.appendPreResponseHandler((_request, response) =>
        Effect.succeed(HttpServerResponse.mergeCookies(response, cookies))
      )

/** The cookies of sessions and devices among the identity provider's Set-Cookie lines, with their attributes, and always HttpOnly and SameSite. */
const idpCookies = (lines: ReadonlyArray<string>, secure: boolean) =>
  Cookies.fromIterable(
    Object.values(Cookies.fromSetCookie(lines).cookies)
      .filter(({ name }) => name === idpCookie || name === hostCookie || name === deviceCookie)
      .map((cookie): Cookies.Cookie => {
        const options: Cookies.Cookie["options"] = {
          ...cookie.options,
          httpOnly: true,
          sameSite: cookie.options?.sameSite ?? "lax",
          ...(secure ? { secure: true } : {})
        }
        return Object.assign(Object.create(Object.getPrototypeOf(cookie) as object) as Cookies.Cookie, cookie, {
          options
        })
      })
  )

/** Passes on the identity provider's cookies to clients that use its cookie; a client with a token must not get one too. */
export const relayCookies = (credential: Credential, lines: ReadonlyArray<string>, secure: boolean) =>
  credential._tag === "Cookie" ? setCookies(idpCookies(lines, secure)) : Effect.void

const expired = (name: string, secure: boolean) =>
  Cookies.makeCookieUnsafe(name, "", { path: "/", maxAge: 0, httpOnly: true, sameSite: "lax", secure })

/**
 * The cookies after a sign-in: the identity provider's, and no `svc_session`, which would take precedence and may have
 * been planted by someone else.
 */
export const setSignInCookies = (lines: ReadonlyArray<string>, secure: boolean) =>
  setCookies(Cookies.merge(Cookies.fromIterable([expired(tokenCookie, secure)]), idpCookies(lines, secure)))

/** Removes all session cookies after a sign-out. */
export const clearSessionCookies = (secure: boolean) =>
  setCookies(
    Cookies.fromIterable([tokenCookie, idpCookie, ...(secure ? [hostCookie] : [])].map((name) => expired(name, secure)))
  )
