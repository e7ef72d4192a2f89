import { Clock, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { type IncomingMessage } from "node:http"
import { InvalidRequest } from "../../domain/errors.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { clientAddress } from "../access/ClientAddress.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"
import { errorResponse } from "../wire/ErrorBodies.ts"
import { headersOf } from "../wire/Headers.ts"
import { type Surface, Surfaces } from "./Surfaces.ts"

/** Maximum length of a URL in characters; longer ones are 414. */
const maxUrlLength = 16 * 1024

/** A request, and the surface that it has reached. */
export interface Arrival {
  readonly request: ServedRequest
  readonly surface: Surface
}

const pathOf = (url: string) => {
  const query = url.indexOf("?")
  return query < 0 ? url : url.slice(0, query)
}

/** The caller's own request id is kept if it is safe in a log line. */
const requestIdOf = (given: string | undefined) =>
  given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()

/** Reads what Front and the gates need of a request. */
export const makeArrivals = Effect.gen(function* () {
  const surfaces = yield* Surfaces
  const settings = yield* IdentitySettings
  const clock = yield* Clock.Clock

  return (sent: HttpServerRequest.HttpServerRequest): Arrival => {
    const sentPath = pathOf(sent.url)
    const surface = surfaces.of(sentPath)
    const { routed } = surface
    const headers = headersOf(sent)
    const request: ServedRequest = {
      id: requestIdOf(headers["x-request-id"]),
      http: routed === undefined ? sent : sent.modify({ url: routed(sent.url) }),
      headers,
      sentPath,
      path: routed === undefined ? sentPath : routed(sentPath),
      at: clock.currentTimeMillisUnsafe(),
      begun: clock.monotonicTimeNanosUnsafe(),
      address: clientAddress(sent, settings),
      caller: undefined,
      credential: undefined,
      limit: -1,
      remaining: -1,
      reset: 0
    }
    return { request, surface }
  }
})

/** Whether a header is repeated; Node keeps the first one only. `lines`: names and values in turn. */
const hasSeveral = (lines: ReadonlyArray<string> = [], header: string) => {
  let count = 0
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]
    if (name?.length === header.length && name.toLowerCase() === header) count++
  }
  return count > 1
}

/** The response to a request that no route may serve, whatever its path is. */
export const earlyRefusal = ({ headers, http, id }: ServedRequest) => {
  // RFC 9112 3.2: HTTP/1.1 requires a Host header.
  const source = http.source as Partial<IncomingMessage>
  if (headers["host"] === undefined && source.httpVersion === "1.1") {
    return errorResponse(new InvalidRequest({ error: "The request has no Host header", code: "INVALID_HTTP" }), id)
  }
  // Proxies differ in which of several they use, so that one could check another host than the service does.
  if (hasSeveral(source.rawHeaders, "host")) {
    return errorResponse(
      new InvalidRequest({ error: "The request has more than one Host header", code: "INVALID_HTTP" }),
      id
    )
  }
  if (http.url.length <= maxUrlLength) return undefined
  const tooLong = new InvalidRequest({ error: `The URL exceeds ${maxUrlLength} characters`, code: "URI_TOO_LONG" })
  return HttpServerResponse.setStatus(errorResponse(tooLong, id), 414)
}
