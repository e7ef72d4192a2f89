import { Cause, Effect, FiberMap, FiberSet, Layer, Schedule, Schema, Semaphore, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { type Acknowledging, QueueConsumer, QueueName } from "../../domain/queues/Queue.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { logFailure, onOwnTables, queryRows } from "../OwnTables.ts"
import { Db, serviceActor } from "../ports/Db.ts"
import { FunctionEngine } from "../ports/functions/FunctionEngine.ts"
import { FunctionInvoker } from "../ports/functions/FunctionInvoker.ts"
import { Listener } from "../ports/Listener.ts"
import { Shutdown } from "../Shutdown.ts"
import { QueueMessages } from "./Messages.ts"

/** Seconds of one wait for messages, which is woken by notifications. */
const wait = 3_600
/** The pause after messages could not be read. */
const pause = "10 seconds"
/** How long calls may take at shutdown. */
const drain = "5 seconds"

/** Only of queues that exist: those of that name and time. */
const consumersSql = `select c.queue, c.function, c.batch, c.concurrency, c.visibility, c.grouped from svc.queue_consumers c
  join pgmq.meta m on m.queue_name = c.queue and m.created_at = c.queue_created_at order by 1`
const Row = Schema.Struct({ queue: QueueName, ...QueueConsumer.fields })
type Row = typeof Row.Type

const failedToReceive = (queue: string) => `Failed to receive messages of the queue ${queue}`

/** Handles failures and defects, not interruption. */
const handled = (handle: (cause: Cause.Cause<unknown>) => Effect.Effect<void>) =>
  Effect.catchCause((cause: Cause.Cause<unknown>) =>
    Cause.hasInterruptsOnly(cause) ? Effect.interrupt : handle(cause)
  )

/** Calls functions with the messages of queues of the main database. Any number of processes may, on one database. */
export const layerQueueConsumers = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { main } = yield* Db
    const messages = yield* QueueMessages
    const { version } = yield* FunctionEngine
    const { invoke } = yield* FunctionInvoker
    const shutdown = yield* Shutdown
    const meters = yield* CurrentMeters
    const succeeded = meters.counter("svc_queue_calls_total", { outcome: "succeeded" })
    const failed = meters.counter("svc_queue_calls_total", { outcome: "failed" })
    const rows = queryRows(sql, Row)
    const calls = yield* FiberSet.make<void>()
    const consumers = yield* FiberMap.make<string, void>()

    const receipts = (json: string): Acknowledging => ({ messages: JSON.parse(json) as Acknowledging["messages"] })

    /** Calls the function with messages. They are acknowledged if it responds with 2xx, and else become visible later. */
    const call = (consumer: Row, failing: { logged: boolean }, json: string) => {
      const { function: name, queue, visibility } = consumer
      const invoked = invoke(name, {
        headers: { "content-type": "application/json" },
        body: `{"queue":${JSON.stringify(queue)},"messages":${json}}`
      }).pipe(
        Effect.timeoutOrElse({
          duration: visibility * 1_000,
          orElse: () => Effect.fail({ error: `it took over ${visibility} s` })
        }),
        Effect.flatMap(({ status }) =>
          status < 300 ? Effect.void : Effect.fail({ error: `it responded with ${status}` })
        )
      )
      const acknowledged = messages
        .acknowledge(main, serviceActor, queue, receipts(json))
        .pipe(Effect.retry({ schedule: Schedule.spaced("1 second"), times: visibility }))
      return invoked.pipe(
        Effect.onInterrupt(() =>
          Effect.ignore(messages.extend(main, serviceActor, queue, { ...receipts(json), visibility: 0 }))
        ),
        Effect.andThen(() => {
          succeeded()
          failing.logged = false
          return Effect.asVoid(acknowledged)
        }),
        Effect.catch(({ error }) => {
          failed()
          const log = failing.logged
            ? Effect.void
            : Effect.logWarning(`The function ${name} did not process messages of the queue ${queue}: ${error}`)
          failing.logged = true
          return log
        }),
        handled(logFailure(`Failed to consume messages of the queue ${queue}`))
      )
    }

    const consume = (consumer: Row) =>
      Effect.gen(function* () {
        const { batch: max, concurrency, grouped, queue, visibility } = consumer
        const slots = yield* Semaphore.make(concurrency)
        const failing = { logged: false }
        const next = Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            yield* restore(slots.take(1))
            const json = yield* restore(
              messages.receive(main, serviceActor, queue, { max, visibility, wait, grouped })
            ).pipe(Effect.onError(() => slots.release(1)))
            const called = json === "[]" ? Effect.void : call(consumer, failing, json)
            yield* FiberSet.run(calls, Effect.ensuring(Effect.interruptible(called), slots.release(1)))
          })
        )
        let logged = false
        yield* next.pipe(
          Effect.tap(Effect.sync(() => (logged = false))),
          Effect.catchIf(
            ({ _tag }) => _tag !== "NotFound",
            (failure) => {
              const log = logged ? Effect.void : logFailure(failedToReceive(queue))(Cause.fail(failure))
              logged = true
              return Effect.andThen(log, Effect.sleep(pause))
            }
          ),
          Effect.repeat({ while: () => !shutdown.begun() }),
          Effect.catch(({ error }) => Effect.logWarning(`${consumer.function} no longer consumes messages: ${error}`))
        )
      }).pipe(handled(logFailure(failedToReceive(consumer.queue))))

    /** Begins and ends consumers as the table has them. Calls that have begun end as they are. */
    const load = Effect.gen(function* () {
      const there = yield* sql<{ there: boolean }>`select to_regclass('pgmq.meta') is not null as there`
      const wanted = new Map(
        (there[0]?.there === true ? yield* rows(consumersSql) : []).map((row) => [JSON.stringify(row), row])
      )
      for (const [key] of Array.from(consumers)) if (!wanted.has(key)) yield* FiberMap.remove(consumers, key)
      if (wanted.size === 0) return
      const ready = yield* Effect.match(version, { onFailure: ({ error }) => error, onSuccess: () => undefined })
      if (ready !== undefined) return yield* Effect.logWarning(`No messages of queues are consumed: ${ready}`)
      for (const [key, row] of wanted) yield* FiberMap.run(consumers, key, consume(row), { onlyIfMissing: true })
      return undefined
    }).pipe(
      (loading) => onOwnTables(loading),
      Effect.tapCause(logFailure("Failed to read the consumers of queues")),
      Effect.retry(Schedule.spaced(pause)),
      Effect.ignoreCause
    )

    yield* (yield* (yield* Listener).listen("svc_queue_consumers")).messages.pipe(
      Stream.filter(({ _tag }) => _tag !== "Lost"),
      Stream.runForEach(() => load),
      Effect.forkScoped
    )

    // Added last, so it runs first, while calls still run.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* FiberMap.clear(consumers)
        yield* Effect.timeoutOption(FiberSet.awaitEmpty(calls), drain)
        yield* Effect.timeoutOption(FiberSet.clear(calls), "3 seconds")
      })
    )
  })
)
