import { type EventText } from "../../domain/realtime/Event.ts"
import { type Actor } from "../ports/Db.ts"
import { type Readers } from "./Access.ts"

/** Who listens, and from where on. */
export interface RealtimeClient {
  readonly role: Actor["role"]
  /** The last event this client knows; undefined: from now on, and nothing is said of gaps. */
  readonly since: number | undefined
  /** Takes one JSON text. It must not wait and not fail: the next client's turn comes when it returns. */
  readonly tell: (text: string) => void
}

/**
 * Those who are connected to this process. Everything is told to one after the other, at once, without a fiber or a
 * queue for each: with hundreds of clients these would cost more than the sockets do. What a client does not read
 * waits in its own socket (layers/WebSockets.ts), where it is counted.
 */
export class RealtimeClients {
  private readonly all = new Set<RealtimeClient>()
  private limitedOnes = 0
  private readonly open: boolean

  /** `open`: nobody is limited. */
  constructor(open: boolean) {
    this.open = open
  }

  get size() {
    return this.all.size
  }

  /** Whether there is anybody who is not told everything. */
  get limited() {
    return this.limitedOnes > 0
  }

  add(client: RealtimeClient) {
    this.all.add(client)
    if (this.isLimited(client)) this.limitedOnes++
  }

  remove(client: RealtimeClient) {
    if (this.all.delete(client) && this.isLimited(client)) this.limitedOnes--
  }

  isLimited({ role }: RealtimeClient) {
    return role !== "service_role" && !this.open
  }

  /** `readers` undefined: nobody limited was there when they would have been asked for. */
  tellEvent({ text }: EventText, readers: Readers | undefined) {
    for (const client of this.all) {
      if (client.role === "service_role" || this.open || readers?.[client.role] === true) client.tell(text)
    }
  }

  tellGap(text: string) {
    for (const client of this.all) if (client.since !== undefined) client.tell(text)
  }
}
