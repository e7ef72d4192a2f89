import { Context, Effect, Exit, Tracer } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { Turns } from "../../services/access/Turns.ts"
import { CurrentRequest, payerOf } from "../access/ServedRequest.ts"
import { answered } from "./Answer.ts"
import { type Arrival, makeArrivals, earlyRefusal } from "./Arrival.ts"
import { makeCompression } from "./Compression.ts"
import { preflight } from "./Cors.ts"
import { makeFailures } from "./Failure.ts"
import { inTurnIfLarge } from "./LargeBodies.ts"
import { makeRequestRecord } from "./RequestRecord.ts"

type Response = HttpServerResponse.HttpServerResponse
type App = Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest>

/**
 * Middleware around every request, including those the framework rejects: request id, URL length, CORS, the
 * authentication of `/v1` and `/ofrep`, and the body of every error response. What differs by path is in Surfaces.ts.
 *
 * `methodsOf`: see `makeFailures`.
 */
export const Front = (methodsOf: (path: string) => ReadonlyArray<string>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const arrive = yield* makeArrivals
      const turns = yield* Turns
      const { failed, finished } = makeFailures(methodsOf)
      const record = yield* makeRequestRecord
      const compressed = yield* makeCompression

      /** Runs the route, once the caller is admitted. */
      const run = ({ request, surface }: Arrival, app: App) => {
        const { http } = request
        const known = Effect.provideService(app, CurrentRequest, request)
        const route =
          surface.routed === undefined ? known : Effect.provideService(known, HttpServerRequest.HttpServerRequest, http)
        if (surface.enter !== undefined) {
          return Effect.flatMapEager(surface.enter(request), (caller) => {
            request.caller = caller
            return inTurnIfLarge(turns, payerOf(request), http, route)
          })
        }
        return surface.streams === true ? route : inTurnIfLarge(turns, request.address, http, route)
      }

      return (app: App) =>
        Effect.withFiber((fiber) => {
          const arrival = arrive(Context.getUnsafe(fiber.context, HttpServerRequest.HttpServerRequest))
          const { request, surface } = arrival
          const { headers, http, id, path } = request
          const span = Context.getOrUndefined(fiber.context, Tracer.ParentSpan)
          if (span?._tag === "Span") span.attribute("request_id", id)
          const cors = surface.cors(path, headers["origin"])

          const answer = (response: Response) => {
            const given = answered(arrival, response, cors)
            record.ended(request, given)
            return given
          }
          const early = preflight(http, path, cors) ?? earlyRefusal(request)
          if (early !== undefined) return Effect.succeed(answer(early))
          return Effect.matchCauseEffect(run(arrival, app), {
            onSuccess: (response) => {
              if (response.status >= 400) return Effect.map(finished(arrival, response), answer)
              const smaller = compressed(request, response)
              return smaller === undefined ? Effect.succeed(answer(response)) : Effect.map(smaller, answer)
            },
            onFailure: (cause) => {
              if (!Exit.hasInterrupts(Exit.failCause(cause))) return Effect.map(failed(arrival, cause), answer)
              record.ended(request, undefined)
              return Effect.failCause(cause)
            }
          })
        })
    }),
    { global: true }
  )
