import { Effect, Layer } from "effect"
import { Realtime } from "./Realtime.ts"
import { RealtimeSubscriptions } from "./Subscriptions.ts"

/** Row changes as events, and the tables they are published for. */
export const layer = RealtimeSubscriptions.layer.pipe(Layer.provideMerge(Realtime.layer))

/** Closes the feed's connections when it ends. Built after the server, so that the server does not wait for them. */
export const layerShutdown = Layer.effectDiscard(
  Effect.flatMap(Realtime, ({ close }) => Effect.addFinalizer(() => close))
)
