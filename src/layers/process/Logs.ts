import { Effect, Layer, Logger, References } from "effect"
import { FetchHttpClient, Headers, UrlParams } from "effect/http"
import { Otlp } from "effect/observability"
import { oneOf, url } from "../../domain/Settings.ts"
import { workerNumber } from "../workers/Settings.ts"

const levels = ["All", "Trace", "Debug", "Info", "Warn", "Error", "Fatal", "None"] as const

/** Logs readable lines to a terminal, JSON to anything else, from LOG_LEVEL upwards. */
export const layerLogs = Layer.unwrap(
  Effect.gen(function* () {
    const level = yield* oneOf("LOG_LEVEL", "Info", levels)
    const logger = process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson
    return Layer.mergeAll(
      Logger.layer([logger]),
      Layer.succeed(References.MinimumLogLevel, level),
      workerNumber === undefined
        ? Layer.empty
        : Layer.succeed(References.CurrentLogAnnotations, { worker: workerNumber })
    )
  })
)

/** Headers and query parameters that traces must not contain. */
const layerRedacted = Layer.mergeAll(
  Layer.succeed(Headers.CurrentRedactedNames, ["apikey", "x-api-key", "authorization", "cookie", "set-cookie"]),
  Layer.succeed(UrlParams.CurrentRedactedNames, ["apikey", /^x-amz-/i, /signature/i, /token/i])
)

const worker = workerNumber === undefined ? {} : { attributes: { "service.instance.id": `worker-${workerNumber}` } }

/** Exports traces, metrics and logs to OTEL_EXPORTER_OTLP_ENDPOINT if it is set. */
export const layerTelemetry = Layer.unwrap(
  Effect.gen(function* () {
    const endpoint = yield* url("OTEL_EXPORTER_OTLP_ENDPOINT")
    if (endpoint === undefined) return Layer.empty
    return Otlp.layerJson({ baseUrl: endpoint.href, resource: { serviceName: "svc", ...worker } }).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.merge(layerRedacted)
    )
  })
)
