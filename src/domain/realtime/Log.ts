import { type EventText } from "./Event.ts"

/** Events kept (spec: Limits). */
const capacity = 200

/** What can be told to who comes back. */
export interface Replay {
  /** Oldest first. */
  readonly events: ReadonlyArray<EventText>
  /** From which id on nothing is missing, if something is. */
  readonly gap: number | undefined
}

/**
 * The last 200 events, and from where on they are all there were.
 *
 * An id is the microsecond the row was written in, or one more than the event's before it if that is later. Every
 * replica hears the same events in the same order, so they agree on ids as soon as they have heard one event that is
 * in order, without asking each other; and ids go on growing after a restart.
 */
export class RealtimeLog {
  private events: Array<EventText> = []
  private last = 0
  /** Everything after this id was heard and is still here. */
  private whole = 0

  get size() {
    return this.events.length
  }

  /** The id of the newest event, or of the moment from which on all are heard. */
  get newest() {
    return this.last
  }

  /** From which id on nothing is missing. */
  get oldest() {
    return this.whole
  }

  /** The next event's id, given when it was written in µs. */
  nextId(micros: number) {
    this.last = Math.max(this.last + 1, micros)
    return this.last
  }

  add(event: EventText) {
    this.events.push(event)
    if (this.events.length > capacity) this.whole = Math.max(this.whole, this.events.shift()?.id ?? 0)
  }

  /** Events may have been missed before this moment, in µs. */
  missed(micros: number) {
    this.whole = this.nextId(micros)
  }

  clear() {
    this.events = []
    this.whole = this.last
  }

  /** Newest first. */
  get all(): ReadonlyArray<EventText> {
    return this.events.toReversed()
  }

  since(id: number): Replay {
    return { events: this.events.filter((event) => event.id > id), gap: id < this.whole ? this.whole : undefined }
  }
}
