import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { contextBytes } from "../../domain/flags/Evaluation.ts"
import { answerOfrep, bulkReply, type OfrepReply, singleReply } from "../../domain/flags/Ofrep.ts"
import { FlagEngine } from "../../services/ports/FlagEngine.ts"
import { FlagSettings } from "../../services/flags/Settings.ts"
import { bodyBytes, turnOf } from "../wire/Body.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { headersOf } from "../wire/Headers.ts"
import { textResponse } from "../wire/OwnedResponse.ts"
import { lastSegment } from "../wire/Paths.ts"

const path = "/ofrep/v1/evaluate/flags"

/**
 * The OpenFeature remote evaluation protocol, for clients with a valid key. The routes are added to the router itself,
 * because their errors have bodies of their own; the contract is http/api/Ofrep.ts.
 */
export const OfrepRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const engine = yield* FlagEngine
    const settings = yield* FlagSettings

    /** `key` is undefined for all flags. */
    const evaluate = Effect.fnUntraced(function* (key: string | undefined) {
      if ((yield* CurrentRequest).caller === undefined) return yield* noGate
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* bodyBytes(request, contextBytes)
      yield* turnOf(body)
      const headers = headersOf(request)
      const [ifNoneMatch, selector] = [headers["if-none-match"], headers["flagd-selector"]]
      const answer = answerOfrep({ key, body, selector, ifNoneMatch }, settings.environment)
      if ("reply" in answer) return answer.reply
      const { context, environment } = answer
      if (key !== undefined) return singleReply(yield* engine.evaluate(environment, key, context))
      const results = yield* engine.evaluateAll(environment, context)
      return bulkReply(results, { flagSetId: environment, ...results[0]?.metadata }, ifNoneMatch)
    })

    const all = Effect.map(evaluate(undefined), responseOf)
    yield* router.add("POST", path, all)
    yield* router.add("POST", `${path}/`, all)
    yield* router.add(
      "POST",
      `${path}/:key`,
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
        Effect.map(evaluate(lastSegment(url) ?? ""), responseOf)
      )
    )
  })
)

const responseOf = ({ body, etag, status }: OfrepReply) => {
  const headers: Record<string, string> = etag === undefined ? {} : { etag }
  return body === ""
    ? HttpServerResponse.empty({ status, headers })
    : textResponse(body, { status, headers, contentType: "application/json" })
}
