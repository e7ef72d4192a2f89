import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Layer } from "effect"
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import { Transform } from "node:stream"
import { BadGateway, GatewayTimeout, NotFound, PayloadTooLarge } from "../../domain/errors.ts"
import {
  bodyTooLarge,
  type PassedOnCall,
  type FunctionReply,
  FunctionServer,
  maxFunctionBody
} from "../../services/ports/supabase/FunctionServer.ts"
import { inCall } from "../../services/Tracing.ts"
import { SupabaseSettings } from "../../services/supabase/Settings.ts"

const unreachable = new BadGateway({
  error: "The server of the functions does not respond, or responds incorrectly",
  code: "FUNCTIONS_UNAVAILABLE"
})
const tooSlow = new GatewayTimeout({ error: "The function took too long", code: "FUNCTIONS_TIMEOUT" })
const none = new NotFound({ error: "Requested function was not found", hint: "SVC_FUNCTIONS_URL is not set" })

type Refused = BadGateway | GatewayTimeout | PayloadTooLarge

/** Fails once more than the limit has passed. */
const limited = () => {
  let length = 0
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      length += chunk.length
      if (length > maxFunctionBody) done(bodyTooLarge as object as Error)
      else done(null, chunk)
    }
  })
}

const headersOf = ({ headers }: IncomingMessage) =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]]
    )
  )

const replyOf = (incoming: IncomingMessage): FunctionReply => ({
  status: incoming.statusCode ?? 502,
  headers: headersOf(incoming),
  body: NodeStream.fromReadable({ evaluate: () => incoming, onError: () => unreachable })
})

const send = (base: URL, { body, headers, method, path }: PassedOnCall, timeout: number): ClientRequest => {
  const request = (base.protocol === "https:" ? requestHttps : requestHttp)({
    // The address is the setting's, whatever the path contains.
    protocol: base.protocol,
    hostname: base.hostname.replace(/^\[|\]$/g, ""),
    port: base.port,
    path: `${base.pathname.replace(/\/$/, "")}${path}`,
    method,
    headers: { ...headers, host: base.host },
    timeout,
    // A kept connection may be closed by the server just as it is used.
    agent: false
  })
  if (body === undefined) request.end()
  else {
    const limit = limited().on("error", (error) => request.destroy(error))
    // Pipes, unlike pipelines, leave the client's connection open, on which the response is still to be sent.
    body.pipe(limit).pipe(request)
    body.once("close", () => {
      if (!body.readableEnded) request.destroy()
    })
  }
  return request
}

export const layerFunctionServer = Layer.effect(
  FunctionServer,
  Effect.gen(function* () {
    const { timeout, url } = (yield* SupabaseSettings).functions
    if (url === undefined) return FunctionServer.of({ call: () => Effect.fail(none) })
    const base = new URL(url)

    const sent = (given: PassedOnCall) =>
      Effect.flatMap(
        Effect.acquireRelease(
          Effect.sync(() => {
            const request = send(base, given, timeout)
            // It may fail after the response has begun.
            request.on("error", () => undefined)
            return request
          }),
          (request) => Effect.sync(() => void request.destroy())
        ),
        (request) =>
          Effect.callback<FunctionReply, Refused>((resume) => {
            request.once("response", (incoming) => resume(Effect.succeed(replyOf(incoming))))
            request.once("timeout", () => request.destroy(tooSlow as object as Error))
            request.once("error", (error: unknown) =>
              resume(
                Effect.fail(error instanceof GatewayTimeout || error instanceof PayloadTooLarge ? error : unreachable)
              )
            )
          })
      )
    const call = (given: PassedOnCall) =>
      inCall(
        { name: "function.call", kind: "client", attributes: { "http.request.method": given.method } },
        (headers) => sent({ ...given, headers: { ...given.headers, ...headers } }),
        ({ status }) => status
      )
    return FunctionServer.of({ call })
  })
)
