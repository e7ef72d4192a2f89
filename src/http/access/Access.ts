import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import {
  BadGateway,
  Forbidden,
  GatewayTimeout,
  InvalidRequest,
  NotFound,
  StepUpRequired,
  Unauthorized,
  Unavailable
} from "../../domain/errors.ts"
import { ApiGate, authorOf, CurrentKeyOrSession } from "./ApiGate.ts"
import { ManagementAudit } from "./ManagementAudit.ts"
import { admittedBy } from "./Admitted.ts"
import { CurrentAuthor, CurrentCaller, noGate } from "./Caller.ts"

const apikey = HttpApiSecurity.apiKey({ key: "apikey" })

/** `/v1` reads that need a service_role key. The gate has already identified the caller; this checks the role. */
export class ServiceRole extends HttpApiMiddleware.Service<ServiceRole>()("svc/http/ServiceRole", {
  error: [Unauthorized, Forbidden, NotFound],
  security: { apikey }
}) {}

const needsServiceRole = new Forbidden({ error: "This needs a service_role key" })

export const layerServiceRole = Layer.succeed(
  ServiceRole,
  ServiceRole.of({
    apikey: (app) =>
      Effect.gen(function* () {
        const caller = yield* CurrentCaller
        if (caller === undefined) return yield* noGate
        if (caller.keyType !== "service_role") return yield* needsServiceRole
        return yield* app
      })
  })
)

/** Errors of endpoints that accept a key or a session. */
const keyOrSession = [
  InvalidRequest,
  Unauthorized,
  Forbidden,
  StepUpRequired,
  Unavailable,
  BadGateway,
  GatewayTimeout
] as const

/** The management API: needs a service_role key or an administrator's session. An anon key is 403, no key 401. */
export class Management extends HttpApiMiddleware.Service<Management, { provides: CurrentAuthor }>()(
  "svc/http/Management",
  { error: keyOrSession, security: { apikey } }
) {}

export const layerManagement = Layer.effect(
  Management,
  Effect.gen(function* () {
    const apiGate = yield* ApiGate
    const audit = yield* ManagementAudit
    return Management.of({
      apikey: (app, place) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const author = yield* Effect.tapError(apiGate.management(request), (error) =>
            audit.refused(place, request, error)
          )
          const who = admittedBy(request)
          if (who?._tag === "Session") yield* audit.began(who.session, request)
          return yield* audit.around(Effect.provideService(app, CurrentAuthor, author), place, request, author)
        })
    })
  })
)

/** Endpoints for any live key or session. */
export class AnyKeyOrSession extends HttpApiMiddleware.Service<AnyKeyOrSession, { provides: CurrentKeyOrSession }>()(
  "svc/http/AnyKeyOrSession",
  {
    error: keyOrSession,
    security: { apikey }
  }
) {}

export const layerAnyKeyOrSession = Layer.effect(
  AnyKeyOrSession,
  Effect.gen(function* () {
    const apiGate = yield* ApiGate
    const audit = yield* ManagementAudit
    return AnyKeyOrSession.of({
      apikey: (app, place) =>
        Effect.gen(function* () {
          const request = yield* HttpServerRequest.HttpServerRequest
          const caller = yield* apiGate.keyOrSession(request)
          const run = Effect.provideService(app, CurrentKeyOrSession, caller)
          const author = yield* Effect.option(authorOf(caller))
          return yield* author._tag === "Some" ? audit.around(run, place, request, author.value) : run
        })
    })
  })
)
