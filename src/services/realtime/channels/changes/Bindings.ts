import { type ChangesRequest } from "../../../../domain/realtime/channels/Join.ts"

/** What a channel hears of one table, or of several. */
export interface ChangeBinding {
  /** By which the client finds what an event is for. */
  readonly id: number
  /** As the client has sent it. */
  readonly request: ChangesRequest
}

let last = 0

/** Numbers the requests of a channel. */
export const bindingsOf = (requests: ReadonlyArray<ChangesRequest>): ReadonlyArray<ChangeBinding> =>
  requests.map((request) => ({ id: (last = (last % 2_000_000_000) + 1), request }))
