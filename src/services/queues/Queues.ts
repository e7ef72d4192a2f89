import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Conflict, type NotFound, NotImplemented, Unavailable } from "../../domain/errors.ts"
import {
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
      const asService = sql`select set_config('role', ${serviceRole}, true)`
      const asLogin = sql`select set_config('role', 'none', true)`
      const requireMeta = Effect.flatMap(
        sql<{ there: boolean }>`select to_regclass('pgmq.meta') is not null as there`,
        ([row]) => (row?.there === true ? Effect.void : Effect.fail(unusable("it has no table meta")))
      )
      const asked = <A, E>(effect: Effect.Effect<A, E | SqlError.SqlError | Schema.SchemaError>) =>
        onOwnTables(sql.withTransaction(Effect.andThen(Effect.andThen(asService, requireMeta), effect)), refusals)

      /** With the numbers of each, which are counted now. */
      const counted = (meta: typeof Meta.Type) =>
        Effect.gen(function* () {
          const name = meta.name as QueueName
          const dead = yield* sql<{ there: boolean }>`
            select to_regclass(${placeOf(name, "dead")}) is not null as there`
          const deadSql = dead[0]?.there === true ? `(select count(*) from ${placeOf(name, "dead")})` : "0"
          const [row] = yield* sql.unsafe<Pick<Queue, "depth" | "visible" | "in_flight" | "oldest_age" | "dead">>(
            `select count(*)::float8 as depth, count(*) filter (where vt <= now())::float8 as visible,
               count(*) filter (where vt > now() and read_ct > 0)::float8 as in_flight,
               extract(epoch from now() - min(enqueued_at))::float8 as oldest_age, ${deadSql}::float8 as dead
             from ${tableOf("q", name)}`
          )
          const none = { depth: 0, visible: 0, in_flight: 0, oldest_age: null, dead: 0 }
          return Queue.make({ ...meta, name, ...(row ?? none) })
        })

      const meta = (queue: QueueName) =>
        Effect.flatMap(metas(`${metaSql} where queue_name = $1`, [queue]), ([found]) =>
          found === undefined ? Effect.fail(queueNotFound(queue)) : Effect.succeed(found)
        )
      const one = (queue: QueueName) => Effect.flatMap(meta(queue), counted)

      /** Runs statements about a queue that exists, as the service role, and records them. */
      const changed = <A>(
        queue: QueueName,
        text: string,
        params: ReadonlyArray<unknown>,
        result: (row: Record<string, unknown> | undefined) => A,
        shown: (result: A) => object | undefined
      ) =>
        asked(
          Effect.gen(function* () {
            const before = yield* meta(queue)
            const [row] = yield* sql.unsafe<Record<string, unknown>>(text, params)
            const done = result(row)
            yield* asLogin
            const after = shown(done)
            yield* recordChange(sql, {
              subject: `queue:${queue}`,
              before: { unlogged: before.unlogged, max_reads: before.max_reads },
              ...(after === undefined ? {} : { after })
            })
            yield* asService
            return done
          })
        )

      /** Whether the database has the service's own functions. */
      const requireOwn = (wanted: boolean) =>
        wanted
          ? Effect.flatMap(
              sql<{ own: boolean }>`select to_regprocedure('pgmq.svc_bury(text)') is not null as own`,
              ([row]) => (row?.own === true ? Effect.void : Effect.fail(noDeadLetters))
            )
          : Effect.void

      const setSql = "update pgmq.meta set max_reads = $2::int4 where queue_name = $1"

      const create = Effect.fn("Queues.create")(({ max_reads = null, name, unlogged = false }: NewQueue) =>
        asked(
          Effect.gen(function* () {
            yield* requireOwn(max_reads !== null)
            const [taken] = yield* metas(`${metaSql} where lower(queue_name) = lower($1)`, [name])
            if (taken !== undefined) {
              return yield* new Conflict({ error: `A queue ${taken.name} exists`, code: "QUEUE_EXISTS" })
            }
            yield* sql.unsafe(unlogged ? "select pgmq.create_unlogged($1)" : 'select pgmq."create"($1)', [name])
            if (max_reads !== null) yield* sql.unsafe(setSql, [name, max_reads])
            const made = yield* one(name)
            yield* asLogin
            yield* recordChange(sql, { subject: `queue:${name}`, after: { unlogged, max_reads } })
            return made
          })
        )
      )

      const update = Effect.fn("Queues.update")(function* (queue: QueueName, { max_reads }: QueueChange) {
        if (max_reads !== undefined) {
          yield* onOwnTables(requireOwn(true))
          yield* changed(
            queue,
            setSql,
            [queue, max_reads],
            () => undefined,
            () => ({ max_reads })
          )
        }
        return yield* asked(one(queue))
      })

      return Queues.of({
        list: asked(Effect.flatMap(metas(`${metaSql} order by 1`), (all) => Effect.forEach(all, counted))),
        find: (queue) => asked(one(queue)),
        create,
        update,
        remove: (queue) =>
          changed(
            queue,
            "select pgmq.drop_queue($1)",
            [queue],
            () => undefined,
            () => undefined
          ),
        purge: (queue) =>
          changed(
            queue,
            "select pgmq.purge_queue($1)::float8 as count",
            [queue],
            (row) => Number(row?.["count"]),
            (deleted) => ({ deleted })
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
          Effect.gen(function* () {
            const dead = yield* asked(metas(`${metaSql} where queue_name = $1`, [deadLettersOf(queue)]))
            if (dead.length === 0) {
              yield* asked(meta(queue))
              return 0
            }
            return yield* changed(
              queue,
              putBackSql(queue),
              [ids === undefined ? null : ids.map(String)],
              (row) => Number(row?.["count"]),
              (count) => ({ put_back: count })
            )
          })
      })
    })
  )
}
