import { assert, it } from "@effect/vitest"
import { ConfigProvider, Console, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { layerObservability } from "../../../src/layers/logs/Logs.ts"

/** A collector of telemetry on loopback; `status` may be changed at any time. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const state = { url: "", status: 200, paths: new Array<string>(), bodies: "" }
    const server = createServer((request, response) => {
      state.paths.push(request.url ?? "")
      request.setEncoding("utf8").on("data", (text: string) => (state.bodies += text))
      request.once("end", () => response.writeHead(state.status).end("{}"))
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/otlp/`
    return { server, state }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
).pipe(Effect.map(({ state }) => state))

/** Seconds of the test's clock, in each of which the exporter has time for a request. */
const seconds = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () =>
      Effect.andThen(
        TestClock.adjust("1 second"),
        Effect.promise(() => sleep(15))
      ),
    { discard: true }
  )

it.effect("a collector that fails is one warning, and exports go on within about a minute after it is back", () =>
  Effect.gen(function* () {
    const state = yield* collector
    const lines: Array<string> = []
    const write = (text: unknown) => void lines.push(String(text))
    const console_: Console.Console = { ...console, log: write }
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: state.url, LOG_LEVEL: "Info" }
    yield* Effect.gen(function* () {
      yield* Effect.logInfo("the first line")
      yield* Effect.withSpan(Effect.void, "a span")
      yield* seconds(6)
      assert.include(state.bodies, "the first line")
      assert.include(state.bodies, "a span")
      assert.sameMembers([...new Set(state.paths)], ["/otlp/v1/logs", "/otlp/v1/traces"])

      state.status = 503
      yield* Effect.logInfo("a lost line")
      yield* Effect.withSpan(Effect.void, "a lost span")
      yield* seconds(12)
      const failed = () => lines.filter((line) => line.includes("Failed to export"))
      assert.lengthOf(failed(), 1)
      assert.match(failed()[0] ?? "", /it answered with 503/)

      state.status = 200
      yield* seconds(70)
      yield* Effect.logInfo("a later line")
      yield* seconds(5)
      assert.include(state.bodies, "a later line")
      assert.lengthOf(failed(), 1)
      assert.lengthOf(
        lines.filter((line) => /Exporting .* again/.test(line)),
        1
      )
      for (const line of lines) assert.doesNotThrow(() => JSON.parse(line) as unknown, line)
    }).pipe(
      Effect.provide(Layer.provide(layerObservability, ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))),
      Effect.provideService(Console.Console, console_)
    )
  }).pipe(Effect.scoped)
)
