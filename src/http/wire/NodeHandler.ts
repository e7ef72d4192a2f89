import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { type IncomingMessage, ServerResponse } from "node:http"
import { type ClientError, isClientError } from "../../domain/errors.ts"
import { type NodeHandler } from "../../services/oauth2/Endpoints.ts"

/** A response that is kept instead of sent, so that the service's own middleware applies to it. */
class KeptResponse extends ServerResponse {
  private readonly chunks: Array<Uint8Array> = []

  override write(chunk: unknown): boolean {
    if (typeof chunk === "string" || chunk instanceof Uint8Array) this.chunks.push(Buffer.from(chunk as Uint8Array))
    return true
  }

  override end(chunk?: unknown): this {
    this.write(chunk)
    return this
  }

  get body() {
    return Buffer.concat(this.chunks)
  }
}

/** Set by the listener, from the body. */
const ofListener = new Set(["set-cookie", "content-length", "transfer-encoding", "connection", "date"])

/** Answers a request with a handler of `node:http`, such as a library's. */
export const viaNode = (
  handler: NodeHandler,
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<HttpServerResponse.HttpServerResponse, ClientError> =>
  Effect.gen(function* () {
    // The listener supports HTTP/1.1 only.
    const message = NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage
    const kept = new KeptResponse(message)
    yield* Effect.catch(
      Effect.tryPromise({ try: () => handler(message, kept), catch: (error) => ({ error }) }),
      ({ error }) => (isClientError(error) ? Effect.fail(error) : Effect.die(error))
    )
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(kept.getHeaders())) {
      if (!ofListener.has(name)) headers[name] = String(value)
    }
    // A response's own cookies are kept by name, and one answer may set a cookie at one path and clear it at another.
    const cookies = [kept.getHeader("set-cookie") ?? []].flat().map(String)
    if (cookies.length > 0) NodeHttpServerRequest.toServerResponse(request).setHeader("set-cookie", cookies)
    return HttpServerResponse.uint8Array(kept.body, {
      status: kept.statusCode,
      headers,
      ...(headers["content-type"] === undefined ? {} : { contentType: headers["content-type"] })
    })
  })
