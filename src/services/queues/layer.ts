import { Layer } from "effect"
import { layerQueueConsumers } from "./Consumers.ts"
import { QueueMessages } from "./Messages.ts"
import { Queues } from "./Queues.ts"

/** Queues, their messages, and the functions that consume them. */
export const layer = layerQueueConsumers.pipe(Layer.provideMerge(Layer.mergeAll(Queues.layer, QueueMessages.layer)))
