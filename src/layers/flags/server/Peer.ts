import { createContextKey, type HandlerContext } from "@connectrpc/connect"
import { peerAddress, type NodeRequest } from "./Port.ts"

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
