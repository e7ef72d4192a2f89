import * as NodeWS from "@effect/platform-node/NodeWS"

/** What a client's socket may buffer, in bytes. The rest waits here, as texts that all clients share. */
const outboundLimit = 1024 * 1024
/** A client is too slow when more than this waits for it, in characters, or longer than this. */
const waitingLimit = 16 * 1024 * 1024
const waitingMillis = 2_000
/** The largest frame a client may send, in bytes. Its messages are ignored. */
const inboundLimit = 64 * 1024
/** Messages that a client may send within so many ms. */
const [inboundMessages, inboundMillis] = [100, 10_000]
const pingMillis = 30_000
/** How long the client may take to confirm a close. */
const closeMillis = 2_000

/** Members of `ws` that its types do not list: what has arrived and is not parsed yet. */
interface Internals {
  readonly _receiver: { readonly _buffers: Array<Buffer>; _bufferedBytes: number }
}

/**
 * A server-side WebSocket that pings every 30 s and terminates after two missed pongs, closes with 1013 when its client
 * reads too slowly, and bounds the wait for a close. Sending never blocks. Messages of the client are dropped here, and
 * too many of them close with 1008.
 *
 * A burst of events is more than a socket accepts in one turn of the event loop, however fast its client is, so what
 * exceeds its 1 MiB may wait for two seconds.
 */
class GuardedSocket extends NodeWS.WebSocket {
  private missedPongs = 0
  /** Texts not handed to the socket yet, from `next` on. */
  private waiting: Array<string> = []
  private next = 0
  private size = 0
  private slowTimer: NodeJS.Timeout | undefined
  /** Messages received since the time. */
  private received = 0
  private receivedSince = 0

  /** Called only by the server, with the arguments of `ws`. */
  constructor(...args: ReadonlyArray<unknown>) {
    super(...(args as unknown as [null]))
    const timer = setInterval(() => this.beat(), pingMillis)
    this.on("pong", () => (this.missedPongs = 0))
    this.once("close", () => {
      clearInterval(timer)
      this.clear()
    })
    // An invalid frame may arrive with the handshake, before other listeners are attached.
    this.on("error", () => undefined)
  }

  override emit(event: string | symbol, ...args: ReadonlyArray<unknown>): boolean {
    if (event !== "message") return super.emit(event, ...args)
    this.count()
    return true
  }

  private count() {
    const now = performance.now()
    if (now - this.receivedSince > inboundMillis) {
      this.received = 0
      this.receivedSince = now
    }
    if (++this.received <= inboundMessages) return
    this.close(1008, "Too many messages: clients of this feed only receive")
    // What else has arrived is not read, nor parsed; the connection ends after `closeMillis`.
    this.pause()
    const { _receiver: receiver } = this as unknown as Internals
    receiver._buffers.length = 0
    receiver._bufferedBytes = 0
  }

  private beat() {
    if (this.missedPongs >= 2) {
      this.terminate()
      return
    }
    this.missedPongs++
    if (this.readyState === this.OPEN) this.ping()
  }

  override send(data: Parameters<NodeWS.WebSocket["send"]>[0]) {
    if (this.readyState !== this.OPEN) return
    if (typeof data !== "string" || (this.size === 0 && this.bufferedAmount <= outboundLimit)) {
      // Faster without a callback, which is not needed while the socket is far from its limit.
      if (this.bufferedAmount <= outboundLimit / 2) super.send(data)
      else super.send(data, this.drain)
      return
    }
    this.slowTimer ??= setTimeout(() => this.giveUp(), waitingMillis)
    this.waiting.push(data)
    this.size += data.length
    if (this.size > waitingLimit) this.giveUp()
  }

  private giveUp() {
    this.clear()
    this.close(1013, "Too slow: reconnect with since")
  }

  private readonly drain = () => {
    while (this.size > 0 && this.readyState === this.OPEN && this.bufferedAmount <= outboundLimit) {
      const text = this.waiting[this.next++] ?? ""
      this.size -= text.length
      super.send(text, this.drain)
    }
    if (this.size === 0) this.clear()
  }

  private clear() {
    clearTimeout(this.slowTimer)
    this.slowTimer = undefined
    this.waiting = []
    this.next = 0
    this.size = 0
  }
}

/** Options of the HTTP server. A frame that is too large closes with 1009. Nothing is compressed. */
export const webSocketOptions = {
  maxPayload: inboundLimit,
  closeTimeout: closeMillis,
  WebSocket: GuardedSocket
}
