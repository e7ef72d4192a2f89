import { Effect, Layer, Logger, References } from "effect"
import { FetchHttpClient, Headers, HttpClient, UrlParams } from "effect/http"
import { OtlpExporter, OtlpLogger, OtlpSerialization } from "effect/observability"
import { oneOf, url } from "../../domain/Settings.ts"
import { layerTracer, traceShare } from "../process/Tracer.ts"
import { CurrentLogFile, fileLogger, layerLogFile } from "./LogFile.ts"
import { workerNumber } from "../process/WorkerSettings.ts"

const levels = ["All", "Trace", "Debug", "Info", "Warn", "Error", "Fatal", "None"] as const

const logLevel = oneOf("LOG_LEVEL", "Info", levels)

const telemetry = Effect.all({
  endpoint: url("OTEL_EXPORTER_OTLP_ENDPOINT"),
  protocol: oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", ["http/json", "http/protobuf"]),
  share: traceShare
})

/** The settings of logs and traces. */
export const observabilitySettings = Effect.all([logLevel, telemetry])

/** Logs readable lines to a terminal, JSON to anything else, and both to the log file, from LOG_LEVEL upwards. */
const layerLogs = Layer.unwrap(
  Effect.gen(function* () {
    const level = yield* logLevel
    const logger = process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson
    return Layer.mergeAll(
      Logger.layer([logger, fileLogger(yield* CurrentLogFile)]),
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
  Layer.succeed(UrlParams.CurrentRedactedNames, ["apikey", "jwt", /^x-amz-/i, /signature/i, /token/i])
)

const worker = workerNumber === undefined ? {} : { attributes: { "service.instance.id": `worker-${workerNumber}` } }

/** Calls of the collector. The first of several failures and the next success are logged: the exporter itself is silent. */
const layerCollector = (endpoint: string) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) => {
      let failing = false
      const failed = (why: string) =>
        Effect.suspend(() => {
          if (failing) return Effect.void
          failing = true
          return Effect.logWarning(
            `Failed to export traces and logs to ${endpoint} (OTEL_EXPORTER_OTLP_ENDPOINT): ${why}. They are dropped, and tried again every minute`
          )
        })
      const succeeded = Effect.suspend(() => {
        if (!failing) return Effect.void
        failing = false
        return Effect.logInfo(`Exporting traces and logs to ${endpoint} again`)
      })
      return client.pipe(
        HttpClient.tapError(() => failed("it does not answer")),
        HttpClient.tap(({ status }) => (status < 300 ? succeeded : failed(`it answered with ${status}`)))
      )
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))

/** Exports traces and logs to OTEL_EXPORTER_OTLP_ENDPOINT if it is set. */
const layerTelemetry = Layer.unwrap(
  Effect.gen(function* () {
    const { endpoint, protocol, share } = yield* telemetry
    if (endpoint === undefined) return Layer.empty
    const base = endpoint.href.replace(/\/+$/, "")
    const resource = { serviceName: "svc", ...worker }
    return Layer.mergeAll(
      OtlpLogger.layer({ url: `${base}/v1/logs`, resource }),
      layerTracer(share, { url: `${base}/v1/traces`, resource })
    ).pipe(
      Layer.provide([
        protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf,
        OtlpExporter.layerFlusher,
        layerCollector(endpoint.origin)
      ]),
      Layer.merge(layerRedacted)
    )
  })
)

/** Logs and telemetry; the exporter of logs is added to the loggers that exist. */
export const layerObservability = layerTelemetry.pipe(Layer.provideMerge(layerLogs), Layer.provideMerge(layerLogFile))
