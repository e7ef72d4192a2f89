import { Schema } from "effect"
import { hash } from "node:crypto"

const Operation = Schema.Literals(["INSERT", "UPDATE", "DELETE"])

/**
 * A changed row as clients get it (spec: Realtime event). `id` grows with every event and names it in `since`;
 * `truncated` is there, and true, when the row did not fit into a notification and has lost columns.
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
 * Stands where events are missing: `since` is what was asked for or heard last, `oldest` what can be replayed from.
 * Only who names `since` gets it.
 */
export const RealtimeGap = Schema.Struct({ gap: Schema.Literal(true), since: Schema.Int, oldest: Schema.Int })

/** An event on its way: its JSON text is the database's own, in which every number is exact. */
export interface EventText {
  readonly id: number
  readonly schema: string
  readonly table: string
  readonly text: string
}

/** A notification of svc.notify_row_change (layers/migrations/0002_realtime.ts). */
export interface RowNotification {
  /** When the row was written, in microseconds since 1970. */
  readonly micros: number
  readonly schema: string
  readonly table: string
  /** Rows of this transaction are not told one by one. */
  readonly gap: boolean
  /** The JSON behind the id, from the comma on. */
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

/** Undefined for what is none of ours: anybody who may run SQL may notify. */
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

/** The longest name that PostgreSQL keeps whole, in bytes. */
const longestName = 63

const encoder = new TextEncoder()

/**
 * Trigger and channel of a table: `svc_rt_{schema}_{table}`, and where that is too long a hash in place of its tail.
 * Two tables may share a channel (`a`.`b_c` and `a_b`.`c`): what a notification says counts, not where it came from.
 */
export const channelOf = (schema: string, table: string) => {
  const name = `svc_rt_${schema}_${table}`
  if (encoder.encode(name).length <= longestName) return name
  const tail = `_${hash("sha256", `${schema}\0${table}`, "hex").slice(0, 16)}`
  let kept = ""
  let room = longestName - tail.length
  for (const character of name) {
    room -= encoder.encode(character).length
    if (room < 0) break
    kept += character
  }
  return kept + tail
}
