/** Limits on what a client of a WebSocket may send. */
export interface Inbound {
  /** The largest message, in bytes. */
  readonly bytes: number
  /** Messages within so many ms. */
  readonly messages: number
  readonly millis: number
}

const byConnection = new WeakMap<object, Inbound>()

/** Lets the WebSocket that a connection becomes receive messages; those of all others are dropped. */
export const receive = (connection: object, inbound: Inbound): void => void byConnection.set(connection, inbound)

export const inboundOf = (connection: object): Inbound | undefined => byConnection.get(connection)
