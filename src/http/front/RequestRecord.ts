import { Clock, Effect } from "effect"
import { type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type LiveKey } from "../../services/access/Keys.ts"
import { RequestLog } from "../../services/requests/RequestLog.ts"
import { admittedBy } from "../access/Admitted.ts"
import { headersOf } from "../access/Credentials.ts"
import { dashboardHeader } from "../access/Origins.ts"
import { routeName } from "../wire/RouteNames.ts"
import { failureOf } from "./ErrorBodies.ts"

/** The status in the log of a request whose client disconnected before the response. */
const disconnected = 499
/** Of a WebSocket, whose response has none. */
const upgraded = 101

/** Characters of a path and of an error's code that are kept, and the length of a URL that the path must not keep in memory. */
const [maxPath, maxCode, longUrl] = [200, 40, 512]

/** Its files, and its sessions, which it reads before it knows whether it has one. */
const ofDashboard = /^(?:\/api)?\/dashboard(?:\/|$)/

/** A part of a text would keep the whole of it. */
const ownText = (text: string) => Buffer.from(text).toString()

/** A request that has arrived. */
export interface Arrival {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly path: string
  readonly id: string
  /** In ms since 1970, and in ns of a clock that is never adjusted. */
  readonly at: number
  readonly begun: bigint
}

/** Keeps requests for the log: costs a few microseconds, and waits for nothing. */
export const makeRequestRecord = Effect.gen(function* () {
  const log = yield* RequestLog
  const clock = yield* Clock.Clock

  const arrived = (request: HttpServerRequest.HttpServerRequest, path: string, id: string): Arrival => ({
    request,
    path,
    id,
    at: clock.currentTimeMillisUnsafe(),
    begun: clock.monotonicTimeNanosUnsafe()
  })

  /** `response`: undefined if the client disconnected before it. `key`: the one that admitted it to `/v1`. */
  const ended = (
    { at, begun, id, path, request }: Arrival,
    response: HttpServerResponse.HttpServerResponse | undefined,
    key: LiveKey | undefined
  ) => {
    // Probes would be half of the log; preflights belong to the request that follows.
    if (path === "/healthz" || path === "/readyz" || request.method === "OPTIONS") return
    const millis = Number(clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000
    const headers = headersOf(request)
    const who = key === undefined ? admittedBy(request) : undefined
    const byKey = key ?? (who?._tag === "Key" ? who.key : undefined)
    const status = response?.status ?? disconnected
    const socket = path === "/realtime" && status < 300
    log.record({
      at,
      id,
      method: request.method,
      path: request.url.length > longUrl ? ownText(path.slice(0, maxPath)) : path.slice(0, maxPath),
      route: routeName(path),
      status: socket ? upgraded : status,
      code: response === undefined || status < 400 ? "" : ownText(failureOf(response).code.slice(0, maxCode)),
      millis,
      bytes: response === undefined ? -1 : bytesOf(response),
      keyId: byKey?.id ?? 0,
      keyLabel: byKey?.label ?? "",
      identity: who?._tag === "Session" ? who.session.identity.id : "",
      dashboard: headers[dashboardHeader] === "1" || ofDashboard.test(path)
    })
  }
  return { arrived, ended }
})

const bytesOf = ({ body }: HttpServerResponse.HttpServerResponse) =>
  body._tag === "Empty" ? 0 : "contentLength" in body ? (body.contentLength ?? -1) : -1
