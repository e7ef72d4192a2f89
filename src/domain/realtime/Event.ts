import { Schema } from "effect"

/** TRUNCATE has no rows, and is reported with SVC_CHANGES=wal only. */
const Operation = Schema.Literals(["INSERT", "UPDATE", "DELETE", "TRUNCATE"])

/**
 * A changed row as sent to clients (spec: Realtime event). `id` increases with every event; `since` refers to it.
 * `truncated` is present, and true, when columns were dropped because the row did not fit into a notification.
 */
export const RealtimeEvent = Schema.Struct({
  id: Schema.Int,
  schema: Schema.String,
  table: Schema.String,
  operation: Operation,
  row: Schema.NullOr(Schema.Record(Schema.String, Schema.Json)),
  old_row: Schema.NullOr(Schema.Record(Schema.String, Schema.Json)),
  timestamp: Schema.String,
  truncated: Schema.optionalKey(Schema.Boolean)
})

/**
 * Marks missing events: `since` is the last event the client received, `oldest` the id from which nothing is missing.
 * Only sent to clients that use `since`.
 */
export const RealtimeGap = Schema.Struct({ gap: Schema.Literal(true), since: Schema.Int, oldest: Schema.Int })

/** An event to be sent: its JSON text comes from the database, so that numbers are exact. */
export interface EventText {
  readonly id: number
  readonly schema: string
  readonly table: string
  readonly text: string
}

/** A notification of svc.notify_row_change (layers/install/migrations/0002_realtime.ts). */
export interface RowNotification {
  /** The time at which the row was written, in microseconds since 1970. */
  readonly micros: number
  readonly schema: string
  readonly table: string
  /** The remaining rows of this transaction are not published. */
  readonly gap: boolean
  /** The JSON after the id, starting with the comma. */
  readonly rest: string
}

const decode = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Struct({
      id: Schema.Int,
      schema: Schema.String,
      table: Schema.String,
      operation: Operation,
      gap: Schema.optionalKey(Schema.Boolean)
    })
  )
)

/** Undefined for other payloads: any session that may run SQL may NOTIFY. */
export const parseNotification = (payload: string): RowNotification | undefined => {
  const head = /^\{"id":\d{1,16},/.exec(payload)?.[0]
  const found = head === undefined ? undefined : decode(payload)
  if (head === undefined || found?._tag !== "Some") return undefined
  const { gap = false, id, schema, table } = found.value
  return { micros: id, schema, table, gap, rest: payload.slice(head.length - 1) }
}

export const eventText = ({ rest, schema, table }: RowNotification, id: number): EventText => ({
  id,
  schema,
  table,
  text: `{"id":${id}${rest}`
})

export const gapText = (since: number, oldest: number) => JSON.stringify({ gap: true, since, oldest })

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
