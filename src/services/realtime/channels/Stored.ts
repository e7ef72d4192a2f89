import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type FrameBody, encodeBroadcast, topicOf } from "../../../domain/realtime/channels/Frames.ts"
import { logFailure, onOwnTables } from "../../OwnTables.ts"
import { OwnJobs } from "../../OwnJobs.ts"
import { type Member, type Rooms } from "./Rooms.ts"

/** The most messages that a client may ask for when it joins. */
const maxReplay = 25

/** The request for messages before the join: those after a time in ms since 1970, or the last ones. */
interface ReplayRequest {
  readonly since?: number | null | undefined
  readonly limit?: number | null | undefined
}

interface Row {
  readonly id: string
  readonly topic: string
  readonly event: string
  readonly payload: string
  /** Hexadecimal; null for messages of JSON. */
  readonly bytes: string | null
  readonly private: boolean
}
/** A table that a dump has brought may be without the column of bytes. */
const columns = `id::text as id, topic, coalesce(event, '') as event, coalesce(payload, '{}')::text as payload, private,
  to_jsonb(m) ->> 'binary_payload' as bytes`

const bodyOf = ({ bytes, payload }: Row): FrameBody =>
  bytes === null ? payload : new Uint8Array(Buffer.from(bytes.slice(2), "hex"))

/** Messages that the database has kept in realtime.messages, by realtime.send and others. */
export const makeStored = Effect.fnUntraced(function* (rooms: Rooms) {
  const sql = yield* SqlClient.SqlClient

  /** Sends a row to the members of its channel. */
  const deliver = (id: string) =>
    sql
      .unsafe<Row>(
        `select ${columns} from realtime.messages m
         where id = $1::uuid and extension = 'broadcast'`,
        [id]
      )
      .pipe(
        Effect.map((rows) => {
          for (const row of rows) {
            const { event, id, topic } = row
            const meta = JSON.stringify({ id })
            rooms.broadcast({ name: topic, private: row.private }, { event, body: bodyOf(row), meta })
          }
        }),
        Effect.catchCause(logFailure("Failed to read a message of realtime.messages"))
      )

  const replay = (member: Member, { limit, since }: ReplayRequest): Effect.Effect<void> => {
    const most = Math.min(Math.max(Math.trunc(limit ?? maxReplay), 1), maxReplay)
    const from = Math.min(Math.max(since ?? 0, 0), 8.64e15)
    return sql
      .unsafe<Row>(
        `select * from (
           select ${columns}, inserted_at from realtime.messages m
           where topic = $1 and private and extension = 'broadcast'
             and inserted_at > to_timestamp($2::float8 / 1000) at time zone 'UTC'
             and inserted_at > now() at time zone 'UTC' - interval '3 days'
           order by inserted_at desc limit $3
         ) latest order by inserted_at`,
        [member.name, from, most]
      )
      .pipe(
        Effect.map((rows) => {
          for (const row of rows) {
            const meta = JSON.stringify({ id: row.id, replayed: true })
            const broadcast = { event: row.event, body: bodyOf(row), meta }
            const frame = encodeBroadcast(member.socket.version, topicOf(member.name), broadcast)
            if (frame !== undefined) member.socket.send(frame)
          }
        }),
        Effect.catchCause(logFailure("Failed to replay messages of a channel"))
      )
  }

  yield* (yield* OwnJobs).add({
    name: "realtime.messages",
    summary: "Deletes messages of channels that are older than three days",
    times: "31 * * * *",
    timeout: 3_600,
    catchUp: true,
    run: () =>
      onOwnTables(
        sql`delete from realtime.messages where inserted_at < now() at time zone 'UTC' - interval '3 days' returning id`
      ).pipe(Effect.map(({ length }) => (length === 0 ? undefined : `${length} messages deleted`)))
  })

  return { deliver, replay }
})
export type StoredReplay = Effect.Success<ReturnType<typeof makeStored>>["replay"]
