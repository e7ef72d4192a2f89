import { type HandlerContext, createContextKey } from "@connectrpc/connect"
import { loopTurn } from "../../../services/LoopTurn.ts"
import { type NodeRequest, peerAddress } from "./Port.ts"

/** Calls of one address that are started together. */
const together = 8

/**
 * HTTP/2 brings hundreds of calls in one turn of the event loop. After the first few of an address, each has a turn of its
 * own, so that other clients are served in between.
 */
export class Crowd {
  /** The calls of each address since the event loop last turned. */
  readonly #arrived = new Map<string, number>()

  async turn(address: string): Promise<void> {
    if (this.#arrived.size === 0) setImmediate(() => this.#arrived.clear())
    const arrived = (this.#arrived.get(address) ?? 0) + 1
    this.#arrived.set(address, arrived)
    if (arrived > together) await loopTurn(address)
  }
}

/** The client of a call. */
export interface Peer {
  readonly address: string
  /** Equal for the calls of one connection. */
  readonly connection: object
}

export const peerKey = createContextKey<Peer>({ address: "", connection: {} })

export const peerOf = (request: NodeRequest): Peer => ({
  address: peerAddress(request),
  connection: ("stream" in request ? request.stream.session : undefined) ?? request.socket
})

/** The fields of a call that streams need. */
export type CallContext = Pick<HandlerContext, "requestHeader" | "signal" | "values">

export const peerIn = ({ values }: CallContext) => values.get(peerKey)
