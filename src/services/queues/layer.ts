import { Layer } from "effect"
import { QueueMessages } from "./Messages.ts"
import { Queues } from "./Queues.ts"

/** Queues, and their messages. */
export const layer = Layer.mergeAll(Queues.layer, QueueMessages.layer)
