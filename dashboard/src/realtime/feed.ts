import { call } from "../wire/call.ts"
import { type Entry, entryOf, merged, mostKept } from "./events.ts"

type FeedState = "connecting" | "open" | "waiting"

export interface FeedView {
  readonly state: FeedState
  /** Why it is not open. */
  readonly reason: string | undefined
  readonly paused: boolean
  /** Newest first. While paused, those of that moment. */
  readonly entries: ReadonlyArray<Entry>
  /** Received since the pause. */
  readonly held: number
}

const reasons: Readonly<Record<number, string>> = {
  1001: "The service is shutting down",
  1008: "The service ended the connection: the session has ended",
  1013: "This browser read too slowly"
}

/** ms before each attempt to connect again. */
const steps = [500, 1000, 2000, 5000, 10_000]

/**
 * The changes that the service sends, from the oldest it remembers. After a disconnect the feed resumes at the last event
 * it has received: the service repeats what was missed, or says that it can't.
 */
export class Feed {
  private socket: WebSocket | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private frame = 0
  private arrived: Array<Entry> = []
  private kept: ReadonlyArray<Entry> = []
  /** The newest event, or the end of a gap: where the feed resumes. */
  private since = 0
  private failures = 0
  private closed = new AbortController()
  private readonly listeners = new Set<() => void>()
  private view: FeedView = { state: "connecting", reason: undefined, paused: false, entries: [], held: 0 }

  readonly current = () => this.view
  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }

  /** Connects until the result is called. */
  readonly open = () => {
    this.closed = new AbortController()
    void this.connect()
    return () => {
      this.closed.abort()
      clearTimeout(this.timer)
      cancelAnimationFrame(this.frame)
      this.socket?.close()
    }
  }

  readonly pause = (paused: boolean) => {
    this.flush()
    this.become({ paused, ...(paused ? {} : { entries: this.kept, held: 0 }) })
  }

  readonly clear = () => {
    this.arrived = []
    this.kept = []
    this.become({ entries: [], held: 0 })
  }

  readonly retry = () => {
    clearTimeout(this.timer)
    this.failures = 0
    void this.connect()
  }

  private become(part: Partial<FeedView>) {
    this.view = { ...this.view, ...part }
    for (const listener of this.listeners) listener()
  }

  private async connect() {
    const { signal } = this.closed
    this.become({ state: "connecting" })
    try {
      // A refused WebSocket does not say why. This request does, and asks for the sign-in if the session has ended.
      await call("GET /api/realtime/status", { signal })
    } catch (error) {
      if (!signal.aborted) this.wait(error instanceof Error ? error.message : String(error))
      return
    }
    if (signal.aborted) return
    const first = this.since === 0
    const url = new URL(`/realtime?since=${this.since}`, location.href)
    url.protocol = url.protocol.replace("http", "ws")
    const socket = new WebSocket(url)
    this.socket = socket
    socket.addEventListener("open", () => {
      this.failures = 0
      this.become({ state: "open", reason: undefined })
    })
    let initial = first
    socket.addEventListener("message", ({ data }) => {
      const entry = entryOf(String(data))
      this.since = Math.max(this.since, entry.id)
      // For who has just come, nothing is missing.
      if (!(initial && entry.tag === "gap")) this.receive(entry)
      initial = false
    })
    socket.addEventListener("close", ({ code }) => {
      if (!signal.aborted && this.socket === socket) this.wait(reasons[code] ?? "The connection was lost")
    })
  }

  private wait(reason: string) {
    this.become({ state: "waiting", reason })
    const step = steps[Math.min(this.failures++, steps.length - 1)] ?? 0
    // Browsers that lost their connections together do not return together.
    this.timer = setTimeout(() => void this.connect(), step * (0.8 + 0.4 * Math.random()))
  }

  /** What arrives is shown once a frame. Browsers draw none of a hidden page, which collects no more than it would keep. */
  private receive(entry: Entry) {
    this.arrived.push(entry)
    if (this.arrived.length > 2 * mostKept) this.arrived = this.arrived.slice(-mostKept)
    if (this.frame !== 0) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      this.flush()
    })
  }

  private flush() {
    const { arrived } = this
    if (arrived.length === 0) return
    this.arrived = []
    this.kept = merged(this.kept, arrived)
    this.become(this.view.paused ? { held: this.view.held + arrived.length } : { entries: this.kept })
  }
}
