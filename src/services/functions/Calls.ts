import { Clock, Context, Effect, Layer, type Scope, Stream } from "effect"
import { createHash } from "node:crypto"
import { Readable } from "node:stream"
import { BadGateway, NotFound, PayloadTooLarge, type Unavailable } from "../../domain/errors.ts"
import { type FunctionOverview, isFunctionName } from "../../domain/functions/Function.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { makeNotifiedCache } from "../NotifiedCache.ts"
import { FunctionEngine } from "../ports/functions/FunctionEngine.ts"
import { LateFunctionInvoker } from "../ports/functions/LateFunctionInvoker.ts"
import { FunctionFolder } from "../ports/functions/FunctionFolder.ts"
import { type FunctionFailure, FunctionInvoker, type FunctionRequest } from "../ports/functions/FunctionInvoker.ts"
import { type FunctionReply, type PassedOnCall } from "../ports/supabase/FunctionServer.ts"
import { inCall } from "../Tracing.ts"
import { serviceActor, type Actor } from "../ports/Db.ts"
import { makeActivity, overviewOf } from "./Activity.ts"
import { FunctionDeployments } from "./Deployments.ts"
import { FunctionLogs } from "./Logs.ts"
import { FunctionSecrets } from "./Secrets.ts"
import { FunctionSettings } from "./Settings.ts"
import { makeProcesses, type CallableVersion } from "./Processes.ts"

/** Bytes of a response to a caller within the service. */
const maxInvoked = 1024 * 1024
/** How often the folder is looked at while its functions are called, in ms. */
const lookEvery = 1_000

const notFound = (name: string) =>
  new NotFound({ error: `Function ${name} does not exist`, code: "FUNCTION_NOT_FOUND" })

/** What the service has verified about the caller, as headers for the function. */
export const callerHeaders = ({ claims, role, sub }: Actor): Readonly<Record<string, string>> => ({
  "x-svc-role": role,
  ...(sub === "" ? {} : { "x-svc-user": encodeURIComponent(sub) }),
  ...(claims === "" ? {} : { "x-svc-claims": encodeURIComponent(claims) })
})

/** Calls of functions: those that were deployed, and those of SVC_FUNCTIONS_DIR. */
export class FunctionCalls extends Context.Service<
  FunctionCalls,
  {
    /** Whether a call needs an API key or a JWT. */
    readonly verifiesJwt: (name: string) => Effect.Effect<boolean, FunctionFailure>
    /** Passes a request on, until the scope closes. `path`: what follows the name. */
    readonly call: (name: string, call: PassedOnCall) => Effect.Effect<FunctionReply, FunctionFailure, Scope.Scope>
    /** All functions that can be called, by name. */
    readonly overview: Effect.Effect<ReadonlyArray<FunctionOverview>, Unavailable>
    /** Builds what is in the folder, so that no call waits for it. */
    readonly prepare: Effect.Effect<void>
  }
>()("svc/services/FunctionCalls") {
  static readonly layer = Layer.effect(
    FunctionCalls,
    Effect.gen(function* () {
      const settings = yield* FunctionSettings
      const functions = yield* FunctionDeployments
      const secrets = yield* FunctionSecrets
      const folder = yield* FunctionFolder
      const engine = yield* FunctionEngine
      const logs = yield* FunctionLogs
      const clock = yield* Clock.Clock
      const meters = yield* CurrentMeters
      const processes = yield* makeProcesses(engine, settings, logs)

      /** Grows with every change of the folder. */
      let stamp = ""
      let lookedAt = -lookEvery
      const built = new Map<string, CallableVersion>()
      let seen = 0
      const look = Effect.gen(function* () {
        const changes = functions.changes() + secrets.changes()
        if (changes !== seen) {
          seen = changes
          built.clear()
          cache.invalidateAll()
        }
        const now = clock.currentTimeMillisUnsafe()
        if (settings.directory === undefined || now - lookedAt < lookEvery) return
        lookedAt = now
        const current = yield* folder.stamp
        if (current === stamp) return
        stamp = current
        built.clear()
        cache.invalidateAll()
      })

      const ofFolder = Effect.fnUntraced(function* (name: string) {
        const files = yield* folder.files(name)
        if (files === undefined) return yield* notFound(name)
        const content = createHash("sha256").update(JSON.stringify(files)).digest("hex")
        const known = built.get(name)
        if (known?.content === content) return known
        const entrypoint = `${name}/index.ts`
        const bytes = yield* engine
          .build(files, entrypoint)
          .pipe(
            Effect.catchTag("Unprocessable", ({ details, error }) =>
              Effect.andThen(
                Effect.logError(`${error}: ${JSON.stringify(details)}`),
                Effect.fail(new BadGateway({ error, code: "FUNCTION_FAILED" }))
              )
            )
          )
        const version: CallableVersion = {
          name,
          version: 0,
          content,
          digest: createHash("sha256").update(bytes).digest("hex"),
          entrypoint,
          verifyJwt: settings.verifyJwt,
          bundle: Effect.succeed(bytes),
          env: yield* secrets.environment(name, 0)
        }
        built.set(name, version)
        return version
      })

      const load = Effect.fnUntraced(function* (name: string) {
        const deployed = yield* Effect.catchTag(functions.find(name), "NotFound", () => Effect.undefined)
        if (deployed === undefined) return yield* ofFolder(name)
        const { digest, entrypoint, verify_jwt, version } = deployed
        return {
          name,
          version,
          content: digest,
          digest,
          entrypoint,
          verifyJwt: verify_jwt ?? settings.verifyJwt,
          bundle: functions.bundle(digest),
          env: yield* secrets.environment(name, version)
        } satisfies CallableVersion
      })

      const cache = yield* makeNotifiedCache({
        channel: "svc_functions",
        key: (name: string) => name,
        load,
        onInvalidated: () =>
          Effect.sync(() => {
            // Secrets may have changed.
            built.clear()
            cache.invalidateAll()
          })
      })

      const find = (name: string): Effect.Effect<CallableVersion, FunctionFailure> =>
        isFunctionName(name)
          ? Effect.andThen(
              look,
              Effect.suspend(() => {
                const known = cache.peek(name)
                return known === undefined ? cache.load(name) : Effect.succeed(known)
              })
            )
          : Effect.fail(notFound(name))

      const durations = meters.histogram("svc_function_duration_seconds", {})
      const activity = yield* makeActivity(processes.stateOf)
      yield* meters.sample(processes.samples)

      const call = (name: string, given: PassedOnCall) => {
        const begun = clock.monotonicTimeNanosUnsafe()
        const passed = Effect.flatMap(find(name), (version) =>
          inCall(
            {
              name: "function.call",
              kind: "client",
              attributes: { "http.request.method": given.method, "faas.name": name }
            },
            (trace) =>
              processes.call(version, {
                ...given,
                path: `/${name}${given.path}`,
                headers: { ...given.headers, ...trace }
              }),
            ({ status }) => status
          )
        )
        return Effect.onExit(passed, (exit) =>
          Effect.sync(() => {
            durations(Number(clock.monotonicTimeNanosUnsafe() - begun) / 1e9)
            // Names of functions that do not exist are the callers'.
            if (processes.has(name)) activity.count(name, exit)
          })
        )
      }

      const prepare = Effect.gen(function* () {
        for (const name of yield* folder.names) {
          yield* Effect.catch(find(name), ({ error }) =>
            Effect.logWarning(`The function ${name} is not ready: ${error}`)
          )
        }
      })

      const overview = Effect.gen(function* () {
        return overviewOf(yield* functions.list, yield* folder.names, yield* activity.everywhere)
      })

      return FunctionCalls.of({
        overview,
        verifiesJwt: (name) => Effect.map(find(name), ({ verifyJwt }) => verifyJwt),
        call,
        prepare
      })
    })
  )
}

const tooLarge = new PayloadTooLarge({ error: "The response of the function exceeds 1 MiB" })
const broken = new BadGateway({ error: "The function ended before its response was complete", code: "FUNCTION_FAILED" })

/** Calls from within the service. */
export const layerFunctionInvoker = Layer.effect(
  FunctionInvoker,
  Effect.gen(function* () {
    const { call } = yield* FunctionCalls
    const invoke = Effect.fn("FunctionInvoker.invoke")(function* (name: string, request: FunctionRequest) {
      const { actor = serviceActor, body, headers = {}, method = "POST", path = "" } = request
      const bytes = body === undefined ? undefined : Buffer.from(body)
      const reply = yield* call(name, {
        method,
        path,
        headers: {
          ...headers,
          ...callerHeaders(actor),
          ...(bytes === undefined ? {} : { "content-length": String(bytes.length) })
        },
        body: bytes === undefined ? undefined : Readable.from([bytes])
      })
      const chunks: Array<Uint8Array> = []
      let size = 0
      yield* Stream.runForEach(
        Stream.mapError(reply.body, () => broken),
        (chunk) => {
          size += chunk.length
          chunks.push(chunk)
          return size > maxInvoked ? Effect.fail(tooLarge) : Effect.void
        }
      )
      return { status: reply.status, headers: reply.headers, body: Buffer.concat(chunks) }
    }, Effect.scoped)
    yield* (yield* LateFunctionInvoker).bind(invoke)
    return FunctionInvoker.of({ invoke })
  })
).pipe(Layer.provide(LateFunctionInvoker.layer))
