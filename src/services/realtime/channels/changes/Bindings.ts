import { type ChangesRequest } from "../../../../domain/realtime/channels/Frames.ts"

/** A channel's request for changes of one table or several. */
export interface ChangeBinding {
  /** The number by which the client finds the request of an event. */
  readonly id: number
  /** The request as the client sent it. */
  readonly request: ChangesRequest
}

let last = 0

/** Numbers the requests of a channel. */
export const bindingsOf = (requests: ReadonlyArray<ChangesRequest>): ReadonlyArray<ChangeBinding> =>
  requests.map((request) => ({ id: (last = (last % 2_000_000_000) + 1), request }))
