import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import {
  BadGateway,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  StepUpRequired,
  Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { browserOf } from "./BrowserRequests.ts"

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
