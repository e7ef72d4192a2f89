import { type Cause, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { type ClientError, InvalidRequest, PayloadTooLarge } from "../../domain/errors.ts"
import { completed, errorResponse, frameworkFailure, hasChosenStatus, knownFailure } from "../wire/ErrorBodies.ts"
import { type Arrival } from "./Arrival.ts"
import { makeFailureLog } from "./FailureLog.ts"
import { noRoute } from "./NoRoute.ts"

type Response = HttpServerResponse.HttpServerResponse

const malformed = new InvalidRequest({ error: "The request is malformed" })
const tooLarge = new PayloadTooLarge({ error: "The body is too large" })

/** Makes the error responses. `methodsOf` returns the methods of a path, so that another method is 405 and not 404. */
export const makeFailures = (methodsOf: (path: string) => ReadonlyArray<string>) => {
  const log = makeFailureLog()

  const shaped = ({ request, surface }: Arrival, response: Response) =>
    surface.error === undefined ? response : surface.error(response, request)

  const logged = (arrival: Arrival, response: Response, ofDatabase = false): Effect.Effect<Response> => {
    const { http, id, path } = arrival.request
    return Effect.as(log({ id, method: http.method, path, response, ofDatabase }), shaped(arrival, response))
  }

  const unrouted = ({ request, surface }: Arrival) =>
    surface.noRoute === undefined
      ? noRoute(methodsOf(request.path), request.http.method, request.path, request.id)
      : errorResponse(surface.noRoute(request), request.id)

  /** The response to a request that failed. */
  const failed = (arrival: Arrival, cause: Cause.Cause<unknown>): Effect.Effect<Response> => {
    const { http, id, path } = arrival.request
    const known = knownFailure(cause)
    if (known !== undefined) return logged(arrival, errorResponse(known, id), known._tag === "DatabaseError")
    const framework = frameworkFailure(cause)
    if (framework === "route") return logged(arrival, unrouted(arrival))
    if (framework !== undefined) {
      const error: ClientError = framework === "size" ? tooLarge : malformed
      return logged(arrival, errorResponse(error, id))
    }
    return Effect.logError(`Request ${id} failed: ${http.method} ${path}`, cause).pipe(
      Effect.annotateLogs({ request_id: id }),
      Effect.as(shaped(arrival, completed(HttpServerResponse.empty({ status: 500 }), id)))
    )
  }

  /** The response of a route, with the common body if its status is that of an error. */
  const finished = (arrival: Arrival, response: Response): Effect.Effect<Response> =>
    arrival.surface.ownErrors === true || hasChosenStatus(response)
      ? Effect.succeed(response)
      : logged(arrival, completed(response, arrival.request.id))

  return { failed, finished }
}
