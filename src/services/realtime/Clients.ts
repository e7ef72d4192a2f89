import { type EventText, gapText } from "../../domain/realtime/Event.ts"
import { type Actor } from "../ports/Db.ts"
import { type Readers } from "./Access.ts"

/** A connected client. */
export interface RealtimeClient {
  readonly role: Actor["role"]
  /** Who it is, of whose connections there may be a limited number. */
  readonly client: string
  /** The last event the client has received; undefined: it starts with new events and gets no gaps. */
  readonly since: number | undefined
  /** Sends one JSON text. Must not wait or fail: the next client is served when it returns. */
  readonly send: (text: string) => void
}

/**
 * The clients of this process. Each text is sent to all of them in one loop, without a fiber or queue for each: with
 * hundreds of clients those would cost more than the sockets do. What a client does not read is buffered and counted by
 * its socket (layers/net/WebSockets.ts).
 */
export class RealtimeClients {
  private readonly all = new Set<RealtimeClient>()
  /** Clients from whom events were withheld that they may not have received, if another replica counted otherwise. */
  private readonly doubtful = new Set<RealtimeClient>()
  private limitedCount = 0
  /** Messages that were sent. */
  sent = 0
  private readonly open: boolean

  /** `open`: no client is limited. */
  constructor(open: boolean) {
    this.open = open
  }

  /** Whether some client may not receive every event. */
  get limited() {
    return this.limitedCount > 0
  }

  add(client: RealtimeClient) {
    this.all.add(client)
    if (this.isLimited(client)) this.limitedCount++
  }

  remove(client: RealtimeClient) {
    this.doubtful.delete(client)
    if (this.all.delete(client) && this.isLimited(client)) this.limitedCount--
  }

  isLimited({ role }: RealtimeClient) {
    return role !== "service_role" && !this.open
  }

  /** `readers` is undefined when no limited client was connected at the time of the look-up. */
  sendEvent({ id, text }: EventText, readers: Readers | undefined) {
    for (const client of this.all) {
      if (client.role !== "service_role" && !this.open && readers?.[client.role] !== true) continue
      const { since } = client
      if (since !== undefined && id <= since) {
        // It received this one at a replica that is ahead of this one.
        if (id === since) this.doubtful.delete(client)
        else this.doubtful.add(client)
        continue
      }
      if (since !== undefined && this.doubtful.size > 0 && this.doubtful.delete(client)) {
        // The last event that it received never came, so the replicas' ids differ.
        client.send(gapText(since, since))
        this.sent++
      }
      client.send(text)
      this.sent++
    }
  }

  sendGap(text: string) {
    for (const client of this.all) {
      if (client.since === undefined) continue
      client.send(text)
      this.sent++
    }
  }
}
