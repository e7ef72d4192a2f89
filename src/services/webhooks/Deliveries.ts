import { Clock, Effect, Exit, FiberSet, Layer, Queue, Schedule, Stream } from "effect"
import { type SqlError } from "effect/sql"
import { WebhookLanes } from "../../domain/webhooks/Lanes.ts"
import { leaseSeconds } from "../../domain/webhooks/QueueSql.ts"
import { type WebhookReply } from "../../domain/webhooks/Reply.ts"
import { Listener } from "../ports/Listener.ts"
import { isOutage } from "../OwnTables.ts"
import { makeAlarm } from "./Alarm.ts"
import { type Attempted, type Claimed, WebhookQueue } from "./Queue.ts"
import { WebhookSender } from "./Sender.ts"
import { WebhookSettings } from "./Settings.ts"

/**
 * How long a worker stays awake after the last message, how often it looks meanwhile, and how often later while
 * something is still under way, in ms.
 */
const awakeFor = { millis: 1_000, every: 25, busy: 250 } as const
/** How long it sleeps at most, should nobody wake it, and at least, in ms. */
const sleep = { most: 1_000, least: 20 } as const
/** How long what is under way may take at the end. */
const drain = "5 seconds"
/** Attempts that are not written down yet: with more of them nothing new is claimed. */
const maxUnwritten = 500
/** How often writing down is tried when it is not the database that is away. */
const writeTries = 3

const failed = (error: string): WebhookReply => ({
  status: null,
  body: null,
  error,
  retryAfter: undefined,
  latencyMillis: 0
})

/**
 * The worker: sends what the triggers put into the outbox, at least once each. Any number of processes may run one on the
 * same database. One that is killed leaves leases behind, which end by themselves.
 */
export const layerWebhookDeliveries = Layer.effectDiscard(
  Effect.gen(function* () {
    const { concurrency } = yield* WebhookSettings
    const queue = yield* WebhookQueue
    const sender = yield* WebhookSender
    const { messages } = yield* (yield* Listener).listen("svc_webhooks")

    const lanes = new WebhookLanes<Claimed>(concurrency)
    /** Claimed, and not sent to the end. */
    const held = new Map<string, Claimed>()
    const finished = yield* Queue.unbounded<Attempted>()
    /** Sent, and not written down. */
    const unwritten = new Set<Attempted>()
    const bell = yield* Queue.sliding<void>(1)
    const ring = () => Queue.offerUnsafe(bell, undefined)
    const alarm = yield* makeAlarm(ring)
    let stopping = false
    /** Writing down does not work: nothing more is claimed. */
    let stuck = false
    let told = false

    const whenAway = (error: SqlError.SqlError) =>
      Effect.gen(function* () {
        if (!told) yield* Effect.logWarning("Webhook deliveries wait for the database", error.reason)
        told = true
        yield* Effect.sleep("1 second")
      })

    const giveBack = (jobs: ReadonlyArray<Claimed>) =>
      Effect.suspend(() => {
        const all = jobs.map((job) => held.get(job.id) ?? job)
        for (const { id } of jobs) held.delete(id)
        // Else their leases end.
        return Effect.ignore(queue.giveBack(all), { log: "Warn" })
      })

    const fibers = yield* FiberSet.make<void>()
    const fork = yield* FiberSet.runtime(fibers)()

    const attempt = (job: Claimed) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        yield* Effect.onExit(sender.send(job), (exit) =>
          Effect.gen(function* () {
            const reply = Exit.isSuccess(exit)
              ? exit.value
              : failed(Exit.hasInterrupts(exit) ? "Interrupted: the service was shutting down" : "Internal error")
            if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) {
              yield* Effect.logError(`Webhook message ${job.message_id} could not be sent`, exit.cause)
            }
            ended(job, at, reply, Exit.isFailure(exit) && Exit.hasInterrupts(exit))
          })
        )
      }).pipe(Effect.ignoreCause)

    const ended = (job: Claimed, at: number, reply: WebhookReply, interrupted: boolean) => {
      const { attempt, event_type, id, webhook } = job
      const claim = held.get(id)?.claim ?? job.claim
      const kind = interrupted ? "interrupted" : "queued"
      const attempted: Attempted = { id, webhook, event_type, attempt, claim, reply, at, kind }
      held.delete(id)
      unwritten.add(attempted)
      Queue.offerUnsafe(finished, attempted)
      lanes.done(job, reply.latencyMillis)
      start()
      if (lanes.hungry) ring()
    }

    const start = () => {
      for (let job = stopping ? undefined : lanes.next(); job !== undefined; job = lanes.next()) fork(attempt(job))
    }

    /** Claims what there is room for, and says how many that were. */
    const claim = Effect.gen(function* () {
      const room = lanes.room()
      const claimed = yield* queue.claim(room)
      const fresh = claimed.filter((job) => {
        const there = held.get(job.id)
        // Its lease had ended while we were at it, and nobody else came: it is still ours, by the new claim.
        held.set(job.id, there === undefined ? job : { ...there, claim: job.claim })
        return there === undefined
      })
      lanes.add(fresh, room)
      if (stopping) yield* giveBack(lanes.drop())
      start()
      return claimed.length
    })

    let found = 0
    const round = Effect.gen(function* () {
      if (stopping) return yield* Effect.never
      const busy = stuck || unwritten.size > maxUnwritten
      if (!busy) {
        const count = yield* claim
        told = false
        if (count > 0 && !stopping) {
          found = yield* Clock.currentTimeMillis
          alarm.off()
        }
        if (lanes.hungry) return
      }
      const quiet = (yield* Clock.currentTimeMillis) - found > awakeFor.millis
      // A receiver that does not answer keeps us up anyway: writers need not notify meanwhile.
      let wait: number = quiet ? awakeFor.busy : awakeFor.every
      if (quiet && held.size === 0) {
        alarm.on()
        const full = Array.from(lanes.room().held).flatMap(([webhook, room]) => (room === 0 ? [webhook] : []))
        const due = (yield* queue.nextDue(full)) ?? sleep.most
        wait = Math.min(sleep.most, Math.max(sleep.least, due))
      }
      yield* Effect.timeoutOption(Queue.take(bell), wait)
    }).pipe(
      Effect.catchTag("SqlError", whenAway),
      Effect.catchCause((cause) =>
        Effect.andThen(Effect.logError("Webhook deliveries failed", cause), Effect.sleep("1 second"))
      )
    )

    const write = (batch: ReadonlyArray<Attempted>, again = false, tries = writeTries): Effect.Effect<void> =>
      queue.finish(batch, again).pipe(
        Effect.flatMap(({ inactive }) => {
          stuck = false
          return Effect.forEach(inactive, (webhook) => giveBack(lanes.drop(webhook)), { discard: true })
        }),
        Effect.catch((error) => {
          if (isOutage(error)) {
            stuck = true
            return Effect.andThen(whenAway(error), write(batch, true))
          }
          // Another transaction was in the way, or a message went away meanwhile.
          if (tries > 1) return Effect.delay(write(batch, again, tries - 1), "100 millis")
          if (batch.length > 1) return Effect.forEach(batch, (one) => write([one], again), { discard: true })
          return Effect.logError("A webhook delivery can't be written down", error)
        })
      )

    yield* Effect.forever(round).pipe(Effect.forkScoped)
    yield* Queue.takeAll(finished).pipe(
      Effect.flatMap((batch) =>
        Effect.ensuring(
          write(batch),
          Effect.sync(() => batch.forEach((attempted) => unwritten.delete(attempted)))
        )
      ),
      Effect.catchCause((cause) => Effect.logError("Webhook deliveries can't be written down", cause)),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Effect.suspend(() =>
      queue.renew([...held.values(), ...Array.from(unwritten, ({ claim, id }) => ({ id, claim: claim ?? "" }))])
    ).pipe(
      Effect.ignore({ log: "Debug" }), // the next one, or a new claim
      Effect.repeat(Schedule.spaced(`${leaseSeconds / 3} seconds`)),
      Effect.forkScoped
    )
    yield* messages.pipe(
      Stream.runForEach((message) => {
        ring()
        // A webhook that was changed: what waits here knows it as it was.
        const changed = message._tag === "Notification" ? Number(message.payload) : 0
        return changed > 0 ? Effect.andThen(giveBack(lanes.drop(changed)), Effect.sync(ring)) : Effect.void
      }),
      Effect.forkScoped
    )

    // Added last, so run first: everything above still works.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        stopping = true
        yield* giveBack(lanes.drop())
        yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), drain)
        yield* FiberSet.clear(fibers)
        yield* Effect.sleep("10 millis").pipe(
          Effect.repeat({ until: () => unwritten.size === 0 }),
          Effect.timeoutOption("3 seconds")
        )
      })
    )
  })
)
