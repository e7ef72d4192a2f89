import { Context, type Effect } from "effect"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { type BadGateway, type GatewayTimeout } from "../../domain/errors.ts"
import { type FlagContext, type FlagResult } from "../../domain/flags/Evaluation.ts"

export interface FlagEngineStatus {
  readonly engine: "embedded" | "flagd"
  /** Where flagd is; null for the embedded engine. */
  readonly address: string | null
  /** Whether it answers, asked for the purpose. */
  readonly connected: boolean
  /** Why it does not, or that it has not all flags as they are stored. */
  readonly error: string | null
}

/**
 * Port: what evaluates flags. Real layers: layers/FlagEngineEmbedded.ts, in this process, and
 * layers/FlagEngineFlagd.ts, a flagd that is fed from our sync endpoint.
 */
export class FlagEngine extends Context.Service<
  FlagEngine,
  {
    readonly evaluate: (
      environment: FlagEnvironment,
      key: string,
      context: FlagContext
    ) => Effect.Effect<FlagResult, BadGateway | GatewayTimeout>
    /** All flags of the environment, disabled ones included. */
    readonly evaluateAll: (
      environment: FlagEnvironment,
      context: FlagContext
    ) => Effect.Effect<ReadonlyArray<FlagResult>, BadGateway | GatewayTimeout>
    /**
     * Waits, a bounded time, until the engine answers from at least that revision of the environments named. False
     * when it does not by then: the change is stored, and the engine will have it later.
     */
    readonly synced: (environments: ReadonlyArray<FlagEnvironment>, revision: number) => Effect.Effect<boolean>
    readonly status: Effect.Effect<FlagEngineStatus>
  }
>()("svc/services/FlagEngine") {}
