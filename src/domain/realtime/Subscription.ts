import { hash } from "node:crypto"
import { Schema } from "effect"
import { quoteLiteral, quoteName } from "../sql/Names.ts"

/** A table whose changes are published (spec: Realtime). */
export const RealtimeSubscription = Schema.Struct({
  id: Schema.Int,
  schema: Schema.String,
  table: Schema.String,
  /** The name of the table's trigger and notification channel. */
  channel: Schema.String,
  /** Unless it is `active`, no changes of the table are published for now. */
  status: Schema.Literals([
    "active",
    "table_missing",
    "table_renamed",
    "table_distributed",
    "trigger_missing",
    "trigger_disabled"
  ]),
  /** The table's new name as `schema.table`, under which its events are published. */
  renamed_to: Schema.NullOr(Schema.String),
  /** The callers that receive no events of the table, if clients may be waiting for them. */
  warning: Schema.NullOr(Schema.String),
  created_at: Schema.String
})
export type RealtimeSubscription = typeof RealtimeSubscription.Type

const secured = "The table has row-level security"
const trusted = "service_role keys and administrators"

/** Warnings about tables with row-level security, by what they have or lack. */
export const rowSecurityWarnings = {
  policies: `${secured}: clients with a JWT receive only the rows that its policies let them read, ${trusted} all, others none (docs/realtime.md)`,
  noKey: `${secured} and no primary key: only ${trusted} receive its events. Add a primary key (docs/realtime.md)`,
  noGrant: `${secured}, and no grant and policy let authenticated select from it: only ${trusted} receive its events. Grant it select, and create a policy (docs/realtime.md)`
}

/** A table that can be subscribed to. */
export const RealtimeTable = Schema.Struct({
  schema: Schema.String,
  table: Schema.String,
  subscribed: Schema.Boolean
})
export type RealtimeTable = typeof RealtimeTable.Type

/** The realtime feed of one process (spec: GET /api/realtime/status). */
export const RealtimeStatus = Schema.Struct({
  /** Whether the listening connection is up, and since when it has been up or down. */
  listener_connected: Schema.Boolean,
  listener_since: Schema.String,
  active_channels: Schema.Array(Schema.String),
  connected_clients: Schema.Int,
  /** The size is at most 200. */
  event_log_size: Schema.Int
})
export type RealtimeStatus = typeof RealtimeStatus.Type

/** The longest name that PostgreSQL does not truncate, in bytes. */
const maxName = 63

const encoder = new TextEncoder()

/**
 * The name of a table's trigger and channel: `svc_rt_{schema}_{table}`, with a hash in place of the end if that is too
 * long. Two tables may share a channel (`a`.`b_c` and `a_b`.`c`), so the payload names its table.
 */
export const channelOf = (schema: string, table: string) => {
  const name = `svc_rt_${schema}_${table}`
  if (encoder.encode(name).length <= maxName) return name
  const tail = `_${hash("sha256", `${schema}\0${table}`, "hex").slice(0, 16)}`
  let start = ""
  let room = maxName - tail.length
  for (const character of name) {
    room -= encoder.encode(character).length
    if (room < 0) break
    start += character
  }
  return start + tail
}

/** The arguments are those of svc.notify_row_change, which a migration creates. */
export const createTriggerSql = (schema: string, table: string, channel: string, oid: number, virtual: boolean) => {
  const args = [channel, String(oid), ...(virtual ? ["virtual"] : [])].map(quoteLiteral).join(", ")
  return `create or replace trigger ${quoteName(channel)}
    after insert or update or delete on ${quoteName(schema)}.${quoteName(table)}
    for each row execute function svc.notify_row_change(${args})`
}

export const dropTriggerSql = (schema: string, table: string, trigger: string) =>
  `drop trigger if exists ${quoteName(trigger)} on ${quoteName(schema)}.${quoteName(table)}`
