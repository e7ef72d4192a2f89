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
import { CurrentAuthor } from "./CurrentAuthor.ts"
import { CurrentCaller, noGate } from "./Caller.ts"
import { CurrentEntry, Entrance } from "./Entrance.ts"

const apikey = HttpApiSecurity.apiKey({ key: "apikey" })

/** `/v1` reads for the owner only. The gate has already said who calls; here it is only asked what they may. */
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

/** What opens a door, in the order that is looked for. */
const keyOrSession = [
  InvalidRequest,
  Unauthorized,
  Forbidden,
  StepUpRequired,
  Unavailable,
  BadGateway,
  GatewayTimeout
] as const

/** The management API: a service_role key, or a session of an administrator. An anon key is 403, none 401. */
export class Management extends HttpApiMiddleware.Service<Management, { provides: CurrentAuthor }>()(
  "svc/http/Management",
  { error: keyOrSession, security: { apikey } }
) {}

export const layerManagement = Layer.effect(
  Management,
  Effect.gen(function* () {
    const entrance = yield* Entrance
    return Management.of({
      apikey: (app) =>
        Effect.gen(function* () {
          const author = yield* entrance.management(yield* HttpServerRequest.HttpServerRequest)
          return yield* Effect.provideService(app, CurrentAuthor, author)
        })
    })
  })
)

/** What anybody with a live key or a session may see. */
export class Anybody extends HttpApiMiddleware.Service<Anybody, { provides: CurrentEntry }>()("svc/http/Anybody", {
  error: keyOrSession,
  security: { apikey }
}) {}

export const layerAnybody = Layer.effect(
  Anybody,
  Effect.gen(function* () {
    const entrance = yield* Entrance
    return Anybody.of({
      apikey: (app) =>
        Effect.gen(function* () {
          const entered = yield* entrance.anybody(yield* HttpServerRequest.HttpServerRequest)
          return yield* Effect.provideService(app, CurrentEntry, entered)
        })
    })
  })
)
