import { IncomingMessage } from "node:http"

/** A request as the listener receives it, with what its connection must know of how it is served. */
export class IncomingRequest extends IncomingMessage {
  /** The client to which the memory of a large response belongs, once it is known. */
  client: string | undefined
  /** Whether it may take longer than Node allows: its body is not kept in memory, and its sender is disconnected when nothing arrives. */
  unhurried = false
}
