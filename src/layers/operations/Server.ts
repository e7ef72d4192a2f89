import { createHash, timingSafeEqual } from "node:crypto"
import { type IncomingMessage, type ServerResponse, createServer } from "node:http"
import { isIP } from "node:net"
import { Effect, FiberSet, Redacted } from "effect"
import { type Readiness } from "../../domain/ServiceStatus.ts"
import { SettingError, integer, secret, text } from "../../domain/Settings.ts"
import { type Unavailable } from "../../domain/errors.ts"
import { type MetricFormat, mediaTypes } from "../../domain/metrics/Sample.ts"
import { refusalOf, refuseInvalid } from "../net/Refusal.ts"
import { closeGracefully, listen } from "../net/Server.ts"

const loopback = /^(?:127\.\d+\.\d+\.\d+|localhost|::1)$/

/** The least length of a key. */
const minKey = 16

/** Off unless SVC_OPERATIONS_PORT is set, and beyond this machine only with a key. */
export const operationsSettings = Effect.gen(function* () {
  const port = yield* integer("SVC_OPERATIONS_PORT", undefined, 0, 65_535)
  const host = yield* text("SVC_OPERATIONS_HOST", "127.0.0.1")
  const key = yield* secret("SVC_OPERATIONS_KEY")
  if (key !== undefined && Redacted.value(key).trim().length < minKey) {
    return yield* new SettingError({ message: `SVC_OPERATIONS_KEY must have at least ${minKey} characters` })
  }
  if (port !== undefined && key === undefined && !loopback.test(host)) {
    return yield* new SettingError({
      message: `SVC_OPERATIONS_HOST is ${host}, from which others could read the metrics: set SVC_OPERATIONS_KEY too, or use 127.0.0.1`
    })
  }
  return port === undefined
    ? undefined
    : { port, host, key: key === undefined ? undefined : Redacted.value(key).trim() }
})
export type OperationsSettings = NonNullable<Effect.Success<typeof operationsSettings>>

/** The functions that the port serves. */
export interface Operations {
  readonly ready: Effect.Effect<Readiness, Unavailable>
  readonly metrics: (format: MetricFormat) => Effect.Effect<string>
}

const digest = (text: string) => createHash("sha256").update(text).digest()

/** A page whose own name resolves to this machine sends that name as the host. */
const isLocalHost = (host = "") => {
  const name = host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")
  return name === "localhost" || isIP(name) !== 0
}

const refuse = (response: ServerResponse, refusal: Parameters<typeof refusalOf>[0], more = {}) => {
  const { body, headers, status } = refusalOf(refusal)
  response.writeHead(Number.parseInt(status), { ...headers, ...more }).end(body)
}

/**
 * Serves /metrics, /healthz and /readyz on a listener of their own until the scope closes; yields its port. Probes do not
 * wait behind the connections of clients there. Only /metrics needs the key.
 */
export const serveOperations = Effect.fnUntraced(function* (
  { host, key, port }: OperationsSettings,
  { metrics, ready }: Operations
) {
  const run = yield* FiberSet.makeRuntime()
  const expected = key === undefined ? undefined : digest(`Bearer ${key}`)
  const mayRead = ({ headers }: IncomingMessage) =>
    expected === undefined ? isLocalHost(headers.host) : timingSafeEqual(digest(headers.authorization ?? ""), expected)

  const send = (response: ServerResponse, type: string, text: string) =>
    Effect.sync(() => {
      const headers = { "content-type": type, "cache-control": "no-store", "x-content-type-options": "nosniff" }
      response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(text) }).end(text)
    })
  const ok = (response: ServerResponse) => send(response, "application/json", '{"status":"ok"}')

  const answer = (request: IncomingMessage, response: ServerResponse): Effect.Effect<void> => {
    const path = request.url?.split("?")[0]
    if (path !== "/metrics" && path !== "/healthz" && path !== "/readyz") {
      const paths = "/metrics, /healthz and /readyz"
      return Effect.sync(() => refuse(response, ["404 Not Found", "NOT_FOUND", `This port serves ${paths}`]))
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      const text = `${path} can be read with GET only`
      return Effect.sync(() => refuse(response, ["405", "METHOD_NOT_ALLOWED", text], { allow: "GET, HEAD" }))
    }
    if (path === "/healthz") return ok(response)
    if (path === "/readyz") {
      return Effect.matchEffect(ready, {
        onSuccess: (readiness) => send(response, "application/json", JSON.stringify(readiness)),
        onFailure: ({ code, error }) =>
          Effect.sync(() => refuse(response, ["503", code, error], { "retry-after": "1" }))
      })
    }
    if (!mayRead(request)) {
      const text =
        key === undefined
          ? "Metrics are read by an IP address or localhost"
          : "Metrics need the header Authorization: Bearer and the value of SVC_OPERATIONS_KEY"
      const refusal =
        key === undefined ? (["403", "FORBIDDEN", text] as const) : (["401", "UNAUTHENTICATED", text] as const)
      return Effect.sync(() => refuse(response, refusal, key === undefined ? {} : { "www-authenticate": "Bearer" }))
    }
    const format = request.headers.accept?.includes("application/openmetrics-text") === true ? "openmetrics" : "text"
    return Effect.flatMap(metrics(format), (text) => send(response, mediaTypes[format], text))
  }

  const server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      keepAliveTimeout: 65_000
    },
    (request, response) => {
      const fiber = run(
        Effect.catchCause(answer(request, response), (cause) =>
          Effect.andThen(
            Effect.logError("Failed to answer on the operations port", cause),
            Effect.sync(() => response.destroy())
          )
        )
      )
      response.once("close", () => fiber.interruptUnsafe())
    }
  ).on("clientError", refuseInvalid)
  const address = { host, port, name: "The operations port", setting: "SVC_OPERATIONS_PORT" }
  return yield* Effect.acquireRelease(listen(server, address), () =>
    Effect.promise(() => closeGracefully(server, 1_000))
  )
})
