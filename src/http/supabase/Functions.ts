import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { IncomingMessage } from "node:http"
import { InvalidRequest } from "../../domain/errors.ts"
import { callerHeaders, FunctionCalls } from "../../services/functions/Calls.ts"
import { bodyTooLarge, FunctionServer, maxFunctionBody } from "../../services/ports/supabase/FunctionServer.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { hasBody, leaves, replied, sentHeaders } from "../functions/Passing.ts"
import { withoutTimeLimit } from "../wire/Body.ts"
import { SupabaseGate } from "./Gate.ts"

const mount = "/functions/v1"

const noFunction = new InvalidRequest({
  error: "The path of a function is invalid",
  hint: "/functions/v1/<name>: letters, digits, _ and -; no . or .. segments"
})

/** The path and query below the server's URL; undefined if it is no function's. */
const pathOf = (url: string) => {
  const path = url.slice(mount.length)
  const [, name = "", ...rest] = (path.split("?", 1)[0] ?? "").split("/")
  return /^[\w-]{1,100}$/.test(name) && !rest.some(leaves)
    ? { name, path, below: path.slice(name.length + 1) }
    : undefined
}

/** `/functions/v1/{name}`, passed on to SVC_FUNCTIONS_URL, or else to the functions that the service runs. */
export const SupabaseFunctionsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const server = yield* FunctionServer
    const calls = yield* FunctionCalls
    const gate = yield* SupabaseGate
    const { enabled, functions } = yield* SupabaseSettings
    if (!enabled) return

    const call = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { method, source, url } = request
      if (!url.startsWith(`${mount}/`) || !(source instanceof IncomingMessage)) return yield* noGate
      const found = pathOf(url)
      if (found === undefined) return yield* noFunction
      const served = yield* CurrentRequest
      const { headers } = served
      if (Number(headers["content-length"] ?? 0) > maxFunctionBody) return yield* bodyTooLarge
      const verifies = functions.url === undefined ? yield* calls.verifiesJwt(found.name) : functions.verifyJwt
      const caller = verifies ? yield* gate.enter(headers, served, true) : undefined
      withoutTimeLimit(request)
      const given = {
        method,
        headers: { ...sentHeaders(served), ...(caller === undefined ? {} : callerHeaders(caller.actor)) },
        body: hasBody(headers) ? source : undefined
      }
      const reply =
        functions.url === undefined
          ? yield* calls.call(found.name, { ...given, path: found.below })
          : yield* server.call({ ...given, path: found.path })
      return replied(method, reply)
    })

    yield* router.add("*", `${mount}/*`, call)
  })
)
