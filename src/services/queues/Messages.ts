import { Clock, Context, Effect, Exit, Layer, Option } from "effect"
import { type DatabaseError, type NotFound, type TooManyRequests, type Unavailable } from "../../domain/errors.ts"
import {
  type Acknowledging,
  type Extending,
  queueNotFound,
  type QueueName,
  type Received,
  tableOf
} from "../../domain/queues/Queue.ts"
import { ExposedSchemas } from "../catalogue/ExposedSchemas.ts"
import { type Actor, type Database, Db } from "../ports/Db.ts"
import { Shutdown } from "../Shutdown.ts"
import { makeWaiting } from "./Waiting.ts"

/** $1: the queue, $2: the body of the request, as text because numbers may exceed JavaScript's precision. */
const sendSql = `
  select json_build_object('ids', coalesce(json_agg(id), '[]'))::text from pgmq.send_batch($1::text,
    array(select m -> 'message' from jsonb_array_elements(coalesce($2::jsonb -> 'messages', jsonb_build_array($2::jsonb)))
      with ordinality u(m, n) order by n),
    array(select nullif(coalesce(m -> 'headers', '{}') || case when m ? 'group'
        then jsonb_build_object('x-pgmq-group', m -> 'group') else '{}' end, '{}')
      from jsonb_array_elements(coalesce($2::jsonb -> 'messages', jsonb_build_array($2::jsonb))) with ordinality u(m, n) order by n),
    clock_timestamp() + make_interval(secs => coalesce(($2::jsonb ->> 'delay')::int, 0))) id`

/**
 * $1: the queue, $2: visibility timeout, $3: how many. Also the ids, and the ms until a message becomes visible: of those
 * that were not at the start of the statement, because one may become visible while it runs.
 */
const receiveSql = (queue: QueueName, name: "read" | "read_grouped") => `
  select coalesce(json_agg(row_to_json(m)), '[]')::text, coalesce(json_agg(json_build_object('msg_id', msg_id, 'read_ct', read_ct)), '[]')::text,
    (select (extract(epoch from min(vt) - clock_timestamp()) * 1000)::float8 from ${tableOf("q", queue)} where vt > statement_timestamp())
  from pgmq.${name}($1::text, $2::int, $3::int) m`

/** The messages of $1, of which those with a `read_ct` must not have been read since. */
const given = `json_to_recordset($1::json) r(msg_id int8, read_ct int4)`
const matching = "q.msg_id = r.msg_id and (r.read_ct is null or q.read_ct = r.read_ct)"
const answer = (name: string) => `json_build_object('${name}', coalesce(json_agg(msg_id order by msg_id), '[]'))::text`

/** `lastRead`: the archive of the extension has no `last_read_at` in its older versions. */
const acknowledgeSql = (queue: QueueName, archive: boolean, lastRead = true) => {
  const gone = `with gone as (delete from ${tableOf("q", queue)} q using ${given} where ${matching} returning q.*)`
  if (!archive) return `${gone} select ${answer("acked")} from gone`
  const columns = `msg_id, read_ct, enqueued_at, ${lastRead ? "last_read_at, " : ""}vt, message, headers`
  return `${gone}, kept as (insert into ${tableOf("a", queue)} (${columns}) select ${columns} from gone returning msg_id)
    select ${answer("acked")} from kept`
}

/** $2: seconds from now, $3: the queue. `set_vt` notifies waiting receivers. */
const extendSql = (queue: QueueName) => `
  with changed as (update ${tableOf("q", queue)} q set vt = clock_timestamp() + make_interval(secs => $2::int)
    from ${given} where ${matching} returning q.msg_id),
  notified as materialized (select from pgmq.set_vt($3::text, '{}'::int8[], 0) where $2::int = 0)
  select ${answer("extended")} from changed where (select count(*) from notified) >= 0`

type Failure = NotFound | DatabaseError | Unavailable

/** The queue's table is missing, or the schema or its functions. */
const isMissing = ({ code, error }: DatabaseError) =>
  code === "3F000" || ((code === "42P01" || code === "42883") && error.includes("pgmq."))

/** Messages of queues, for callers: with their role, rights and policies. Answers are JSON text. */
export class QueueMessages extends Context.Service<
  QueueMessages,
  {
    /** `{"ids":[…]}`, committed. `body`: JSON text that `Sending` accepts. */
    readonly send: (database: Database, actor: Actor, queue: QueueName, body: string) => Effect.Effect<string, Failure>
    /**
     * An array of messages, which are invisible to others for a while; empty if there are none within the time to wait. If
     * the caller disconnects, messages that were read for it become visible at once.
     */
    readonly receive: (
      database: Database,
      actor: Actor,
      queue: QueueName,
      options: Received
    ) => Effect.Effect<string, Failure | TooManyRequests>
    /** Deletes messages, or moves them to the archive: `{"acked":[…]}`, those that were there. */
    readonly acknowledge: (
      database: Database,
      actor: Actor,
      queue: QueueName,
      given: Acknowledging
    ) => Effect.Effect<string, Failure>
    /** Sets how long messages are invisible from now on: `{"extended":[…]}`, those that were there. */
    readonly extend: (
      database: Database,
      actor: Actor,
      queue: QueueName,
      given: Extending
    ) => Effect.Effect<string, Failure>
  }
>()("svc/services/QueueMessages") {
  static readonly layer = Layer.effect(
    QueueMessages,
    Effect.gen(function* () {
      const { main } = yield* Db
      const { schemas, searchPath } = yield* ExposedSchemas
      const shutdown = yield* Shutdown
      const waiting = yield* makeWaiting
      const path = searchPath(schemas[0])

      const run = (
        database: Database,
        actor: Actor,
        queue: QueueName,
        text: string,
        params: ReadonlyArray<string>
      ): Effect.Effect<ReadonlyArray<unknown>, Failure> =>
        Effect.catchTag(
          database.run(actor, { text, params, access: "write", searchPath: path }),
          "DatabaseError",
          (error) => Effect.fail(isMissing(error) ? queueNotFound(queue) : error)
        )
      const text = (row: ReadonlyArray<unknown>) => String(row[0])
      /** Receivers in this process learn of it without a notification. */
      const waking = <A, E>(database: Database, queue: QueueName, done: Effect.Effect<A, E>) =>
        database === main ? Effect.tap(done, () => Effect.sync(() => waiting.wake(queue.toLowerCase()))) : done

      const extend = (database: Database, actor: Actor, queue: QueueName, { messages, visibility }: Extending) =>
        Effect.map(
          run(database, actor, queue, extendSql(queue), [JSON.stringify(messages), String(visibility), queue]),
          text
        )

      /** Reads once. What an interrupted caller would get becomes visible to others. */
      const look = (database: Database, actor: Actor, queue: QueueName, options: Received) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const sql = receiveSql(queue, options.grouped ? "read_grouped" : "read")
            const params = [queue, String(options.visibility), String(options.max)]
            const [messages, receipts, next] = yield* run(database, actor, queue, sql, params)
            const found = { json: String(messages), next: next === null ? undefined : Number(next) }
            if (receipts === "[]") return { ...found, empty: true }
            const given = { messages: JSON.parse(String(receipts)) as Extending["messages"], visibility: 0 }
            return yield* Effect.onExit(restore(Effect.as(Effect.yieldNow, { ...found, empty: false })), (exit) =>
              Exit.isSuccess(exit) ? Effect.void : Effect.ignore(extend(database, actor, queue, given))
            )
          })
        )

      const receive = Effect.fnUntraced(function* (
        database: Database,
        actor: Actor,
        queue: QueueName,
        options: Received
      ) {
        const first = yield* look(database, actor, queue, options)
        if (!first.empty || options.wait === 0) return first.json
        const until = (yield* Clock.currentTimeMillis) + options.wait * 1_000
        const client = actor.client ?? actor.role
        // A branch has no listener, and so is asked every second.
        const place = database === main ? queue.toLowerCase() : `${database.name}/${queue.toLowerCase()}`
        const receiver = yield* waiting.enter(place, `${actor.role} ${options.grouped} ${actor.claims}`, client)
        for (;;) {
          yield* receiver.looks
          const found = yield* look(database, actor, queue, options)
          const left = until - (yield* Clock.currentTimeMillis)
          if (!found.empty) yield* receiver.found
          if (!found.empty || left <= 0 || shutdown.begun()) return found.json
          const next = database === main ? found.next : Math.min(found.next ?? Infinity, 1_000)
          if (Option.isNone(yield* Effect.timeoutOption(receiver.woken(next), left))) return found.json
        }
      }, Effect.scoped)

      return QueueMessages.of({
        send: (database, actor, queue, body) => Effect.map(run(database, actor, queue, sendSql, [queue, body]), text),
        receive,
        acknowledge: (database, actor, queue, { archive = false, messages }) => {
          const by = (lastRead: boolean) =>
            run(database, actor, queue, acknowledgeSql(queue, archive, lastRead), [JSON.stringify(messages)])
          const done = Effect.catchIf(
            by(true),
            ({ _tag, code }) => archive && _tag === "DatabaseError" && code === "42703",
            () => by(false)
          )
          return waking(database, queue, Effect.map(done, text))
        },
        extend
      })
    })
  )
}
