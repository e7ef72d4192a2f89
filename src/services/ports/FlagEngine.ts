import { Context, type Effect } from "effect"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { type BadGateway, type GatewayTimeout } from "../../domain/errors.ts"
import { type FlagContext, type FlagResult } from "../../domain/flags/Evaluation.ts"

export interface FlagEngineStatus {
  readonly engine: "embedded" | "flagd"
  /** Address of flagd; null for the embedded engine. */
  readonly address: string | null
  /** Whether the engine answers, checked for this status. */
  readonly connected: boolean
  /** Why the engine does not answer, or that it lacks changes that are stored. */
  readonly error: string | null
}

/**
 * Port: evaluates flags. Layers: layers/flags/engine/Embedded.ts, in this process, and layers/flags/engine/Flagd.ts, a
 * flagd that gets its flags from the sync port.
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
     * Waits until the engine evaluates those environments at that revision or later. False after a time limit: the
     * change is stored, and the engine gets it later.
     */
    readonly synced: (environments: ReadonlyArray<FlagEnvironment>, revision: number) => Effect.Effect<boolean>
    readonly status: Effect.Effect<FlagEngineStatus>
    /** Whether it is another server. */
    readonly external: boolean
    /** Whether the engine is known not to evaluate, or to evaluate outdated rules. Asks nobody. */
    readonly degraded: () => boolean
  }
>()("svc/services/FlagEngine") {}
