import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, type Scope } from "effect"
import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import { Transform } from "node:stream"
import { GatewayTimeout, PayloadTooLarge, type BadGateway } from "../../domain/errors.ts"
import {
  bodyTooLarge,
  type FunctionReply,
  maxFunctionBody,
  type PassedOnCall
} from "../../services/ports/supabase/FunctionServer.ts"

/** A server that requests are passed on to, and what a request fails with that it does not answer. */
export interface Receiver {
  readonly base: URL
  /** Its Unix socket, in place of the URL's host. */
  readonly socket?: string
  /** Keeps connections. Default: a connection for each request, as a kept one may be closed just as it is used. */
  readonly agent?: Agent
  /** The longest pause of its answer, in ms. */
  readonly timeout?: number
  /** The longest time of its whole answer, in ms. */
  readonly limit?: number
  readonly unreachable: BadGateway
  readonly tooSlow: GatewayTimeout
}

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

const send = (
  { agent, base, socket, timeout }: Receiver,
  { body, headers, method, path }: PassedOnCall
): ClientRequest => {
  const request = (base.protocol === "https:" ? requestHttps : requestHttp)({
    // The address is the setting's, whatever the path contains.
    protocol: base.protocol,
    ...(socket === undefined
      ? { hostname: base.hostname.replace(/^\[|\]$/g, ""), port: base.port }
      : { socketPath: socket }),
    path: `${base.pathname.replace(/\/$/, "")}${path}`,
    method,
    headers: { ...headers, host: base.host },
    ...(timeout === undefined ? {} : { timeout }),
    agent: agent ?? false
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

/** Passes a request on, until the scope closes. */
export const passOn = (
  receiver: Receiver,
  given: PassedOnCall
): Effect.Effect<FunctionReply, BadGateway | GatewayTimeout | PayloadTooLarge, Scope.Scope> =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() => {
        const request = send(receiver, given)
        // It may fail after the response has begun.
        request.on("error", () => undefined)
        const { limit, tooSlow } = receiver
        const timer =
          limit === undefined ? undefined : setTimeout(() => request.destroy(tooSlow as object as Error), limit)
        return { request, timer }
      }),
      ({ request, timer }) =>
        Effect.sync(() => {
          clearTimeout(timer)
          // A complete response has given its connection back, so that this does not close it.
          request.destroy()
        })
    ),
    ({ request }) =>
      Effect.callback((resume) => {
        request.once("response", (incoming) =>
          resume(
            Effect.succeed({
              status: incoming.statusCode ?? 502,
              headers: headersOf(incoming),
              body: NodeStream.fromReadable({ evaluate: () => incoming, onError: () => receiver.unreachable })
            })
          )
        )
        request.once("timeout", () => request.destroy(receiver.tooSlow as object as Error))
        request.once("error", (error: unknown) =>
          resume(
            Effect.fail(
              error instanceof GatewayTimeout || error instanceof PayloadTooLarge ? error : receiver.unreachable
            )
          )
        )
      })
  )
