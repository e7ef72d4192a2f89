import { type IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type ClientError, InvalidRequest, NotFound, isClientError } from "../../domain/errors.ts"
import { makeAttemptLimit } from "../../services/identity/AttemptLimits.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { type NodeHandler, OAuth2Endpoints } from "../../services/oauth2/Endpoints.ts"
import { Counts } from "../../services/ports/workers/Counts.ts"
import { clientAddress } from "../access/ClientAddress.ts"
import { formOf, withFailurePage } from "../pages/Pages.ts"
import { asOAuthError } from "../wire/ErrorBodies.ts"

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
const viaNode = (
  handler: NodeHandler,
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<HttpServerResponse.HttpServerResponse, ClientError> =>
  Effect.gen(function* () {
    // The listener supports HTTP/1.1 only.
    const message = NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage
    const answer = new KeptResponse(message)
    yield* Effect.catch(
      Effect.tryPromise({ try: () => handler(message, answer), catch: (error) => ({ error }) }),
      ({ error }) => (isClientError(error) ? Effect.fail(error) : Effect.die(error))
    )
    const headers: Record<string, string> = {}
    for (const [name, value] of Object.entries(answer.getHeaders())) {
      if (!ofListener.has(name)) headers[name] = String(value)
    }
    // A response's own cookies are kept by name, and one answer may set a cookie at one path and clear it at another.
    const cookies = [answer.getHeader("set-cookie") ?? []].flat().map(String)
    if (cookies.length > 0) NodeHttpServerRequest.toServerResponse(request).setHeader("set-cookie", cookies)
    return HttpServerResponse.uint8Array(answer.body, {
      status: answer.statusCode,
      headers,
      ...(headers["content-type"] === undefined ? {} : { contentType: headers["content-type"] })
    })
  })

/** Authorization requests of an address in a minute; many users may share one. */
const maxRequests = 300

/** Characters of a query that, together with the other headers, fits into the longest URL (16 KiB). */
const maxQuery = 12_000
const tooLong = new InvalidRequest({ error: `The form must have at most ${maxQuery} characters` })

const elsewhere = new NotFound({
  error: "This service has no OAuth 2.0 server of its own",
  hint: "The one of OAUTH2_PUBLIC_URL has these endpoints"
})

/** The endpoints of the embedded OAuth 2.0 server (contract: http/api/OAuth2Endpoints.ts). */
export const OAuth2EndpointsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { handler } = yield* OAuth2Endpoints
    const settings = yield* IdentitySettings
    const counts = yield* Counts
    const limit = makeAttemptLimit(counts.windows("authorizations"), maxRequests)
    const answer = Effect.gen(function* () {
      if (handler === undefined) return yield* elsewhere
      return asOAuthError(yield* viaNode(yield* handler, yield* HttpServerRequest.HttpServerRequest))
    })

    /** Each authorization request is stored until it is answered or expires, and needs no credentials. */
    const begin = Effect.gen(function* () {
      yield* limit(clientAddress(yield* HttpServerRequest.HttpServerRequest, settings))
      return yield* answer
    })

    /**
     * The parameters in a form count as those of a query: the browser is sent on with GET, because it sends no cookie that
     * is SameSite=Lax with the form of another site, and the session would be unknown.
     */
    const asQuery = Effect.gen(function* () {
      if (handler === undefined) return yield* elsewhere
      const query = (yield* formOf(yield* HttpServerRequest.HttpServerRequest)).toString()
      if (query.length > maxQuery) return yield* tooLong
      return HttpServerResponse.redirect(`?${query}`, { status: 303, headers: { "cache-control": "no-store" } })
    })

    yield* router.add("GET", "/oauth2/auth", withFailurePage(begin, false))
    yield* router.add("POST", "/oauth2/auth", withFailurePage(asQuery, false))
    yield* router.add("GET", "/oauth2/auth/:uid", withFailurePage(answer, false))
    yield* router.add("GET", "/oauth2/sessions/logout", withFailurePage(answer, false))
    yield* router.add("POST", "/oauth2/sessions/logout", withFailurePage(asQuery, false))
    yield* router.add("GET", "/.well-known/openid-configuration", answer)
    yield* router.add("GET", "/.well-known/oauth-authorization-server", answer)
    yield* router.add("GET", "/oauth2/userinfo", answer)
    for (const name of ["token", "userinfo", "revoke", "introspect"] as const) {
      yield* router.add("POST", `/oauth2/${name}`, answer)
      yield* router.add("OPTIONS", `/oauth2/${name}`, answer)
    }
  })
)
