import { Effect, Layer } from "effect"
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
import { administers, ApiGate, CurrentKeyOrSession } from "./ApiGate.ts"
import { ManagementAudit } from "./ManagementAudit.ts"
import { CurrentAuthor, noGate } from "./Caller.ts"
import { authorOf, CurrentRequest } from "./ServedRequest.ts"

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
        const { caller } = yield* CurrentRequest
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
          const admitted = apiGate.administrator(yield* CurrentRequest)
          const who = yield* Effect.tapError(admitted, (error) => audit.refused(place, error))
          if (who._tag === "Session") yield* audit.began(who.session)
          const author = authorOf(who)
          return yield* audit.around(Effect.provideService(app, CurrentAuthor, author), place, author)
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
          const who = yield* apiGate.keyOrSession(yield* CurrentRequest)
          const run = Effect.provideService(app, CurrentKeyOrSession, who)
          return yield* administers(who) ? audit.around(run, place, authorOf(who)) : run
        })
    })
  })
)
