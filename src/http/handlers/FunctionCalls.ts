import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import { NotFound } from "../../domain/errors.ts"
import { isFunctionName } from "../../domain/functions/Function.ts"
import { callerHeaders, FunctionCalls } from "../../services/functions/Calls.ts"
import { bodyTooLarge, maxFunctionBody } from "../../services/ports/supabase/FunctionServer.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { hasBody, leaves, replied, sentHeaders } from "../functions/Passing.ts"
import { withoutTimeLimit } from "../wire/Body.ts"

const mount = "/v1/functions/"

/** `/v1/functions/{name}` and the paths below: the caller is known to Front already. */
export const FunctionCallsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const calls = yield* FunctionCalls

    const call = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { method, source, url } = request
      const served = yield* CurrentRequest
      const { caller, headers } = served
      if (!url.startsWith(mount) || caller === undefined || !(source instanceof IncomingMessage)) return yield* noGate
      const [name = ""] = url.slice(mount.length).split(/[/?]/, 1)
      const below = url.slice(mount.length + name.length)
      if (!isFunctionName(name) || (below.split("?", 1)[0] ?? "").split("/").slice(1).some(leaves)) {
        return yield* new NotFound({ error: "The path names no function", code: "FUNCTION_NOT_FOUND" })
      }
      if (Number(headers["content-length"] ?? 0) > maxFunctionBody) return yield* bodyTooLarge
      withoutTimeLimit(request)
      const reply = yield* calls.call(name, {
        method,
        path: below,
        headers: { ...sentHeaders(served), ...callerHeaders(caller.actor) },
        body: hasBody(headers) ? source : undefined
      })
      return replied(method, reply)
    })

    yield* router.add("*", "/v1/functions/:name/*", call)
  })
)
