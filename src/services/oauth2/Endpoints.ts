import { Context, type Effect } from "effect"
import { type IncomingMessage, type ServerResponse } from "node:http"
import { type Unavailable } from "../../domain/errors.ts"

/** Answers a request as a handler of `node:http`. Failures of the service reject without an answer. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/**
 * Port: the endpoints that the embedded OAuth 2.0 server has for browsers and clients (authorization, token, …). They are
 * a library's for `node:http`. Implemented by services/oauth2/server; `handler` is undefined when the server is another
 * process, or none.
 */
export class OAuth2Endpoints extends Context.Service<
  OAuth2Endpoints,
  { readonly handler: Effect.Effect<NodeHandler, Unavailable> | undefined }
>()("svc/services/OAuth2Endpoints") {}
