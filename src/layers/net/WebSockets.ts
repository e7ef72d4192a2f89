import * as NodeWS from "@effect/platform-node/NodeWS"

/** What a client's socket buffers, in bytes; what more there is waits here, as texts that all clients share. */
const outboundLimit = 1024 * 1024
/** How much may wait for one client, in characters, and for how long; beyond either it is too slow. */
const waitingLimit = 16 * 1024 * 1024
const waitingMillis = 2_000
/** The largest frame a client may send, in bytes; nothing it says is needed. */
const inboundLimit = 64 * 1024
const pingMillis = 30_000
/** How long the other side may take to answer a close. */
const closeMillis = 2_000

/**
 * A server's WebSocket that looks after itself: pings every 30 s and goes after two that were not answered, closes
 * with 1013 when its client does not read what it is sent, and does not wait long for a close to be answered. Never
 * makes the sender wait.
 *
 * Many events at once are more than a socket takes in one turn of the event loop, however fast its client is: what is
 * over its 1 MiB gets two seconds to be read.
 */
class GuardedSocket extends NodeWS.WebSocket {
  private unanswered = 0
  /** Not handed to the socket yet: from `next` on. */
  private waiting: Array<string> = []
  private next = 0
  private size = 0
  private patience: NodeJS.Timeout | undefined

  /** Called by the server alone, as `ws` wants it. */
  constructor(...args: ReadonlyArray<unknown>) {
    super(...(args as unknown as [null]))
    const timer = setInterval(() => this.beat(), pingMillis)
    this.on("pong", () => (this.unanswered = 0))
    this.once("close", () => {
      clearInterval(timer)
      this.forget()
    })
    // A frame that comes with the handshake may be a bad one, before anybody else listens.
    this.on("error", () => undefined)
  }

  private beat() {
    if (this.unanswered >= 2) {
      this.terminate()
      return
    }
    this.unanswered++
    if (this.readyState === this.OPEN) this.ping()
  }

  override send(data: Parameters<NodeWS.WebSocket["send"]>[0]) {
    if (this.readyState !== this.OPEN) return
    if (typeof data !== "string" || (this.size === 0 && this.bufferedAmount <= outboundLimit)) {
      // Without a callback it is quicker; none is needed while the socket is far from its limit.
      if (this.bufferedAmount <= outboundLimit / 2) super.send(data)
      else super.send(data, this.emptied)
      return
    }
    this.patience ??= setTimeout(() => this.giveUp(), waitingMillis)
    this.waiting.push(data)
    this.size += data.length
    if (this.size > waitingLimit) this.giveUp()
  }

  private giveUp() {
    this.forget()
    this.close(1013, "Too slow: reconnect with since")
  }

  private readonly emptied = () => {
    while (this.size > 0 && this.readyState === this.OPEN && this.bufferedAmount <= outboundLimit) {
      const text = this.waiting[this.next++] ?? ""
      this.size -= text.length
      super.send(text, this.emptied)
    }
    if (this.size === 0) this.forget()
  }

  private forget() {
    clearTimeout(this.patience)
    this.patience = undefined
    this.waiting = []
    this.next = 0
    this.size = 0
  }
}

/** For the HTTP server. A frame that is too large closes with 1009; nothing is compressed. */
export const webSocketOptions = {
  maxPayload: inboundLimit,
  closeTimeout: closeMillis,
  WebSocket: GuardedSocket
}
