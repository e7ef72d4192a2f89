import { ConfigProvider, Effect, Layer, Stream } from "effect"
import { Readable } from "node:stream"
import { layerFunctionEngine } from "../../../src/layers/functions/Engine.ts"
import { FunctionSettings } from "../../../src/services/functions/Settings.ts"
import {
  FunctionEngine,
  type FunctionProcess,
  type PrintedLine
} from "../../../src/services/ports/functions/FunctionEngine.ts"
import { type SourceFiles } from "../../../src/domain/functions/Function.ts"

export const layerDeno = (settings: Readonly<Record<string, string>> = {}) =>
  Layer.fresh(layerFunctionEngine).pipe(
    Layer.provide(Layer.fresh(FunctionSettings.layer)),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord({ SVC_FUNCTIONS_HOSTS: "*", ...settings })))
  )

let digests = 0

/** Builds files and starts a process of them. */
export const started = Effect.fnUntraced(function* (
  files: SourceFiles,
  {
    entrypoint = "index.ts",
    env = {}
  }: { readonly entrypoint?: string; readonly env?: Readonly<Record<string, string>> } = {}
) {
  const engine = yield* FunctionEngine
  const bundle = yield* engine.build(files, entrypoint)
  const digest = `test${++digests}`
  const lines: Array<PrintedLine> = []
  const process = yield* engine.start({
    digest,
    entrypoint,
    bundle: Effect.succeed(bundle),
    env,
    printed: (line) => void lines.push(line)
  })
  return { process, lines, bundle, digest }
})

/** The status and the text of one call. */
export const called = (
  process: FunctionProcess,
  {
    body,
    headers = {},
    method = "GET",
    path = "/f"
  }: {
    readonly body?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly method?: string
    readonly path?: string
  } = {}
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const reply = yield* process.call({
        method,
        path,
        headers,
        body: body === undefined ? undefined : Readable.from([Buffer.from(body)])
      })
      const text = yield* Stream.mkString(Stream.decodeText(reply.body))
      return { status: reply.status, headers: reply.headers, text }
    })
  )
