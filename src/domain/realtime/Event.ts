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
