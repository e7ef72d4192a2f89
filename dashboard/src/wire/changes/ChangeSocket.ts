import { call } from "../call.ts"

export type SocketState = "connecting" | "open" | "waiting"

interface ChangeSocketOptions {
  /** The event after which the first connection begins; undefined: now. */
  readonly since: number | undefined
  /** A message, and whether it is the first of the first connection. Returns its id. */
  readonly onText: (text: string, first: boolean) => number
  readonly onState: (state: SocketState, reason?: string) => void
}

const reasons: Readonly<Record<number, string>> = {
  1001: "The service is shutting down",
  1008: "The service ended the connection: the session has ended",
  1013: "This browser read too slowly"
}

/** ms before each attempt to connect again. */
const steps = [500, 1000, 2000, 5000, 10_000]

/**
 * The changes that the service sends. After a disconnect it resumes at the last event that was received: the service
 * repeats what was missed, or says that it can't.
 */
export class ChangeSocket {
  private readonly options: ChangeSocketOptions
  private socket: WebSocket | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  /** The newest event, or the end of a gap: where the feed resumes. */
  private since: number | undefined
  private isFirst = true
  private failures = 0
  private closed = new AbortController()

  constructor(options: ChangeSocketOptions) {
    this.options = options
    this.since = options.since
  }

  /** Connects until the result is called. */
  open() {
    this.closed = new AbortController()
    void this.connect()
    return () => {
      this.closed.abort()
      clearTimeout(this.timer)
      this.socket?.close()
    }
  }

  retry() {
    clearTimeout(this.timer)
    this.failures = 0
    void this.connect()
  }

  private async connect() {
    const { signal } = this.closed
    this.options.onState("connecting")
    try {
      // A refused WebSocket does not say why. This request does, and asks for the sign-in if the session has ended.
      await call("GET /api/realtime/status", { signal })
    } catch (error) {
      if (!signal.aborted) this.wait(error instanceof Error ? error.message : String(error))
      return
    }
    if (signal.aborted) return
    const url = new URL(this.since === undefined ? "/realtime" : `/realtime?since=${this.since}`, location.href)
    url.protocol = url.protocol.replace("http", "ws")
    const socket = new WebSocket(url)
    this.socket = socket
    socket.addEventListener("open", () => {
      this.failures = 0
      this.options.onState("open")
    })
    socket.addEventListener("message", ({ data }) => {
      this.since = Math.max(this.since ?? 0, this.options.onText(String(data), this.isFirst))
      this.isFirst = false
    })
    socket.addEventListener("close", ({ code }) => {
      if (!signal.aborted && this.socket === socket) this.wait(reasons[code] ?? "The connection was lost")
    })
  }

  private wait(reason: string) {
    this.options.onState("waiting", reason)
    const step = steps[Math.min(this.failures++, steps.length - 1)] ?? 0
    // Browsers that lost their connections together do not return together.
    this.timer = setTimeout(() => void this.connect(), step * (0.8 + 0.4 * Math.random()))
  }
}
