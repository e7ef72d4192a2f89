import { Clock, Effect, Queue, Schedule, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { type Broadcast } from "../../../domain/realtime/channels/Frames.ts"
import { logFailure } from "../../OwnTables.ts"
import { Listener, type ListenerMessage } from "../../ports/Listener.ts"
import { type PresenceChange } from "./Presence.ts"
import { type RoomName } from "./Rooms.ts"
import { monotonicMillis } from "../../access/RateLimits.ts"

/** The channel of PostgreSQL on which processes talk. */
const channel = "svc_channels"
/** Interval at which a process reports that it runs, and the time after which others drop it, in ms. */
const beatMillis = 15_000
const deadMillis = 40_000
/** Maximum bytes of a notification; a larger message goes through a table. */
const notificationLimit = 7_900
/** Messages that may wait for the database; beyond them, other processes miss some. */
const maxWaiting = 10_000
const batch = 200

const Name = { name: Schema.String, private: Schema.Boolean }
const Present = Schema.Struct({
  key: Schema.String,
  ref: Schema.String,
  meta: Schema.String,
  before: Schema.optional(Schema.String)
})
const Change = Schema.Struct({ ...Name, joins: Schema.Array(Present), leaves: Schema.Array(Present) })
const Message = Schema.Union([
  /** `hi`: answer with all of your own; `beat`: the process runs; `bye`: it has ended. */
  Schema.Struct({ kind: Schema.Literals(["hi", "beat", "bye"]) }),
  Schema.Struct({ kind: Schema.Literal("broadcast"), ...Name, event: Schema.String, text: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("bytes"), ...Name, event: Schema.String, base64: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("presence"), change: Change }),
  Schema.Struct({ kind: Schema.Literal("all"), all: Schema.Array(Change) }),
  /** A row of realtime.messages. */
  Schema.Struct({ kind: Schema.Literal("row"), id: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("large"), id: Schema.Int })
])
type Message = typeof Message.Type
const decode = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ from: Schema.String, seq: Schema.Int, message: Message }))
)

/** The handlers of messages from other processes. */
interface Receiver {
  readonly broadcast: (room: RoomName, broadcast: Broadcast) => void
  /** A row that was written into realtime.messages, in any way. */
  readonly row: (id: string) => Effect.Effect<void>
  readonly presence: (process: string, change: PresenceChange) => void
  readonly all: (process: string, all: ReadonlyArray<PresenceChange>) => void
  /** All members that are present in this process. */
  readonly announced: () => ReadonlyArray<PresenceChange>
}

/**
 * Sends messages to the service's other processes, workers and replicas, by notifications of PostgreSQL. Without other
 * processes, only a beat is sent every 15 s.
 */
export const makeRelay = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient.SqlClient
  const clock = yield* Clock.Clock
  const { messages } = yield* (yield* Listener).listen(channel)
  const process = randomUUID()
  const outgoing = yield* Queue.dropping<string>(maxWaiting)
  /** The time of the last message of each other process. */
  const others = new Map<string, number>()
  let connected = false
  /** Called when PostgreSQL's notifications arrive. */
  const waiting: Array<() => void> = []
  let seq = 0

  const always = (message: Message) =>
    void Queue.offerUnsafe(outgoing, JSON.stringify({ from: process, seq: ++seq, message }))
  const send = (message: Message) => {
    if (others.size > 0) always(message)
  }

  /** `large`: by a table, unlogged because the rows matter for a moment only. */
  const write = (texts: ReadonlyArray<string>, large: boolean) =>
    large
      ? sql.unsafe(
          `with kept as (insert into svc.channel_messages (body) select value from json_array_elements_text($1::json) returning id)
           select pg_notify($2, json_build_object('from', $3::text, 'seq', id, 'message', json_build_object('kind', 'large', 'id', id))::text)
           from kept order by id`,
          [JSON.stringify(texts), channel, process]
        )
      : sql.unsafe("select pg_notify($2, value) from json_array_elements_text($1::json)", [
          JSON.stringify(texts),
          channel
        ])

  const flush = Effect.gen(function* () {
    const all = yield* Queue.takeBetween(outgoing, 1, batch)
    // Runs of the same size class keep the order.
    let run: Array<string> = []
    let large = false
    for (const text of all) {
      const isLarge = Buffer.byteLength(text) > notificationLimit
      if (isLarge !== large && run.length > 0) {
        yield* write(run, large)
        run = []
      }
      large = isLarge
      run.push(text)
    }
    if (run.length > 0) yield* write(run, large)
  })
  yield* Effect.forever(
    Effect.catchCause(flush, logFailure("Failed to send messages of channels to other processes"))
  ).pipe(Effect.forkScoped)

  const start = Effect.fnUntraced(function* (receiver: Receiver) {
    const forget = (other: string) => {
      others.delete(other)
      receiver.all(other, [])
    }

    const received = (from: string, message: Message): Effect.Effect<void, unknown> => {
      const { kind } = message
      if (kind === "row") return receiver.row(message.id)
      if (from === process) return Effect.void
      if (kind === "bye") return Effect.sync(() => forget(from))
      const isNew = !others.has(from)
      others.set(from, monotonicMillis(clock))
      // A new process has not received the members announced so far.
      if (isNew || kind === "hi") always({ kind: "all", all: receiver.announced() })
      if (isNew && kind !== "hi" && kind !== "all") always({ kind: "hi" })
      if (kind === "broadcast") receiver.broadcast(message, { event: message.event, body: message.text })
      else if (kind === "bytes") {
        receiver.broadcast(message, { event: message.event, body: Buffer.from(message.base64, "base64") })
      } else if (kind === "presence") receiver.presence(from, message.change)
      else if (kind === "all") receiver.all(from, message.all)
      else if (kind === "large") {
        return Effect.flatMap(
          sql<{ body: string }>`select body from svc.channel_messages where id = ${message.id}`,
          ([row]) => (row === undefined ? Effect.void : parsed(row.body))
        )
      }
      return Effect.void
    }
    const parsed = (text: string) =>
      Effect.suspend(() => {
        const found = decode(text)
        return found._tag === "Some" ? received(found.value.from, found.value.message) : Effect.void
      })

    const handle = (message: ListenerMessage) =>
      Effect.suspend(() => {
        if (message._tag === "Notification") return parsed(message.payload)
        connected = message._tag === "Connected"
        if (!connected) return Effect.void
        always({ kind: "hi" })
        for (const ready of waiting.splice(0)) ready()
        return Effect.void
      })
    yield* messages.pipe(
      Stream.runForEach((message) =>
        Effect.catchCause(handle(message), logFailure("Failed to receive a message of a channel"))
      ),
      Effect.forkScoped
    )

    const beat = Effect.gen(function* () {
      always({ kind: "beat" })
      if (!connected) return
      const now = monotonicMillis(clock)
      for (const [other, at] of others) if (now - at > deadMillis) forget(other)
      yield* sql`delete from svc.channel_messages where created_at < now() - interval '1 minute'`
    })
    yield* Effect.catchCause(beat, logFailure("Failed to clean up messages of channels")).pipe(
      Effect.repeat(Schedule.spaced(beatMillis)),
      Effect.forkScoped
    )
    yield* Effect.addFinalizer(() =>
      Effect.ignore(write([JSON.stringify({ from: process, seq: ++seq, message: { kind: "bye" } })], false))
    )
  })

  return {
    process,
    start,
    /** Calls it once messages that the database sends arrive, which may be now. */
    whenConnected: (ready: () => void) => {
      if (connected) ready()
      else waiting.push(ready)
    },
    presence: (change: PresenceChange) => send({ kind: "presence", change }),
    broadcast: (room: RoomName, { body, event }: Broadcast) => {
      const to = { name: room.name, private: room.private, event }
      if (typeof body === "string") send({ kind: "broadcast", ...to, text: body })
      else send({ kind: "bytes", ...to, base64: Buffer.from(body).toString("base64") })
    }
  }
})
export type Relay = Effect.Success<ReturnType<typeof makeRelay>>
