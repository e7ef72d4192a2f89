import { type EventText, gapText } from "../../domain/realtime/Event.ts"
import { type Actor } from "../ports/Db.ts"
import { type Readers } from "./Access.ts"
import { readerKey } from "./Visible.ts"

/** A connected client. */
export interface RealtimeClient {
  readonly actor: Actor
  /** The key by which the number of a client's connections is limited. */
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
  /** Those that are not judged, and the newest event when each connected. */
  private readonly all = new Map<RealtimeClient, number>()
  private readonly byClaims = new Map<string, JudgedClients>()
  /**
   * Clients that received a later event at another replica than this one has. What comes up to it is withheld, because
   * they have received it too, unless the other replica counted otherwise. True: something was withheld.
   */
  private readonly ahead = new Map<RealtimeClient, boolean>()
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
    if (client.since !== undefined && client.since > newest) this.ahead.set(client, false)
    if (!this.isJudged(client)) {
      this.all.set(client, newest)
      return
    }
    const key = readerKey(client.actor)
    const same = this.byClaims.get(key) ?? { actor: client.actor, clients: new Map<RealtimeClient, number>() }
    same.clients.set(client, newest)
    this.byClaims.set(key, same)
  }

  remove(client: RealtimeClient) {
    this.ahead.delete(client)
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

  /**
   * Sends an event to all but those of `judged`. `readers` is undefined when no limited client was connected at the
   * time of the look-up.
   */
  sendEvent({ id, text }: EventText, readers: Readers | undefined) {
    for (const [client, newest] of this.all) {
      if (newest >= id) continue
      const { role } = client.actor
      if (role === "service_role" || this.open || readers?.[role] === true) this.pass(client, id, text)
      else if (readers?.known === false && client.since !== undefined) this.pass(client, id, gapText(id - 1, id))
    }
  }

  /** Sends an event to those of `judged` who have the same claims, and were connected when it came. */
  sendJudged(key: string, id: number, text: string) {
    for (const [client, newest] of this.byClaims.get(key)?.clients ?? []) {
      if (newest < id) this.pass(client, id, text)
    }
  }

  private pass(client: RealtimeClient, id: number, text: string) {
    if (this.ahead.size > 0 && this.isWithheld(client, id)) return
    this.write(client, text)
  }

  private isWithheld(client: RealtimeClient, id: number): boolean {
    const { since = 0 } = client
    if (!this.ahead.has(client)) return false
    if (id > since) this.catchUp(client, since)
    else if (id === since) this.ahead.delete(client)
    else this.ahead.set(client, true)
    return id <= since
  }

  isAhead(client: RealtimeClient) {
    return this.ahead.has(client)
  }

  /**
   * Withholds nothing from now on. If something was, the last event that the client received has not come, so the
   * replicas count differently, and it is sent a gap up to `newest`.
   */
  catchUp(client: RealtimeClient, newest: number) {
    const { since = 0 } = client
    if (this.ahead.get(client) === true) this.write(client, gapText(since, newest))
    this.ahead.delete(client)
  }

  private write(client: RealtimeClient, text: string) {
    client.send(text)
    this.sent++
  }

  /** `id`: the one up to which events may be missing. */
  sendGap(id: number, text: string) {
    for (const [client, newest] of this.all) if (newest < id && client.since !== undefined) this.write(client, text)
    for (const key of this.byClaims.keys()) this.sendGapTo(key, text, id)
  }

  /** Sends a gap to those of `judged` who have the same claims. */
  sendGapTo(key: string, text: string, id = Number.POSITIVE_INFINITY) {
    for (const [client, newest] of this.byClaims.get(key)?.clients ?? []) {
      if (newest < id && client.since !== undefined) this.write(client, text)
    }
  }
}
