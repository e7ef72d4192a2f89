import { Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { isUtf8 } from "node:buffer"
import { selectFlags } from "../../domain/flags/Environment.ts"
import {
  bulkReply,
  contextRefused,
  notFoundReply,
  ofrepContext,
  type OfrepReply,
  selectorRefused,
  singleReply
} from "../../domain/flags/Ofrep.ts"
import { FlagEngine } from "../../services/ports/FlagEngine.ts"
import { FlagSettings } from "../../services/flags/Settings.ts"
import { bodyBytes, bodyLimit } from "../wire/Body.ts"
import { CurrentCaller, noGate } from "../access/Caller.ts"
import { lastSegment } from "../wire/Paths.ts"

const path = "/ofrep/v1/evaluate/flags"

/**
 * The OpenFeature remote evaluation protocol, for anybody with a live key. Served on the router itself, because its
 * failures have bodies of their own; the contract for readers is http/api/Ofrep.ts.
 */
export const OfrepRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const engine = yield* FlagEngine
    const settings = yield* FlagSettings

    /** `key` undefined: all flags. */
    const evaluate = Effect.fnUntraced(function* (key: string | undefined) {
      if ((yield* CurrentCaller) === undefined) return yield* noGate
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* bodyBytes(request, bodyLimit)
      if (!isUtf8(body)) return contextRefused("The body is not valid UTF-8", key)
      const context = ofrepContext(body.toString("utf8"))
      if (Result.isFailure(context)) return contextRefused(context.failure, key)
      const environment = selectFlags(request.headers["flagd-selector"], settings.environment)
      if (typeof environment === "object") return selectorRefused(environment.problem, key)
      const tag = request.headers["if-none-match"]
      if (environment === "none") return key === undefined ? bulkReply([], {}, tag) : notFoundReply(key, {})
      if (key !== undefined) return singleReply(yield* engine.evaluate(environment, key, context.success))
      const results = yield* engine.evaluateAll(environment, context.success)
      return bulkReply(results, { flagSetId: environment, ...results[0]?.metadata }, tag)
    })

    const all = Effect.map(evaluate(undefined), answered)
    yield* router.add("POST", path, all)
    yield* router.add("POST", `${path}/`, all)
    yield* router.add(
      "POST",
      `${path}/:key`,
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
        Effect.map(evaluate(lastSegment(url) ?? ""), answered)
      )
    )
  })
)

const answered = ({ body, etag, status }: OfrepReply) => {
  const headers = etag === undefined ? {} : { etag }
  return body === ""
    ? HttpServerResponse.empty({ status, headers })
    : HttpServerResponse.text(body, { status, headers, contentType: "application/json" })
}
