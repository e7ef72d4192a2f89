import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware, HttpApiSecurity } from "effect/http-api"
import { Forbidden, InvalidRequest, NotFound, Unauthorized, Unavailable } from "../../domain/errors.ts"
import { Keys } from "../../services/Keys.ts"
import { CurrentCaller, noGate } from "../Caller.ts"
import { apiKeyOf } from "../Credentials.ts"

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

/** The management API: a service_role key. An anon key is 403, none or a wrong one 401. */
export class Management extends HttpApiMiddleware.Service<Management>()("svc/http/Management", {
  error: [InvalidRequest, Unauthorized, Forbidden, Unavailable],
  security: { apikey }
}) {}

export const layerManagement = Layer.effect(
  Management,
  Effect.gen(function* () {
    const keys = yield* Keys
    return Management.of({
      apikey: (app) =>
        Effect.gen(function* () {
          const { headers } = yield* HttpServerRequest.HttpServerRequest
          const key = yield* keys.verify(yield* apiKeyOf(headers))
          if (key.type !== "service_role") return yield* needsServiceRole
          return yield* app
        })
    })
  })
)
