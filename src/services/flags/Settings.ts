import { Context, Effect, Layer } from "effect"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { type FlagHashing, flagHashings } from "../../domain/flags/logic/Scope.ts"
import { flag, integer, list, oneOf, SettingError, text } from "../../domain/Settings.ts"

/** FLAGS_* and SVC_FLAGS_*, read before anything starts (docs/configuration.md). */
export class FlagSettings extends Context.Service<
  FlagSettings,
  {
    /** Host of the flagd that evaluates; undefined: this process evaluates, and serves flagd's protocols itself. */
    readonly host: string | undefined
    /** Port of evaluation over gRPC, gRPC-Web and Connect, in this process or in flagd. 0, in this process only: any free port. */
    readonly port: number
    /** Port of OFREP, in this process or in flagd. */
    readonly httpPort: number
    /** Port of flag sync, always in this process. */
    readonly syncPort: number
    /** The default environment of requests. */
    readonly environment: FlagEnvironment
    /** The hash of `fractional` (domain/flags/logic/Fractional.ts). */
    readonly hashing: FlagHashing
    /** Whether this process evaluates while flagd is unreachable. */
    readonly fallback: boolean
    /** Origins whose pages may call the flag ports from a browser; `*`: all. */
    readonly corsOrigins: ReadonlyArray<string>
    /** Maximum number of event and sync streams of one connection and of one address. */
    readonly streams: { readonly connection: number; readonly address: number }
  }
>()("svc/services/FlagSettings") {
  static readonly layer = Layer.effect(
    FlagSettings,
    Effect.gen(function* () {
      const host = yield* text("FLAGS_HOST", undefined)
      if (host !== undefined && !isHost(host)) {
        return yield* wrong("FLAGS_HOST must be a host name or an address, without scheme, port or path", host)
      }
      // flagd uses the same ports, so 0 is invalid with it.
      const lowest = host === undefined ? 0 : 1
      const corsOrigins = yield* list("FLAGS_CORS_ORIGINS", [])
      const invalid = corsOrigins.find((origin) => origin !== "*" && !isOrigin(origin))
      if (invalid !== undefined) {
        return yield* wrong("FLAGS_CORS_ORIGINS must be origins such as https://app.example.com, or *", invalid)
      }
      return FlagSettings.of({
        host,
        port: yield* integer("FLAGS_PORT", 8013, lowest, 65_535),
        httpPort: yield* integer("FLAGS_HTTP_PORT", 8016, lowest, 65_535),
        syncPort: yield* integer("FLAGS_SYNC_PORT", 8015, 0, 65_535),
        environment: yield* oneOf<FlagEnvironment>("FLAGS_ENVIRONMENT", "production", flagEnvironments),
        hashing: yield* oneOf<FlagHashing>("SVC_FLAGS_HASHING", "v2", flagHashings),
        fallback: yield* flag("SVC_FLAGS_FALLBACK", false),
        corsOrigins,
        streams: { connection: 100, address: 1000 }
      })
    })
  )
}

const wrong = (rule: string, given: string) => new SettingError({ message: `${rule}, but it is "${given}"` })

const isHost = (text: string) => {
  const authority = text.includes(":") && !text.startsWith("[") ? `[${text}]` : text
  return !/[/?#@\\\s]/.test(text) && URL.canParse(`http://${authority}/`) && new URL(`http://${authority}/`).port === ""
}

/** An origin as browsers send it: scheme, host and port only. */
const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
