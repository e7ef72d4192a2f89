import { Effect, Layer } from "effect"
import { Channels } from "./channels/Channels.ts"
import { Realtime } from "./Realtime.ts"
import { RealtimeSubscriptions } from "./Subscriptions.ts"

/** Row changes as events, the tables they are published for, and channels. */
export const layer = Channels.layer.pipe(
  Layer.provideMerge(RealtimeSubscriptions.layer),
  Layer.provideMerge(Realtime.layer)
)

/** Closes the feed's connections when it ends. Built after the server, so that the server does not wait for them. */
export const layerShutdown = Layer.effectDiscard(
  Effect.flatMap(Realtime, ({ close }) => Effect.addFinalizer(() => close))
)
