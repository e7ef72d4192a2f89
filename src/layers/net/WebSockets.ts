import * as NodeWS from "@effect/platform-node/NodeWS"
import { RateWindow } from "../../domain/realtime/RateWindow.ts"
import { type Inbound, inboundOf } from "../../services/realtime/Inbound.ts"

/** Bytes that a client's socket may buffer. The rest waits here, as texts that all clients share. */
const outboundLimit = 1024 * 1024
/** A client is too slow when more than this waits for it, in characters, or longer than this. */
const waitingLimit = 16 * 1024 * 1024
const waitingMillis = 2_000
/** Limits for a client whose messages are ignored. */
const ignored: Inbound = { bytes: 64 * 1024, messages: 100, millis: 10_000 }
const pingMillis = 30_000
/** How long the client may take to confirm a close. */
const closeMillis = 2_000

/** Members of `ws` that its types do not list: what has arrived and is not parsed yet. */
interface Internals {
  readonly _receiver: { readonly _buffers: Array<Buffer>; _bufferedBytes: number }
}

/**
 * A server-side WebSocket that pings every 30 s and terminates after two missed pongs, closes with 1013 when its client
 * reads too slowly, and bounds the wait for a close. Sending never blocks. Messages of the client are dropped here, unless
 * its route receives them (`Inbound`), and too many of them close with 1008.
 *
 * A burst of events is more than a socket accepts in one turn of the event loop, however fast its client is, so what
 * exceeds its 1 MiB may wait for two seconds.
 */
class GuardedSocket extends NodeWS.WebSocket {
  private missedPongs = 0
  /** Messages not handed to the socket yet, from `next` on. */
  private waiting: Array<string | Uint8Array> = []
  private next = 0
  private size = 0
  private slowTimer: NodeJS.Timeout | undefined
  private inbound: Inbound | undefined
  private received = new RateWindow(ignored.messages, ignored.millis)

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

  /** Called by the server once the handshake is done, with the connection. */
  setSocket(socket: object, head: Buffer, options: object) {
    const inbound = inboundOf(socket)
    this.inbound = inbound
    if (inbound !== undefined) this.received = new RateWindow(inbound.messages, inbound.millis)
    const limits = inbound === undefined ? {} : { maxPayload: inbound.bytes }
    const base = NodeWS.WebSocket.prototype as unknown as { readonly setSocket: (...args: Array<unknown>) => void }
    base.setSocket.call(this, socket, head, { ...options, ...limits })
  }

  override emit(event: string | symbol, ...args: ReadonlyArray<unknown>): boolean {
    if (event !== "message") return super.emit(event, ...args)
    return this.count() && this.inbound !== undefined ? super.emit(event, ...args) : true
  }

  /** False if that was one message too many. */
  private count(): boolean {
    if (this.received.take(performance.now())) return true
    this.close(
      1008,
      this.inbound === undefined ? "Too many messages: clients of this feed only receive" : "Too many messages"
    )
    // Messages that have arrived are dropped unparsed; the connection ends after `closeMillis`.
    this.pause()
    const { _receiver: receiver } = this as unknown as Internals
    receiver._buffers.length = 0
    receiver._bufferedBytes = 0
    return false
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
    const bounded = typeof data === "string" || data instanceof Uint8Array
    if (!bounded || (this.size === 0 && this.bufferedAmount <= outboundLimit)) {
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
      const message = this.waiting[this.next++] ?? ""
      this.size -= message.length
      super.send(message, this.drain)
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
  maxPayload: ignored.bytes,
  closeTimeout: closeMillis,
  WebSocket: GuardedSocket
}
