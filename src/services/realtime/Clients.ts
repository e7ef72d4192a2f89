import { type EventText, gapText } from "../../domain/realtime/Event.ts"
import { type Actor } from "../ports/Db.ts"
import { type Readers } from "./Access.ts"
import { readerKey } from "./Visible.ts"

/** A connected client. */
export interface RealtimeClient {
  readonly actor: Actor
  /** Who it is, of whose connections there may be a limited number. */
  readonly client: string
  /** The last event the client has received; undefined: it starts with new events and gets no gaps. */
  readonly since: number | undefined
  /** Sends one JSON text. Must not wait or fail: the next client is served when it returns. */
  readonly send: (text: string) => void
}

/** Clients with the same claims, which may read the same rows, and the newest event when each connected. */
interface JudgedClients {
  readonly actor: Actor
  readonly clients: Map<RealtimeClient, number>
}

/**
 * The clients of this process. Each text is sent to all of them in one loop, without a fiber or queue for each: with
 * hundreds of clients those would cost more than the sockets do. What a client does not read is buffered and counted by
 * its socket (layers/net/WebSockets.ts).
 */
export class RealtimeClients {
  private readonly all = new Set<RealtimeClient>()
  private readonly byClaims = new Map<string, JudgedClients>()
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

  /** Clients whose events policies may decide, by `readerKey`. */
  get judged(): ReadonlyMap<string, JudgedClients> {
    return this.byClaims
  }

  /** `newest`: the id of the last event, which the client does not receive. */
  add(client: RealtimeClient, newest: number) {
    if (this.isLimited(client)) this.limitedCount++
    if (!this.isJudged(client)) {
      this.all.add(client)
      return
    }
    const key = readerKey(client.actor)
    const same = this.byClaims.get(key) ?? { actor: client.actor, clients: new Map<RealtimeClient, number>() }
    same.clients.set(client, newest)
    this.byClaims.set(key, same)
  }

  remove(client: RealtimeClient) {
    this.doubtful.delete(client)
    const key = readerKey(client.actor)
    const same = this.byClaims.get(key)
    const removed = this.all.delete(client) || same?.clients.delete(client) === true
    if (same?.clients.size === 0) this.byClaims.delete(key)
    if (removed && this.isLimited(client)) this.limitedCount--
  }

  isLimited({ actor: { role } }: RealtimeClient) {
    return role !== "service_role" && !this.open
  }

  /** Whether policies decide what it receives of tables with row-level security: it has a JWT. */
  isJudged(client: RealtimeClient) {
    return this.isLimited(client) && client.actor.role === "authenticated" && client.actor.claims !== ""
  }

  /** To all but those of `judged`. `readers` is undefined when no limited client was connected at the time of the look-up. */
  sendEvent({ id, text }: EventText, readers: Readers | undefined) {
    for (const client of this.all) {
      const { role } = client.actor
      if (role === "service_role" || this.open || readers?.[role] === true) this.pass(client, id, text)
    }
  }

  /** To those of `judged` who have the same claims, and were connected when the event came. */
  sendJudged(key: string, id: number, text: string) {
    for (const [client, newest] of this.byClaims.get(key)?.clients ?? []) {
      if (newest < id) this.pass(client, id, text)
    }
  }

  private pass(client: RealtimeClient, id: number, text: string) {
    const { since } = client
    if (since !== undefined && id <= since) {
      // It received this one at a replica that is ahead of this one.
      if (id === since) this.doubtful.delete(client)
      else this.doubtful.add(client)
      return
    }
    if (since !== undefined && this.doubtful.size > 0 && this.doubtful.delete(client)) {
      // The last event that it received never came, so the replicas' ids differ.
      this.write(client, gapText(since, since))
    }
    this.write(client, text)
  }

  private write(client: RealtimeClient, text: string) {
    client.send(text)
    this.sent++
  }

  sendGap(text: string) {
    for (const client of this.all) if (client.since !== undefined) this.write(client, text)
    for (const key of this.byClaims.keys()) this.sendGapTo(key, text)
  }

  /** To those of `judged` who have the same claims. */
  sendGapTo(key: string, text: string) {
    for (const client of this.byClaims.get(key)?.clients.keys() ?? []) {
      if (client.since !== undefined) this.write(client, text)
    }
  }
}
