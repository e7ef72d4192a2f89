import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Conflict, type NotFound, NotImplemented, Unavailable } from "../../domain/errors.ts"
import {
  consumerOf,
  deadLettersOf,
  type MessagePlace,
  type NewQueue,
  Queue,
  type QueueChange,
  type QueueName,
  queueNotFound,
  tableOf
} from "../../domain/queues/Queue.ts"
import { text } from "../../domain/Settings.ts"
import { isoSql } from "../../domain/sql/IsoTimestamp.ts"
import { recordChange } from "../audit/Change.ts"
import { onOwnTables, queryRows } from "../OwnTables.ts"
import { makeConsumerRecords } from "./ConsumerRecords.ts"
import { countQueue } from "./Counts.ts"

/** Rows of `pgmq.meta`, without the column that only the service's own has. */
const Meta = Schema.Struct({
  name: Schema.String,
  unlogged: Schema.Boolean,
  max_reads: Schema.NullOr(Schema.Int),
  created_at: Schema.String
})

const metaSql = `select queue_name::text as name, is_unlogged as unlogged,
  (to_jsonb(m) ->> 'max_reads')::int4 as max_reads, ${isoSql("created_at")} as created_at from pgmq.meta m`

const noDeadLetters = new NotImplemented({
  error: "The database has the extension pgmq, which has no dead letters; leave out max_reads",
  code: "QUEUE_EXTENSION"
})

const unusable = (why: string) =>
  new NotImplemented({
    error: `The schema pgmq of the database can't be used: ${why}`,
    code: "QUEUE_EXTENSION",
    hint: "Create the extension pgmq in it and grant the role of service keys its use, or drop the schema and start the service again"
  })

/** What is refused by a schema that is not the service's own, or by a change at the same time. */
const refusals = {
  "42501": unusable,
  "42703": unusable,
  "42883": unusable,
  "42710": () => new Conflict({ error: "A queue of this name exists", code: "QUEUE_EXISTS" }),
  "42P01": () =>
    new Unavailable({ error: "The queue was deleted at the same time; retry", code: "DATABASE_BUSY", retry_after: 1 })
} as const

/** Where the messages of a place are. */
const placeOf = (queue: QueueName, place: MessagePlace) =>
  place === "archive" ? tableOf("a", queue) : tableOf("q", place === "dead" ? deadLettersOf(queue) : queue)

const listedSql = (queue: QueueName, place: MessagePlace) => `
  select coalesce(json_agg(m), '[]')::text as json from (
    select msg_id, read_ct, enqueued_at, to_jsonb(t) -> 'last_read_at' as last_read_at, vt, message, headers
    from ${placeOf(queue, place)} t where $1::int8 is null or msg_id < $1::int8 order by msg_id desc limit $2::int) m`

/** $1: the ids, or null for all. The header of dead letters is removed. At most 10,000 at a time. */
const putBackSql = (queue: QueueName) => `
  with gone as (delete from ${placeOf(queue, "dead")} where msg_id in (
      select msg_id from ${placeOf(queue, "dead")} where $1::int8[] is null or msg_id = any($1::int8[])
      order by msg_id limit 10000 for update skip locked) returning msg_id, message, headers),
  back as (insert into ${tableOf("q", queue)} (vt, message, headers)
    select clock_timestamp(), message, coalesce(headers -> 'x-svc-dead' -> 'headers', nullif(headers - 'x-svc-dead', '{}'))
    from gone order by msg_id returning 1)
  select count(*)::int4 as count from back`

type Failure = NotFound | Conflict | NotImplemented | Unavailable

/** Queues of the main database, for operators: as the role of service keys. */
export class Queues extends Context.Service<
  Queues,
  {
    /** By name. */
    readonly list: Effect.Effect<ReadonlyArray<Queue>, Failure>
    readonly find: (queue: QueueName) => Effect.Effect<Queue, Failure>
    readonly create: (given: NewQueue) => Effect.Effect<Queue, Failure>
    readonly update: (queue: QueueName, change: QueueChange) => Effect.Effect<Queue, Failure>
    /** Drops the queue with its archive. The queue of its dead letters stays. */
    readonly remove: (queue: QueueName) => Effect.Effect<void, Failure>
    /** The number of messages that were deleted. */
    readonly purge: (queue: QueueName) => Effect.Effect<number, Failure>
    /** JSON text of an array, newest first; `before` is the last id of the page before. */
    readonly messages: (
      queue: QueueName,
      options: { readonly place: MessagePlace; readonly limit: number; readonly before?: number }
    ) => Effect.Effect<string, Failure>
    /** Sends dead letters again, all or those with the ids, as new messages; the number of them. */
    readonly putBack: (queue: QueueName, ids: ReadonlyArray<number> | undefined) => Effect.Effect<number, Failure>
  }
>()("svc/services/Queues") {
  static readonly layer = Layer.effect(
    Queues,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const serviceRole = yield* text("SVC_SERVICE_ROLE", "postgres")
      const metas = queryRows(sql, Meta)
      const consumers = makeConsumerRecords(sql)
      const asService = sql`select set_config('role', ${serviceRole}, true)`
      const asLogin = sql`select set_config('role', 'none', true)`
      const requireMeta = Effect.flatMap(
        sql<{ there: boolean }>`select to_regclass('pgmq.meta') is not null as there`,
        ([row]) => (row?.there === true ? Effect.void : Effect.fail(unusable("it has no table meta")))
      )
      /** Statements on the service's own tables, amid those of the service role. */
      const onOwn = <A, E>(effect: Effect.Effect<A, E>) => Effect.andThen(asLogin, Effect.tap(effect, asService))
      const asked = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError | Schema.SchemaError>) =>
        onOwnTables(sql.withTransaction(Effect.andThen(Effect.andThen(asService, requireMeta), effect)), refusals)

      const meta = (queue: QueueName) =>
        Effect.flatMap(metas(`${metaSql} where queue_name = $1`, [queue]), ([found]) =>
          found === undefined ? Effect.fail(queueNotFound(queue)) : Effect.succeed(found)
        )
      const counted = (found: ReadonlyArray<typeof Meta.Type>) =>
        Effect.flatMap(onOwn(consumers.join(found)), (all) =>
          Effect.forEach(all, (one) =>
            Effect.map(countQueue(sql, one.name as QueueName), (counts) =>
              Queue.make({ ...one, name: one.name as QueueName, ...counts })
            )
          )
        )
      const one = Effect.fnUntraced(function* (queue: QueueName) {
        const [found] = yield* counted([yield* meta(queue)])
        return found ?? (yield* queueNotFound(queue))
      })

      /** Changes a queue that exists, as the service role, and records what is shown of it. */
      const changed = <A, E>(
        queue: QueueName,
        change: Effect.Effect<A, E>,
        shown: (done: A) => object | undefined = () => undefined
      ) =>
        Effect.gen(function* () {
          const [before] = yield* onOwn(consumers.join([yield* meta(queue)]))
          const done = yield* change
          const after = shown(done)
          const { consumer = null, max_reads, unlogged } = before ?? {}
          yield* onOwn(
            recordChange(sql, {
              subject: `queue:${queue}`,
              before: { unlogged, max_reads, consumer },
              ...(after === undefined ? {} : { after })
            })
          )
          return done
        })
      const countOf = (text: string, params: ReadonlyArray<unknown>) =>
        Effect.map(sql.unsafe<{ count: number }>(text, params), ([row]) => Number(row?.count))

      /** Whether the database has the service's own functions. */
      const requireOwn = (wanted: boolean) =>
        wanted
          ? Effect.flatMap(
              sql<{ own: boolean }>`select to_regprocedure('pgmq.svc_max_reads(text)') is not null as own`,
              ([row]) => (row?.own === true ? Effect.void : Effect.fail(noDeadLetters))
            )
          : Effect.void

      const setSql = "update pgmq.meta set max_reads = $2::int4 where queue_name = $1"

      const setConsumer = (queue: QueueName, given: QueueChange["consumer"]) => {
        if (given === undefined) return Effect.void
        const consumer = consumerOf(given)
        return onOwn(consumer === null ? consumers.remove(queue) : consumers.set(queue, consumer))
      }

      const create = Effect.fn("Queues.create")(({ consumer, max_reads = null, name, unlogged = false }: NewQueue) =>
        asked(
          Effect.gen(function* () {
            yield* requireOwn(max_reads !== null)
            const [taken] = yield* metas(`${metaSql} where lower(queue_name) = lower($1)`, [name])
            if (taken !== undefined) {
              return yield* new Conflict({ error: `A queue ${taken.name} exists`, code: "QUEUE_EXISTS" })
            }
            yield* sql.unsafe(unlogged ? "select pgmq.create_unlogged($1)" : 'select pgmq."create"($1)', [name])
            if (max_reads !== null) yield* sql.unsafe(setSql, [name, max_reads])
            yield* setConsumer(name, consumer)
            const made = yield* one(name)
            const after = { unlogged, max_reads, consumer: made.consumer }
            yield* onOwn(recordChange(sql, { subject: `queue:${name}`, after }))
            return made
          })
        )
      )

      const update = Effect.fn("Queues.update")((queue: QueueName, { consumer, max_reads }: QueueChange) =>
        asked(
          Effect.gen(function* () {
            if (max_reads === undefined && consumer === undefined) return yield* one(queue)
            yield* requireOwn(max_reads !== undefined)
            const change = Effect.gen(function* () {
              if (max_reads !== undefined) yield* sql.unsafe(setSql, [queue, max_reads])
              yield* setConsumer(queue, consumer)
              return yield* one(queue)
            })
            return yield* changed(queue, change, (now) => ({ max_reads: now.max_reads, consumer: now.consumer }))
          })
        )
      )

      return Queues.of({
        list: asked(Effect.flatMap(metas(`${metaSql} order by 1`), counted)),
        find: (queue) => asked(one(queue)),
        create,
        update,
        remove: (queue) => {
          const dropped = Effect.andThen(sql`select pgmq.drop_queue(${queue})`, onOwn(consumers.remove(queue)))
          return asked(Effect.asVoid(changed(queue, dropped)))
        },
        purge: (queue) =>
          asked(
            changed(queue, countOf("select pgmq.purge_queue($1)::float8 as count", [queue]), (deleted) => ({ deleted }))
          ),
        messages: (queue, { before, limit, place }) =>
          asked(
            Effect.gen(function* () {
              yield* meta(queue)
              if (place === "dead") {
                const [dead] = yield* metas(`${metaSql} where queue_name = $1`, [deadLettersOf(queue)])
                if (dead === undefined) return "[]"
              }
              const [row] = yield* sql.unsafe<{ json: string }>(listedSql(queue, place), [before ?? null, limit])
              return row?.json ?? "[]"
            })
          ),
        putBack: (queue, ids) =>
          asked(
            Effect.gen(function* () {
              const dead = yield* metas(`${metaSql} where queue_name = $1`, [deadLettersOf(queue)])
              if (dead.length === 0) return yield* Effect.as(meta(queue), 0)
              const back = countOf(putBackSql(queue), [ids === undefined ? null : ids.map(String)])
              return yield* changed(queue, back, (count) => ({ put_back: count }))
            })
          )
      })
    })
  )
}
