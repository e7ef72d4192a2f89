import { Context, Deferred, Effect, Layer } from "effect"
import { type FunctionInvoker } from "./FunctionInvoker.ts"

type Invoke = FunctionInvoker["Service"]["invoke"]

/**
 * Calls of functions for what is built before them: accounts, whose hooks functions may be, while functions need API keys.
 * Both provide this layer themselves, which is built once. A call waits until the functions are there, which in a command is
 * never.
 */
export class LateFunctionInvoker extends Context.Service<
  LateFunctionInvoker,
  {
    readonly invoke: Invoke
    readonly bind: (invoke: Invoke) => Effect.Effect<void>
  }
>()("svc/services/LateFunctionInvoker") {
  static readonly layer = Layer.effect(
    LateFunctionInvoker,
    Effect.map(Deferred.make<Invoke>(), (bound) =>
      LateFunctionInvoker.of({
        invoke: (name, request) => Effect.flatMap(Deferred.await(bound), (invoke) => invoke(name, request)),
        bind: (invoke) => Effect.asVoid(Deferred.succeed(bound, invoke))
      })
    )
  )
}
