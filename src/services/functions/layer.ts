import { Effect, Layer } from "effect"
import { FunctionCalls, layerFunctionInvoker } from "./Calls.ts"
import { FunctionDeployments } from "./Deployments.ts"
import { FunctionLogs } from "./Logs.ts"
import { FunctionSecrets } from "./Secrets.ts"
import { FunctionSettings } from "./Settings.ts"

/** Builds the functions of SVC_FUNCTIONS_DIR at the start. */
const layerPrepared = Layer.effectDiscard(Effect.flatMap(FunctionCalls, ({ prepare }) => Effect.forkScoped(prepare)))

/** Functions, their calls, and the port by which other parts of the service call them. */
export const layer = Layer.mergeAll(layerFunctionInvoker, layerPrepared).pipe(
  Layer.provideMerge(FunctionCalls.layer),
  Layer.provideMerge(Layer.mergeAll(FunctionDeployments.layer, FunctionSecrets.layer, FunctionLogs.layer)),
  Layer.provide(FunctionSettings.layer)
)
