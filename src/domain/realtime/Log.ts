import { type EventText } from "./Event.ts"

/** Number of events kept (spec: Limits). */
const capacity = 200
/** Characters kept: events from the write-ahead log may be large. */
const maxText = 16 * 1024 * 1024

/** The events for a client that reconnects. */
export interface Replay {
  /** Oldest first. */
  readonly events: ReadonlyArray<EventText>
  /** The id from which nothing is missing; undefined when nothing is missing at all. */
  readonly gap: number | undefined
}

/**
 * The last 200 events, and the id from which they are complete.
 *
 * An id is the microsecond in which the row was written, or the previous id plus one if that is greater. All replicas
 * receive the same events in the same order, so they agree on ids, without coordination, from the first event whose
 * time is greater than the previous id. Ids keep increasing after a restart.
 */
export class RealtimeLog {
  private events: Array<EventText> = []
  private text = 0
  private last = 0
  /** Every event after this id was received and is still in the log. */
  private complete = 0

  get size() {
    return this.events.length
  }

  /** The id of the newest event, or of the moment from which all events are received. */
  get newest() {
    return this.last
  }

  /** The id from which nothing is missing. */
  get oldest() {
    return this.complete
  }

  /** The id of the next event, given the time it was written, in µs. */
  nextId(micros: number) {
    this.last = Math.max(this.last + 1, micros)
    return this.last
  }

  add(event: EventText) {
    this.events.push(event)
    this.text += event.text.length
    while (this.events.length > capacity || this.text > maxText) {
      const oldest = this.events.shift()
      this.text -= oldest?.text.length ?? 0
      this.complete = Math.max(this.complete, oldest?.id ?? 0)
    }
  }

  /** Records that events may have been missed before this time, in µs. */
  missed(micros: number) {
    this.complete = this.nextId(micros)
  }

  clear() {
    this.events = []
    this.text = 0
    this.complete = this.last
  }

  /** Newest first. */
  get all(): ReadonlyArray<EventText> {
    return this.events.toReversed()
  }

  /**
   * Returns the events after an id. They are complete if the id is in the log, or is the moment from which the log is
   * complete. Any other id was assigned by a replica that counted otherwise or has received more, so events may be
   * missing.
   */
  since(id: number): Replay {
    const events = this.events.filter((event) => event.id > id)
    const known = id === this.complete || (id > this.complete && this.events.some((event) => event.id === id))
    return { events, gap: known ? undefined : Math.max(id, this.complete) }
  }
}
