import { Schema } from "effect"
import { NotFound } from "../errors.ts"
import { FunctionName } from "../functions/Function.ts"
import { quoteName } from "../sql/Names.ts"

/** As pgmq.svc_table() allows them; tables of a queue have its name in lower case. */
export const QueueName = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,47}$/, { expected: "1 to 47 letters, digits, _ or -" })
).pipe(Schema.brand("QueueName"))
export type QueueName = typeof QueueName.Type

/** The quoted name of a table of a queue: `q` has its messages, `a` those that were archived. */
export const tableOf = (prefix: "q" | "a", queue: QueueName) => `pgmq.${quoteName(`${prefix}_${queue.toLowerCase()}`)}`

/** The queue of another's dead letters. */
export const deadLettersOf = (queue: QueueName) => `${queue}_dead` as QueueName

export const queueNotFound = (queue: string) =>
  new NotFound({ error: `Queue ${queue.slice(0, 100)} does not exist`, code: "QUEUE_NOT_FOUND" })

const int = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Reads after which a message that is not acknowledged becomes a dead letter; null: never. */
const MaxReads = Schema.NullOr(int(1, 1_000_000))

/** Seconds that a message is invisible after it was read. */
const defaultVisibility = 30

/** A function that is called with messages, in each process of the service. */
export const QueueConsumer = Schema.Struct({
  function: FunctionName,
  /** Messages of a call, at most. */
  batch: int(1, 100),
  /** Calls at a time of a process. */
  concurrency: int(1, 100),
  /** Seconds that messages are invisible from the time they are read, which a call may take at most. */
  visibility: int(1, 86_400),
  /** Whether messages of a group are received in order. */
  grouped: Schema.Boolean
})
export type QueueConsumer = typeof QueueConsumer.Type

const { batch, concurrency, function: called, grouped, visibility } = QueueConsumer.fields
/** null: none. */
const NewConsumer = Schema.NullOr(
  Schema.Struct({
    function: called,
    batch: Schema.optionalKey(batch),
    concurrency: Schema.optionalKey(concurrency),
    visibility: Schema.optionalKey(visibility),
    grouped: Schema.optionalKey(grouped)
  })
)
export const consumerOf = (given: typeof NewConsumer.Type): QueueConsumer | null =>
  given && { batch: 1, concurrency: 1, visibility: defaultVisibility, grouped: false, ...given }

export const NewQueue = Schema.Struct({
  name: QueueName,
  /** Faster, but a crash of PostgreSQL empties it. */
  unlogged: Schema.optionalKey(Schema.Boolean),
  max_reads: Schema.optionalKey(MaxReads),
  consumer: Schema.optionalKey(NewConsumer)
}).check(
  Schema.makeFilter(
    ({ max_reads, name }: { readonly max_reads?: number | null; readonly name: string }) =>
      max_reads == null ||
      name.length <= 42 || { path: ["name"], issue: "Expected 42 characters at most, with max_reads" }
  )
)
export type NewQueue = typeof NewQueue.Type

export const QueueChange = Schema.Struct({
  max_reads: Schema.optionalKey(MaxReads),
  consumer: Schema.optionalKey(NewConsumer)
})
export type QueueChange = typeof QueueChange.Type

/** A queue as the management API returns it. */
export const Queue = Schema.Struct({
  name: QueueName,
  unlogged: Schema.Boolean,
  max_reads: MaxReads,
  consumer: Schema.NullOr(QueueConsumer),
  created_at: Schema.String,
  /** Messages that are neither acknowledged nor dead: visible, delayed and in flight. */
  depth: Schema.Int,
  visible: Schema.Int,
  /** Read and not yet visible again. */
  in_flight: Schema.Int,
  /** Of the oldest message, in seconds; null without one. */
  oldest_age: Schema.NullOr(Schema.Finite),
  dead: Schema.Int,
  /** Whether the numbers are; above 10,000 they are estimates. */
  exact: Schema.Boolean
})
export type Queue = typeof Queue.Type

/** A year. */
const Seconds = int(0, 31_536_000)
const Message = { message: Schema.Unknown, headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) }
const Group = { group: Schema.optionalKey(Schema.NonEmptyString.check(Schema.isMaxCodePoints(128))) }
const Delay = { delay: Schema.optionalKey(Seconds) }

/** One message, or up to 1,000; the delay is that of all. */
export const Sending = Schema.Union([
  Schema.Struct({ ...Message, ...Group, ...Delay }),
  Schema.Struct({
    messages: Schema.Array(Schema.Struct({ ...Message, ...Group })).check(
      Schema.isMinLength(1),
      Schema.isMaxLength(1_000)
    ),
    ...Delay
  })
])

export const Receiving = Schema.Struct({
  max: Schema.optionalKey(int(1, 100)),
  visibility: Schema.optionalKey(Seconds),
  /** Seconds to wait for a message. */
  wait: Schema.optionalKey(int(0, 20)),
  /** Whether messages of a group are received in order. */
  grouped: Schema.optionalKey(Schema.Boolean)
})

export type Received = Required<typeof Receiving.Type>
export const received = ({ grouped, max, visibility, wait }: typeof Receiving.Type): Received => ({
  max: max ?? 1,
  visibility: visibility ?? defaultVisibility,
  wait: wait ?? 0,
  grouped: grouped ?? false
})

/** Messages as they were received; with `read_ct`, only if no one has read them since. */
const Receipts = Schema.Array(
  Schema.Struct({ msg_id: int(1, Number.MAX_SAFE_INTEGER), read_ct: Schema.optionalKey(int(0, 2_147_483_647)) })
).check(Schema.isMinLength(1), Schema.isMaxLength(1_000))

export const Acknowledging = Schema.Struct({
  messages: Receipts,
  /** Keep the messages in the archive of the queue. */
  archive: Schema.optionalKey(Schema.Boolean)
})
export type Acknowledging = typeof Acknowledging.Type

export const Extending = Schema.Struct({ messages: Receipts, visibility: Seconds })
export type Extending = typeof Extending.Type

/** A message as pgmq returns it. */
export const QueueMessage = Schema.Struct({
  msg_id: Schema.Int,
  read_ct: Schema.Int,
  enqueued_at: Schema.String,
  last_read_at: Schema.NullOr(Schema.String),
  vt: Schema.String,
  message: Schema.Unknown,
  headers: Schema.Unknown
})

/** Where the dashboard looks at messages. */
export const MessagePlace = Schema.Literals(["queue", "dead", "archive"])
export type MessagePlace = typeof MessagePlace.Type
