import { Effect, Layer } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { refuseCrossSite } from "./Origins.ts"
import { CurrentVisit, visitOf } from "./Visit.ts"

/** Routes that browsers come to with cookies: who comes is looked at later, whose page sends them now. */
export class Visits extends HttpApiMiddleware.Service<Visits, { provides: CurrentVisit }>()("svc/http/Visits", {
  error: [InvalidRequest, Forbidden]
}) {}

/** Secrets, codes, and who somebody is. */
const keptNowhere = (_: HttpServerRequest.HttpServerRequest, response: HttpServerResponse.HttpServerResponse) =>
  Effect.succeed(HttpServerResponse.setHeader(response, "cache-control", "no-store"))

export const layerVisits = Layer.effect(
  Visits,
  Effect.gen(function* () {
    const settings = yield* IdentitySettings
    return Visits.of((app) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        yield* HttpEffect.appendPreResponseHandler(keptNowhere)
        yield* refuseCrossSite(request, settings)
        return yield* Effect.provideService(app, CurrentVisit, yield* visitOf(request, settings))
      })
    )
  })
)
