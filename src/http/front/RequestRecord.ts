import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Clock, Effect } from "effect"
import { type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { IncomingMessage } from "node:http"
import { type Access } from "../../domain/requests/AccessLine.ts"
import { AccessLog } from "../../services/requests/AccessLog.ts"
import { RequestLog } from "../../services/requests/RequestLog.ts"
import { dashboardHeader } from "../access/Origins.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"
import { type Headers } from "../wire/Headers.ts"
import { routeName } from "./RouteNames.ts"
import { failureOf } from "../wire/ErrorBodies.ts"

/** The status in the log of a request whose client disconnected before the response. */
const disconnected = 499
/** The status in the log of a WebSocket, which has no response. */
const upgraded = 101

/** Characters of a path and of an error's code that are kept, and the length of a URL that the path must not keep in memory. */
const [maxPath, maxCode, longUrl] = [200, 40, 512]

/** The dashboard's files and sessions. Its page requests the session before it signs in. */
const ofDashboard = /^(?:\/api)?\/dashboard(?:\/|$)/

/** A part of a text would keep the whole of it. */
const ownText = (text: string) => Buffer.from(text).toString()

/** Keeps requests for the log: costs a few microseconds, and waits for nothing. */
export const makeRequestRecord = Effect.gen(function* () {
  const log = yield* RequestLog
  const { log: access } = yield* AccessLog
  const clock = yield* Clock.Clock

  /** `response`: undefined if the client disconnected before it. */
  const ended = (request: ServedRequest, response: HttpServerResponse.HttpServerResponse | undefined) => {
    const { at, begun, credential, headers, http, id, sentPath: path } = request
    // Probes would fill the log; preflights belong to the request that follows.
    if (path === "/healthz" || path === "/readyz" || http.method === "OPTIONS") return
    const millis = Number(clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000
    const key = credential?._tag === "Key" ? credential.key : undefined
    const status = response?.status ?? disconnected
    const socket = path === "/realtime" && status < 300
    const route = routeName(path)
    const code = response === undefined || status < 400 ? "" : ownText(failureOf(response).code.slice(0, maxCode))
    if (access !== undefined) {
      const entry = accessOf(request, { route, code, millis, status: socket ? upgraded : status })
      afterBytes(http, response, (bytesOut) => access({ ...entry, bytesOut }))
    }
    log.record({
      at,
      id,
      method: http.method,
      path: http.url.length > longUrl ? ownText(path.slice(0, maxPath)) : path.slice(0, maxPath),
      route,
      status: socket ? upgraded : status,
      code,
      millis,
      bytes: response === undefined ? -1 : bytesOf(response),
      keyId: key?.id ?? 0,
      keyLabel: key?.label ?? "",
      identity: credential?._tag === "Session" ? credential.session.identity.id : "",
      dashboard: headers[dashboardHeader] === "1" || ofDashboard.test(path)
    })
  }
  return { ended }
})

/** A request as the access log has it. */
const accessOf = (
  { address, at, caller, credential, headers, http, id, sentPath: path }: ServedRequest,
  outcome: Pick<Access, "route" | "code" | "millis" | "status">
): Omit<Access, "bytesOut"> => {
  const key = credential?._tag === "Key" ? credential.key : undefined
  const session = credential?._tag === "Session" ? credential.session : undefined
  return {
    ...outcome,
    at,
    id,
    client: address,
    method: http.method,
    path: path.slice(0, maxPath),
    bytesIn: bytesInOf(headers),
    keyId: key?.id ?? 0,
    role: caller?.actor.role ?? key?.type ?? (session === undefined ? "" : session.admin ? "admin" : "user"),
    identity:
      caller === undefined || caller.actor.sub === "" ? (session?.identity.id ?? "") : caller.actor.sub.slice(0, 200),
    dashboard: headers[dashboardHeader] === "1" || ofDashboard.test(path)
  }
}

/** The length of the body in bytes; -1 if it is not declared. */
const bytesInOf = (headers: Headers) => {
  const length = headers["content-length"]
  return length === undefined ? (headers["transfer-encoding"] === undefined ? 0 : -1) : Number(length)
}

/** Passes on the bytes of a response's body: at once, or of a stream once it has ended, as sent. */
const afterBytes = (
  request: HttpServerRequest.HttpServerRequest,
  response: HttpServerResponse.HttpServerResponse | undefined,
  use: (bytes: number) => void
) => {
  const { source } = request
  if (response?.body._tag !== "Stream" || !(source instanceof IncomingMessage)) {
    return use(response === undefined ? 0 : bytesOf(response))
  }
  const { socket } = source
  const before = socket.bytesWritten
  NodeHttpServerRequest.toServerResponse(request).once("close", () => use(socket.bytesWritten - before))
}

const bytesOf = ({ body }: HttpServerResponse.HttpServerResponse) =>
  body._tag === "Empty" ? 0 : "contentLength" in body ? (body.contentLength ?? -1) : -1
