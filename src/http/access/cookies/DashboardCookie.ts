import { Effect } from "effect"
import { Cookies, HttpEffect, HttpServerResponse } from "effect/http"
import { lifetimeSeconds } from "../../../domain/dashboard/Session.ts"
import { rawValue } from "./SessionCookies.ts"

/** Browsers accept the `__Host-` name only from this host itself, and only over https. */
const plainName = "svc_dashboard"
const secureName = "__Host-svc_dashboard"
const nameOf = (secure: boolean) => (secure ? secureName : plainName)

export const isDashboardCookie = (name: string) => name === plainName || name === secureName

/** The token in a `Cookie` header; undefined without one. */
export const dashboardTokenOf = (cookie: string | undefined, secure: boolean): string | undefined =>
  cookie?.includes(plainName) === true ? rawValue(cookie, nameOf(secure)) : undefined

/** Whether a browser sent the dashboard's cookie, valid or not. */
export const hasDashboardCookie = (cookie: string | undefined): boolean =>
  [true, false].some((secure) => dashboardTokenOf(cookie, secure) !== undefined)

const set = (value: string, secure: boolean, maxAge: number) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.succeed(
      HttpServerResponse.mergeCookies(
        response,
        Cookies.fromIterable([
          Cookies.makeCookieUnsafe(nameOf(secure), value, {
            path: "/",
            httpOnly: true,
            sameSite: "strict",
            secure,
            maxAge: `${maxAge} seconds`
          })
        ])
      )
    )
  )

export const setDashboardCookie = (token: string, secure: boolean) => set(token, secure, lifetimeSeconds)
export const clearDashboardCookie = (secure: boolean) => set("", secure, 0)
