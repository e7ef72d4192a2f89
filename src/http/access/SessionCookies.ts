import { Effect, Redacted } from "effect"
import { Cookies, HttpEffect, HttpServerResponse } from "effect/http"
import { type Credential } from "../../domain/identity/Identity.ts"

/** Ours, for apps that have a session token, and the idp's own. */
const tokenCookie = "svc_session"
const idpCookie = "idp_session"

/** Whether a cookie of this name is somebody's session. */
export const isSessionCookie = (name: string) => name === tokenCookie || name === idpCookie

/** RFC 6265 4.1.1, in one piece and no longer than browsers keep. */
const sound = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]{1,4096}$/

/** The first of a name, as it was sent: decoding it would make another of it. */
const rawValue = (header: string, name: string) => {
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=")
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim()
  }
  return undefined
}

/** What a `Cookie` header has of a session, in the order to try it in. What can't be one is left out. */
export const credentialsOf = (cookie: string | undefined): ReadonlyArray<Credential> => {
  if (cookie === undefined || !cookie.includes("_session")) return []
  const of = (_tag: Credential["_tag"], name: string): ReadonlyArray<Credential> => {
    const value = rawValue(cookie, name)
    return value !== undefined && sound.test(value) ? [{ _tag, value: Redacted.make(value) }] : []
  }
  return [...of("Token", tokenCookie), ...of("Cookie", idpCookie)]
}

/** Whether a browser sent cookies of a session, good or not. */
export const hasSessionCookie = (cookie: string | undefined): boolean =>
  cookie !== undefined && [tokenCookie, idpCookie].some((name) => rawValue(cookie, name) !== undefined)

const onAnswer = (cookies: Cookies.Cookies) =>
  Cookies.isEmpty(cookies)
    ? Effect.void
    : HttpEffect.appendPreResponseHandler((_request, response) =>
        Effect.succeed(HttpServerResponse.mergeCookies(response, cookies))
      )

/** The idp's session cookie out of its Set-Cookie lines: its attributes are kept, the two that protect it made sure. */
const idpCookies = (lines: ReadonlyArray<string>, secure: boolean) =>
  Cookies.fromIterable(
    Object.values(Cookies.fromSetCookie(lines).cookies)
      .filter(({ name }) => name === idpCookie)
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

/** Hands on what the idp sets, to whoever came with its cookie: a token's holder shall not get one beside it. */
export const relay = (credential: Credential, lines: ReadonlyArray<string>, secure: boolean) =>
  credential._tag === "Cookie" ? onAnswer(idpCookies(lines, secure)) : Effect.void

const gone = (name: string, secure: boolean) =>
  Cookies.makeCookieUnsafe(name, "", { path: "/", maxAge: 0, httpOnly: true, sameSite: "lax", secure })

/**
 * Of a sign-in: the idp's cookie, and no `svc_session` beside it, which would go before it. Somebody else may have put
 * that there.
 */
export const signedIn = (lines: ReadonlyArray<string>, secure: boolean) =>
  onAnswer(Cookies.merge(Cookies.fromIterable([gone(tokenCookie, secure)]), idpCookies(lines, secure)))

/** Of a sign-out. */
export const signedOut = (secure: boolean) =>
  onAnswer(Cookies.fromIterable([gone(tokenCookie, secure), gone(idpCookie, secure)]))
