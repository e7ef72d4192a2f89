import { Context, Effect, Layer } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { isIP } from "node:net"
import {
  BadGateway,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  StepUpRequired,
  Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import { type Browser } from "../../domain/identity/Identity.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { CurrentDevice, deviceCookie, type Device } from "../../services/ports/identity/Accounts.ts"
import { queryOf } from "../wire/Paths.ts"
import { clientAddress } from "./ClientAddress.ts"
import { rawValue } from "./cookies/SessionCookies.ts"
import { baseUrlOf, isOurs, isSecure, refuseCrossSite } from "./Origins.ts"
import { languageOfRequest } from "./PageLanguage.ts"
import { credentialsOf } from "./cookies/SessionCookies.ts"

type Request = HttpServerRequest.HttpServerRequest
type Settings = IdentitySettings["Service"]

/** A request of a browser or app that may have a session. */
export interface BrowserRequest extends Browser {
  /** The URL at which this browser reaches the service, without a trailing slash. */
  readonly baseUrl: string
  /** The client's IP address, for attempt limits. */
  readonly address: string
  /** Whether cookies are set with `Secure`. */
  readonly secure: boolean
}

/** The request that is being answered. Set by `BrowserRequests`. */
export class CurrentBrowser extends Context.Service<CurrentBrowser, BrowserRequest>()("svc/http/CurrentBrowser") {}

/** A page that a browser may be sent to after a step: of the service or the dashboard; undefined for any other. */
export const ourPage = (given: string | null, request: Request, settings: Settings) =>
  given !== null && URL.canParse(given) && isOurs(new URL(given).origin, request, settings)
    ? new URL(given).href
    : undefined

/** The page that a step-up returns to: `return_to`, or the dashboard. */
const returnToOf = (request: Request, settings: Settings) =>
  ourPage(new URLSearchParams(queryOf(request.url)).get("return_to"), request, settings) ?? settings.dashboardUrl

export const browserOf = (request: Request, settings: Settings): Browser => ({
  credentials: credentialsOf(request.headers["cookie"]),
  returnTo: returnToOf(request, settings)
})

export const browserRequestOf = (request: Request, settings: Settings): Effect.Effect<BrowserRequest, InvalidRequest> =>
  Effect.map(baseUrlOf(request, settings), (baseUrl) => ({
    ...browserOf(request, settings),
    baseUrl,
    address: clientAddress(request, settings),
    secure: isSecure(request, settings)
  }))

/** The device of a request. The address of an IPv6 client is not known exactly: its network is what counts. */
export const deviceOf = (request: Request, settings: Settings): Device => {
  const client = clientAddress(request, settings)
  const agent = request.headers["user-agent"]
  return {
    client,
    ip: isIP(client) > 0 ? client : null,
    mark: rawValue(request.headers["cookie"] ?? "", deviceCookie),
    userAgent: agent?.toWellFormed().replaceAll(/\p{Cc}/gu, " ") ?? null
  }
}

/** Routes that browsers call with cookies. Refuses requests from other sites; does not check the session yet. */
export class BrowserRequests extends HttpApiMiddleware.Service<BrowserRequests, { provides: CurrentBrowser }>()(
  "svc/http/BrowserRequests",
  { error: [InvalidRequest, Forbidden] }
) {}

/** The answers contain secrets, codes and personal data. */
const noStore = (_: Request, response: HttpServerResponse.HttpServerResponse) =>
  Effect.succeed(HttpServerResponse.setHeader(response, "cache-control", "no-store"))

export const layerBrowserRequests = Layer.effect(
  BrowserRequests,
  Effect.gen(function* () {
    const settings = yield* IdentitySettings
    return BrowserRequests.of((app) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* HttpEffect.appendPreResponseHandler(noStore)
        yield* refuseCrossSite(request, settings)
        return yield* app.pipe(
          Effect.provideService(CurrentLanguage, languageOfRequest(request)),
          Effect.provideService(CurrentBrowser, yield* browserRequestOf(request, settings)),
          Effect.provideService(CurrentDevice, deviceOf(request, settings))
        )
      })
    )
  })
)

/**
 * Calls that need a session. Answers 401 before the request is read: without a credential, and with SVC_AUTH_REQUIRED
 * without a valid one. Otherwise the call itself finds out whether the session is valid.
 */
export class SessionNeeded extends HttpApiMiddleware.Service<SessionNeeded>()("svc/http/SessionNeeded", {
  error: [InvalidRequest, Unauthorized, Forbidden, StepUpRequired, Unavailable, BadGateway, GatewayTimeout]
}) {}

export const layerSessionNeeded = Layer.effect(
  SessionNeeded,
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const settings = yield* IdentitySettings
    return SessionNeeded.of((app) =>
      Effect.gen(function* () {
        const browser = browserOf(yield* HttpServerRequest.HttpServerRequest, settings)
        if (browser.credentials.length === 0 || settings.authRequired) yield* sessions.current(browser)
        return yield* app
      })
    )
  })
)
