import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiMiddleware } from "effect/http-api"
import { isUtf8 } from "node:buffer"
import { InvalidRequest } from "../../domain/errors.ts"
import { headersOf } from "./Headers.ts"
import { turnOf, withinBounds } from "./Body.ts"

/**
 * Rejects bodies that are not UTF-8, in which HttpApi would replace characters silently, and JSON over its bounds, which HttpApi
 * would decode at once.
 */
export class Utf8Bodies extends HttpApiMiddleware.Service<Utf8Bodies>()("svc/http/Utf8Bodies", {
  error: InvalidRequest
}) {}

const notUtf8 = new InvalidRequest({ error: "The body is not valid UTF-8" })

export const layerUtf8Bodies = Layer.succeed(
  Utf8Bodies,
  Utf8Bodies.of((app) =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      if (request.method === "GET" || request.method === "HEAD") return yield* app
      // The request caches its body. Read errors are handled by Front.
      const body = Buffer.from(yield* Effect.orDie(request.arrayBuffer))
      yield* turnOf(body)
      if (!isUtf8(body)) return yield* notUtf8
      if (/json/i.test(headersOf(request)["content-type"] ?? "json")) yield* withinBounds(body)
      return yield* app
    })
  )
)
