import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Console, Effect, Exit, Layer } from "effect"
import { startFailure } from "./StartError.ts"

/**
 * Runs the service until SIGTERM or SIGINT, and exits with 0 then; with 1 if it fails to start or fails later; `report`
 * gets the reason in one line.
 */
export const run = <E>(
  service: Layer.Layer<never, E>,
  report: (line: string) => Effect.Effect<void> = Console.error
): void =>
  Layer.launch(service).pipe(
    Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : report(startFailure(cause)))),
    NodeRuntime.runMain({
      disableErrorReporting: true,
      teardown: (exit, end) => end(Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? 1 : 0)
    })
  )
