import { Effect, Layer } from "effect"
import { NotFound } from "../../../src/domain/errors.ts"
import {
  FunctionInvoker,
  type FunctionFailure,
  type FunctionRequest,
  type FunctionResponse
} from "../../../src/services/ports/functions/FunctionInvoker.ts"

type Handler = (
  request: FunctionRequest
) => Effect.Effect<Partial<Omit<FunctionResponse, "body">> & { readonly body?: string }, FunctionFailure>

/** Functions of the test's own, by name, in place of Deno. */
export const layerFakeFunctions = (handlers: Readonly<Record<string, Handler>>) =>
  Layer.succeed(FunctionInvoker, {
    invoke: (name, request) => {
      const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined
      if (handler === undefined)
        return Effect.fail(new NotFound({ error: `Function ${name} does not exist`, code: "FUNCTION_NOT_FOUND" }))
      return Effect.map(handler(request), ({ body = "", headers = {}, status = 200 }) => ({
        status,
        headers,
        body: Buffer.from(body)
      }))
    }
  })
