import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Layer } from "effect"
import { NotImplemented } from "../../../src/domain/errors.ts"
import { type NewQueue, type QueueName } from "../../../src/domain/queues/Queue.ts"
import { FunctionEngine } from "../../../src/services/ports/functions/FunctionEngine.ts"
import { layerQueueConsumers } from "../../../src/services/queues/Consumers.ts"
import { QueueMessages } from "../../../src/services/queues/Messages.ts"
import { Queues } from "../../../src/services/queues/Queues.ts"
import { Shutdown } from "../../../src/services/Shutdown.ts"
import { layerFakeFunctions } from "../../fakes/functions/invoker.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"
import { eventually } from "../../support/eventually.ts"

const sql = (text: string, params?: ReadonlyArray<unknown>) =>
  Effect.flatMap(Outside, (outside) => outside.sql(text, params))

interface Call {
  readonly queue: string
  readonly messages: ReadonlyArray<{ readonly msg_id: number; readonly read_ct: number; readonly message: unknown }>
}
/** What the functions were called with, in order. */
const calls: Array<Call> = []
const of = (queue: string) => calls.filter((call) => call.queue === queue)
const numbers = (queue: string) => of(queue).flatMap(({ messages }) => messages.map(({ message }) => message))
let [current, most] = [0, 0]
let held = Deferred.makeUnsafe<void>()

const called = (answer: (call: Call) => Effect.Effect<{ readonly status?: number }>) =>
  ((request) =>
    Effect.suspend(() => {
      const call = JSON.parse(String(request.body)) as Call
      calls.push(call)
      return answer(call)
    })) satisfies Parameters<typeof layerFakeFunctions>[0][string]

const functions = layerFakeFunctions({
  good: called(() => Effect.succeed({})),
  bad: called(() => Effect.succeed({ status: 500 })),
  once: called(({ messages }) => Effect.succeed({ status: messages[0]?.read_ct === 1 ? 404 : 204 })),
  slow: called(() =>
    Effect.gen(function* () {
      most = Math.max(most, ++current)
      yield* Effect.sleep("20 millis")
      current--
      return {}
    })
  ),
  held: called(() => Effect.as(Deferred.await(held), {})),
  never: called(() => Effect.never)
})
const deno = Layer.mock(FunctionEngine, { installed: true, version: Effect.succeed("deno 2") })
const noDeno = Layer.mock(FunctionEngine, {
  installed: false,
  version: Effect.fail(new NotImplemented({ error: "Functions need Deno", code: "FUNCTIONS_NOT_INSTALLED" }))
})

const layerQueues = Layer.mergeAll(Queues.layer, functions).pipe(
  Layer.provideMerge(Shutdown.layer),
  Layer.provideMerge(layerDatabase({ name: "queue_consumers" })),
  Layer.orDie
)

/** Starts the consumers of a further replica, until the scope closes. */
const replica = (engine: typeof deno = deno) =>
  Layer.build(
    Layer.fresh(layerQueueConsumers).pipe(Layer.provide(Layer.fresh(QueueMessages.layer)), Layer.provide(engine))
  )

const created = (name: string, given: Omit<NewQueue, "name">) =>
  Effect.flatMap(Queues, (queues) => queues.create({ name: name as QueueName, ...given }))
const send = (queue: string, from: number, to = from) =>
  sql("select pgmq.send_batch($1, array(select to_jsonb(n) from generate_series($2::int, $3::int) n))", [
    queue,
    from,
    to
  ])
const depth = (queue: string) =>
  Effect.map(
    Effect.flatMap(Queues, (queues) => queues.find(queue as QueueName)),
    ({ depth }) => depth
  )
const emptied = (queue: string, millis?: number) => eventually(depth(queue), (n) => n === 0, millis)

layer(layerQueues, live)("consumers of queues", (it) => {
  it.effect("get each message once, whatever the number of replicas, and within their concurrency", () =>
    Effect.gen(function* () {
      yield* replica()
      yield* replica()
      yield* created("many", { consumer: { function: "slow", batch: 7, concurrency: 3, visibility: 600 } })
      yield* send("many", 1, 300)
      yield* emptied("many")
      assert.deepStrictEqual(
        (numbers("many") as Array<number>).toSorted((one, other) => one - other),
        Array.from({ length: 300 }, (_, n) => n + 1)
      )
      assert.isAtMost(Math.max(...of("many").map(({ messages }) => messages.length)), 7)
      assert.isAtMost(most, 6)
      assert.isAbove(most, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("are woken by what is sent later, and keep numbers as they were sent", () =>
    Effect.gen(function* () {
      yield* created("later", { consumer: { function: "good" } })
      yield* replica()
      yield* Effect.sleep("200 millis")
      yield* send("later", 1)
      yield* emptied("later", 5_000)
      assert.deepStrictEqual(numbers("later"), [1])
    }).pipe(Effect.scoped)
  )

  it.effect("get a message again after the timeout unless they respond with 2xx, until it is a dead letter", () =>
    Effect.gen(function* () {
      yield* replica()
      yield* created("failing", { max_reads: 2, consumer: { function: "bad", visibility: 1 } })
      yield* created("retried", { max_reads: 5, consumer: { function: "once", visibility: 1 } })
      yield* created("hanging", { max_reads: 1, consumer: { function: "never", visibility: 1 } })
      yield* created("missing", { max_reads: 1, consumer: { function: "nowhere", visibility: 1 } })
      for (const queue of ["failing", "retried", "hanging", "missing"]) yield* send(queue, 1)
      for (const queue of ["failing", "retried", "hanging", "missing"]) yield* emptied(queue, 20_000)
      assert.deepStrictEqual(
        of("failing").map(({ messages }) => messages[0]?.read_ct),
        [1, 2]
      )
      assert.strictEqual(of("retried").length, 2)
      assert.strictEqual(of("hanging").length, 1)
      const dead = (queue: string) =>
        Effect.map(
          Effect.flatMap(Queues, (queues) => queues.find(queue as QueueName)),
          ({ dead }) => dead
        )
      assert.deepStrictEqual(
        [yield* dead("failing"), yield* dead("retried"), yield* dead("hanging"), yield* dead("missing")],
        [1, 0, 1, 1]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("get messages of a group in order, if they ask for it", () =>
    Effect.gen(function* () {
      yield* replica()
      yield* replica()
      yield* created("line", { consumer: { function: "slow", concurrency: 4, grouped: true } })
      yield* sql(`select pgmq.send_batch('line', array(select to_jsonb(n) from generate_series(1, 20) n),
        array(select jsonb_build_object('x-pgmq-group', n % 2) from generate_series(1, 20) n))`)
      yield* emptied("line", 20_000)
      const got = numbers("line") as Array<number>
      for (const parity of [0, 1]) {
        const group = got.filter((n) => n % 2 === parity)
        assert.deepStrictEqual(
          group,
          group.toSorted((one, other) => one - other)
        )
      }
    }).pipe(Effect.scoped)
  )

  it.effect("are changed while the service runs, and end with their queue", () =>
    Effect.gen(function* () {
      const queues = yield* Queues
      yield* replica()
      const name = "changed" as QueueName
      yield* created(name, {})
      yield* send(name, 1)
      assert.strictEqual((yield* queues.find(name)).consumer, null)
      const { consumer } = yield* queues.update(name, { consumer: { function: "good" } })
      assert.deepStrictEqual(consumer, { function: "good", batch: 1, concurrency: 1, visibility: 30, grouped: false })
      yield* emptied(name)
      yield* queues.update(name, { max_reads: 3 })
      assert.strictEqual((yield* queues.find(name)).consumer?.function, "good")
      yield* queues.update(name, { consumer: null })
      yield* Effect.sleep("200 millis")
      yield* send(name, 2)
      yield* queues.update(name, { consumer: { function: "held" } })
      yield* eventually(
        Effect.sync(() => numbers(name)),
        (got) => got.length === 2
      )
      // A call that has begun is acknowledged, although the consumer has changed since.
      yield* queues.update(name, { consumer: null })
      yield* Deferred.succeed(held, undefined)
      yield* emptied(name)
      yield* queues.update(name, { consumer: { function: "good" } })
      yield* sql("select pgmq.drop_queue('changed')")
      yield* sql(`select pgmq."create"('changed')`)
      assert.strictEqual((yield* queues.find(name)).consumer, null)
      yield* send(name, 3)
      yield* Effect.sleep("300 millis")
      assert.strictEqual(yield* depth(name), 1)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "give messages back at the end of the service, and take none without an engine",
    () =>
      Effect.gen(function* () {
        held = Deferred.makeUnsafe<void>()
        yield* created("ended", { consumer: { function: "held", visibility: 600 } })
        yield* send("ended", 1)
        yield* replica(noDeno).pipe(Effect.andThen(Effect.sleep("300 millis")), Effect.scoped)
        assert.strictEqual(of("ended").length, 0)
        yield* replica().pipe(
          Effect.andThen(
            eventually(
              Effect.sync(() => of("ended")),
              (got) => got.length === 1
            )
          ),
          Effect.scoped
        )
        const [message] = yield* sql("select read_ct, vt <= clock_timestamp() as visible from pgmq.q_ended")
        assert.deepStrictEqual(message, { read_ct: 1, visible: true })
      }),
    20_000
  )
})
