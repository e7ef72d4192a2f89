import { ChangeSocket, type SocketState } from "../wire/changes/ChangeSocket.ts"
import { type Entry, entryOf } from "../wire/changes/message.ts"
import { merged, mostKept } from "./events.ts"

export interface FeedView {
  readonly state: SocketState
  /** Why it is not open. */
  readonly reason: string | undefined
  readonly paused: boolean
  /** Newest first. While paused, those of that moment. */
  readonly entries: ReadonlyArray<Entry>
  /** Received since the pause. */
  readonly held: number
}

/**
 * The changes that the service sends, from the oldest it remembers. After a disconnect the feed resumes at the last event
 * it has received: the service repeats what was missed, or says that it can't.
 */
export class Feed {
  private readonly socket = new ChangeSocket({
    since: 0,
    onText: (text, first) => {
      const entry = entryOf(text)
      // For who has just come, nothing is missing.
      if (!(first && entry.tag === "gap")) this.receive(entry)
      return entry.id
    },
    onState: (state, reason) => this.become(state === "connecting" ? { state } : { state, reason })
  })
  private frame = 0
  private arrived: Array<Entry> = []
  private kept: ReadonlyArray<Entry> = []
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
    const close = this.socket.open()
    return () => {
      cancelAnimationFrame(this.frame)
      close()
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

  readonly retry = () => this.socket.retry()

  private become(part: Partial<FeedView>) {
    this.view = { ...this.view, ...part }
    for (const listener of this.listeners) listener()
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
