import { Clock, Effect, Exit, FiberSet, Layer, Queue, Schedule, Stream } from "effect"
import { type SqlError } from "effect/sql"
import { type WebhookReply } from "../../domain/webhooks/Delivery.ts"
import { EndpointQueue } from "../../domain/webhooks/FairQueue.ts"
import { Listener } from "../ports/Listener.ts"
import { isOutage, logFailure } from "../OwnTables.ts"
import { type Attempted, type Claimed, leaseSeconds, makeWebhookOutbox } from "./Outbox.ts"
import { makeWebhookSender } from "./Sender.ts"
import { WebhookSettings } from "./Settings.ts"
import { wakeUpLock } from "../../domain/sql/AdvisoryLocks.ts"
import { makeWakeUps } from "../WakeUps.ts"
import { monotonicMillis } from "../access/RateLimits.ts"

/** How long a worker stays awake after the last message, and the limits of its pause between two polls then, in ms. */
const awake = { millis: 1_000, poll: 25, pollBusy: 250 } as const
/**
 * Limits of a worker's sleep without a wake-up, in ms: `max` while writers notify, `unsure` while some may not yet. A
 * message that is due later, such as a retry or one that a killed worker had claimed, ends the sleep when it is due.
 */
const sleep = { max: 10_000, unsure: 1_000, min: 20 } as const
/** How long deliveries in flight may take at shutdown. */
const drain = "5 seconds"
/** Maximum number of unrecorded attempts; above it no message is claimed. */
const maxUnrecorded = 500
/**
 * How long attempts are collected before they are recorded together: a statement costs as much as twenty attempts in it.
 * The attempt after a pause is recorded at once.
 */
const recordEvery = "25 millis"
/** Tries to record an attempt, not counting outages of the database. */
const recordTries = 3

const failed = (error: string): WebhookReply => ({
  status: null,
  body: null,
  error,
  retryAfter: undefined,
  latencyMillis: 0
})

/**
 * The worker: sends each message that triggers put into the outbox at least once. Any number of processes may run one
 * on the same database. The leases of a killed worker expire.
 */
export const layerWebhookDeliveries = Layer.effectDiscard(
  Effect.gen(function* () {
    const { concurrency } = yield* WebhookSettings
    const outbox = yield* makeWebhookOutbox
    const send = yield* makeWebhookSender
    const { messages } = yield* (yield* Listener).listen("svc_webhooks")

    const queue = new EndpointQueue<Claimed>(concurrency)
    /** Claimed, and the attempt has not ended. */
    const held = new Map<string, Claimed>()
    const finished = yield* Queue.unbounded<Attempted>()
    /** Attempted, and not recorded. */
    const unrecorded = new Set<Attempted>()
    const wakeUp = yield* Queue.sliding<void>(1)
    const wake = () => Queue.offerUnsafe(wakeUp, undefined)
    const wakeUps = yield* makeWakeUps(wakeUpLock, wake)
    let stopping = false
    /** Attempts can't be recorded: nothing more is claimed. */
    let stuck = false
    let outageLogged = false

    const waitOut = (error: SqlError.SqlError) =>
      Effect.gen(function* () {
        const what = isOutage(error) ? "it is unreachable" : error.message
        if (!outageLogged) yield* Effect.logWarning(`Webhook deliveries are waiting for the database: ${what}`)
        outageLogged = true
        yield* Effect.sleep("1 second")
      })

    const release = (jobs: ReadonlyArray<Claimed>) =>
      Effect.suspend(() => {
        const all = jobs.map((job) => held.get(job.id) ?? job)
        for (const { id } of jobs) held.delete(id)
        // The leases expire if this fails.
        return Effect.ignore(outbox.release(all), { log: "Warn" })
      })

    const fibers = yield* FiberSet.make<void>()
    const fork = yield* FiberSet.runtime(fibers)()

    const attempt = (job: Claimed) =>
      Effect.gen(function* () {
        const at = yield* Clock.currentTimeMillis
        yield* Effect.onExit(send(job), (exit) =>
          Effect.gen(function* () {
            const reply = Exit.isSuccess(exit)
              ? exit.value
              : failed(Exit.hasInterrupts(exit) ? "Interrupted: the service was shutting down" : "Internal error")
            if (Exit.isFailure(exit) && !Exit.hasInterrupts(exit)) {
              yield* Effect.logError(`Failed to send webhook message ${job.message_id}`, exit.cause)
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
      unrecorded.add(attempted)
      Queue.offerUnsafe(finished, attempted)
      queue.done(job, reply.latencyMillis)
      start()
      if (queue.wantsMore) wake()
    }

    const start = () => {
      for (let job = stopping ? undefined : queue.next(); job !== undefined; job = queue.next()) fork(attempt(job))
    }

    /** Claims as many messages as there is room for, and returns their number. */
    const claim = Effect.gen(function* () {
      const room = queue.room()
      const claimed = yield* outbox.claim(room)
      const fresh = claimed.filter((job) => {
        const current = held.get(job.id)
        // The lease expired during the attempt and no other worker took the message: the new claim replaces the old one.
        held.set(job.id, current === undefined ? job : { ...current, claim: job.claim })
        return current === undefined
      })
      queue.add(fresh, room)
      if (stopping) yield* release(queue.drop())
      start()
      return claimed.length
    })

    let lastFound = Number.NEGATIVE_INFINITY
    const round = Effect.gen(function* () {
      if (stopping) return yield* Effect.never
      const busy = stuck || unrecorded.size > maxUnrecorded
      if (!busy) {
        const count = yield* claim
        outageLogged = false
        if (count > 0 && !stopping) {
          lastFound = monotonicMillis(yield* Clock.Clock)
          wakeUps.off()
        }
        if (queue.wantsMore) return
      }
      const since = monotonicMillis(yield* Clock.Clock) - lastFound
      const quiet = since > awake.millis
      // The worker polls anyway while a receiver does not respond, so writers need not notify.
      let wait = Math.min(awake.pollBusy, Math.max(awake.poll, since / 2))
      if (quiet && held.size === 0) {
        wakeUps.on()
        const full = Array.from(queue.room().held).flatMap(([webhook, room]) => (room === 0 ? [webhook] : []))
        const longest = wakeUps.certain() ? sleep.max : sleep.unsure
        const due = (yield* outbox.nextDue(full)) ?? longest
        wait = Math.min(longest, Math.max(sleep.min, due))
      }
      yield* Effect.timeoutOption(Queue.take(wakeUp), wait)
    }).pipe(
      Effect.catchTag("SqlError", waitOut),
      Effect.catchCause((cause) =>
        Effect.andThen(Effect.logError("Webhook deliveries failed", cause), Effect.sleep("1 second"))
      )
    )

    const record = (batch: ReadonlyArray<Attempted>, again = false, tries = recordTries): Effect.Effect<void> =>
      outbox.finish(batch, again).pipe(
        Effect.flatMap(({ inactive }) => {
          stuck = false
          return Effect.forEach(inactive, (webhook) => release(queue.drop(webhook)), { discard: true })
        }),
        Effect.catch((error) => {
          if (isOutage(error)) {
            stuck = true
            return Effect.andThen(waitOut(error), record(batch, true))
          }
          // Another transaction was in the way, or a message was deleted in the meantime.
          if (tries > 1) return Effect.delay(record(batch, again, tries - 1), "100 millis")
          if (batch.length > 1) return Effect.forEach(batch, (one) => record([one], again), { discard: true })
          return Effect.logError("Failed to record a webhook delivery", error)
        })
      )

    yield* Effect.forever(round).pipe(Effect.forkScoped)
    yield* Queue.takeAll(finished).pipe(
      Effect.flatMap((batch) =>
        Effect.ensuring(
          record(batch),
          Effect.sync(() => batch.forEach((attempted) => unrecorded.delete(attempted)))
        )
      ),
      Effect.catchCause(logFailure("Failed to record webhook deliveries")),
      Effect.andThen(Effect.sleep(recordEvery)),
      Effect.forever,
      Effect.forkScoped
    )
    yield* Effect.suspend(() =>
      outbox.renew([...held.values(), ...Array.from(unrecorded, ({ claim, id }) => ({ id, claim: claim ?? "" }))])
    ).pipe(
      Effect.ignore({ log: "Debug" }), // the next renewal or a new claim makes up for it
      Effect.repeat(Schedule.spaced(`${leaseSeconds / 3} seconds`)),
      Effect.forkScoped
    )
    yield* messages.pipe(
      Stream.runForEach((message) => {
        wake()
        // The connection that holds the lock may be lost too.
        if (message._tag !== "Notification") wakeUps.verify()
        // The payload names a changed webhook: the messages held here have its old URL, headers and secret.
        const changed = message._tag === "Notification" ? Number(message.payload) : 0
        return changed > 0 ? Effect.andThen(release(queue.drop(changed)), Effect.sync(wake)) : Effect.void
      }),
      Effect.forkScoped
    )

    // Added last, so it runs first, while the fibers above still run.
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        stopping = true
        yield* release(queue.drop())
        yield* Effect.timeoutOption(FiberSet.awaitEmpty(fibers), drain)
        yield* FiberSet.clear(fibers)
        yield* Effect.sleep("10 millis").pipe(
          Effect.repeat({ until: () => unrecorded.size === 0 }),
          Effect.timeoutOption("3 seconds")
        )
      })
    )
  })
)
