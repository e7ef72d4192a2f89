import { NodeWS } from "@effect/platform-node"

/** What a client may have waiting for it, in bytes; beyond that it is too slow. */
const outboundLimit = 1024 * 1024
/** The largest frame a client may send, in bytes; nothing it says is needed. */
const inboundLimit = 64 * 1024
const pingMillis = 30_000
/** How long the other side may take to answer a close. */
const closeMillis = 3_000

/**
 * A server's WebSocket that looks after itself: pings every 30 s and goes after two that were not answered, closes
 * with 1013 when its client does not read what it is sent, and does not wait long for a close to be answered. Never
 * makes the sender wait.
 */
class GuardedSocket extends NodeWS.WebSocket {
  private unanswered = 0

  /** Called by the server alone, as `ws` wants it. */
  constructor(...args: ReadonlyArray<unknown>) {
    super(...(args as unknown as [null]))
    const timer = setInterval(() => this.beat(), pingMillis)
    this.on("pong", () => (this.unanswered = 0))
    this.once("close", () => clearInterval(timer))
  }

  private beat() {
    if (this.unanswered >= 2) {
      this.terminate()
      return
    }
    this.unanswered++
    if (this.readyState === this.OPEN) this.ping()
  }

  override send(data: Parameters<NodeWS.WebSocket["send"]>[0], options?: unknown, done?: unknown) {
    if (this.readyState !== this.OPEN) return
    if (this.bufferedAmount > outboundLimit) this.close(1013, "Too slow: reconnect with since")
    else super.send(data, options as never, done as never)
  }
}

/** For the HTTP server. A frame that is too large closes with 1009; nothing is compressed. */
export const webSocketOptions = {
  maxPayload: inboundLimit,
  closeTimeout: closeMillis,
  WebSocket: GuardedSocket
}
