import { Context, Effect, Layer } from "effect"
import { duration, flag, integer, list, SettingError, text } from "../../domain/Settings.ts"
import { ownUrl } from "../OwnUrl.ts"

/** A host as Deno's `--allow-net` takes it: a name or an IPv4 address, with or without a port. */
const host = /^(?:[A-Za-z0-9-]{1,63}\.)*[A-Za-z0-9-]{1,63}(?::\d{1,5})?$/

/** Settings of functions (docs/functions.md). */
export class FunctionSettings extends Context.Service<
  FunctionSettings,
  {
    /** The folder of functions that no API deploys; undefined: none. */
    readonly directory: string | undefined
    /** The program of Deno; undefined: that of the npm package. */
    readonly program: string | undefined
    /** The hosts that functions may connect to; `*`: the public Internet and private IPv6; undefined: the former, or an error in a network that has the latter. */
    readonly hosts: ReadonlyArray<string> | "*" | undefined
    /** MiB of resident memory of a process. */
    readonly memory: number
    /** How long a call may take, in ms. */
    readonly timeout: number
    /** How long a process may do nothing but compute, in ms. */
    readonly blocked: number
    /** How long a process waits for the next call, in ms. */
    readonly idle: number
    /** Calls of one function at a time. */
    readonly concurrency: number
    /** Processes at a time. */
    readonly processes: number
    readonly verifyJwt: boolean
    /** The URL of this service for functions. */
    readonly url: string
  }
>()("svc/services/FunctionSettings") {
  static readonly layer = Layer.effect(
    FunctionSettings,
    Effect.gen(function* () {
      const hosts = yield* list("SVC_FUNCTIONS_HOSTS", [])
      const all = hosts.length === 1 && hosts[0] === "*"
      const wrong = all ? undefined : hosts.find((one) => !host.test(one))
      if (wrong !== undefined) {
        return yield* new SettingError({
          message: `SVC_FUNCTIONS_HOSTS must be names of hosts separated by commas, such as api.example.com,smtp.example.com:587, or * alone; ${wrong} is not`
        })
      }
      return FunctionSettings.of({
        directory: yield* text("SVC_FUNCTIONS_DIR", undefined),
        program: yield* text("SVC_FUNCTIONS_DENO", undefined),
        hosts: hosts.length === 0 ? undefined : all ? "*" : hosts,
        memory: yield* integer("SVC_FUNCTIONS_MEMORY", 256, 64, 65_536),
        timeout: yield* duration("SVC_FUNCTIONS_TIMEOUT", 150_000),
        blocked: yield* duration("SVC_FUNCTIONS_BLOCKED", 10_000),
        idle: yield* duration("SVC_FUNCTIONS_IDLE", 60_000),
        concurrency: yield* integer("SVC_FUNCTIONS_CONCURRENCY", 64, 1, 10_000),
        processes: yield* integer("SVC_FUNCTIONS_PROCESSES", 32, 1, 1_000),
        verifyJwt: yield* flag("SVC_FUNCTIONS_VERIFY_JWT", true),
        url: yield* ownUrl
      })
    })
  )
}
