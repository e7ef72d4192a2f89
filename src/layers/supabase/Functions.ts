import { Effect, Layer } from "effect"
import { BadGateway, GatewayTimeout, NotFound } from "../../domain/errors.ts"
import { FunctionServer, type PassedOnCall } from "../../services/ports/supabase/FunctionServer.ts"
import { inCall } from "../../services/Tracing.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"
import { passOn } from "../net/PassOn.ts"

const unreachable = new BadGateway({
  error: "The server of the functions does not respond, or responds incorrectly",
  code: "FUNCTIONS_UNAVAILABLE"
})
const tooSlow = new GatewayTimeout({ error: "The function took too long", code: "FUNCTIONS_TIMEOUT" })
const none = new NotFound({ error: "Requested function was not found", hint: "SVC_FUNCTIONS_URL is not set" })

export const layerFunctionServer = Layer.effect(
  FunctionServer,
  Effect.gen(function* () {
    const { timeout, url } = (yield* SupabaseSettings).functions
    if (url === undefined) return FunctionServer.of({ call: () => Effect.fail(none) })
    const receiver = { base: new URL(url), timeout, unreachable, tooSlow }
    const call = (given: PassedOnCall) =>
      inCall(
        { name: "function.call", kind: "client", attributes: { "http.request.method": given.method } },
        (headers) => passOn(receiver, { ...given, headers: { ...given.headers, ...headers } }),
        ({ status }) => status
      )
    return FunctionServer.of({ call })
  })
)
