import { Context, Effect, Layer } from "effect"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { type FlagHashing, flagHashings } from "../../domain/flags/logic/Scope.ts"
import { flag, integer, list, oneOf, SettingError, text } from "../../domain/Settings.ts"

/** FLAGS_* and SVC_FLAGS_*, read before anything is started (docs/configuration.md). */
export class FlagSettings extends Context.Service<
  FlagSettings,
  {
    /** Where a flagd is that evaluates for us; undefined: this process evaluates, and serves flagd's protocols itself. */
    readonly host: string | undefined
    /** Evaluation over gRPC, gRPC-Web and Connect: ours, or flagd's. 0, ours only: any free port. */
    readonly port: number
    /** OFREP: ours, or flagd's. */
    readonly httpPort: number
    /** Flag sync, always ours. */
    readonly syncPort: number
    /** Meant when a request names none. */
    readonly environment: FlagEnvironment
    /** How `fractional` hashes (domain/flags/logic/Fractional.ts). */
    readonly hashing: FlagHashing
    /** Evaluate here while flagd does not answer. */
    readonly fallback: boolean
    /** Pages that may call the flag ports from a browser, as origins; `*`: all. */
    readonly corsOrigins: ReadonlyArray<string>
  }
>()("svc/services/FlagSettings") {
  static readonly layer = Layer.effect(
    FlagSettings,
    Effect.gen(function* () {
      const host = yield* text("FLAGS_HOST", undefined)
      if (host !== undefined && !isHost(host)) {
        return yield* wrong("FLAGS_HOST must be a host name or an address, without scheme, port or path", host)
      }
      // A port of flagd's can't be any free one.
      const lowest = host === undefined ? 0 : 1
      const corsOrigins = yield* list("FLAGS_CORS_ORIGINS", [])
      const odd = corsOrigins.find((origin) => origin !== "*" && !isOrigin(origin))
      if (odd !== undefined) {
        return yield* wrong("FLAGS_CORS_ORIGINS must be origins such as https://app.example.com, or *", odd)
      }
      return FlagSettings.of({
        host,
        port: yield* integer("FLAGS_PORT", 8013, lowest, 65_535),
        httpPort: yield* integer("FLAGS_HTTP_PORT", 8016, lowest, 65_535),
        syncPort: yield* integer("FLAGS_SYNC_PORT", 8015, 0, 65_535),
        environment: yield* oneOf<FlagEnvironment>("FLAGS_ENVIRONMENT", "production", flagEnvironments),
        hashing: yield* oneOf<FlagHashing>("SVC_FLAGS_HASHING", "v2", flagHashings),
        fallback: yield* flag("SVC_FLAGS_FALLBACK", false),
        corsOrigins
      })
    })
  )
}

const wrong = (may: string, given: string) => new SettingError({ message: `${may}, but it is "${given}"` })

const isHost = (text: string) => {
  const authority = text.includes(":") && !text.startsWith("[") ? `[${text}]` : text
  return !/[/?#@\\\s]/.test(text) && URL.canParse(`http://${authority}/`) && new URL(`http://${authority}/`).port === ""
}

/** As a browser sends it: scheme, host and port, nothing behind them. */
const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
