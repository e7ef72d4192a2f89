import { Effect, Stream } from "effect"
import { queueWakeUpLock } from "../../domain/sql/AdvisoryLocks.ts"
import { TooManyRequests } from "../../domain/errors.ts"
import { Shares } from "../../domain/FairQueue.ts"
import { sampleOf } from "../../domain/metrics/Sample.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { Listener } from "../ports/Listener.ts"
import { makeWakeUps } from "../WakeUps.ts"

/** Receivers that wait, of one client and of all. */
const [maxOfClient, maxOfAll] = [1_000, 10_000]
/** ms after which one receiver looks for messages anyway: while senders notify, and while some may not. */
const look = { certain: 10_000, unsure: 1_000 } as const

const tooMany = new TooManyRequests({
  error: `More than ${maxOfClient} requests of this caller, or ${maxOfAll} of all, wait for messages`,
  code: "TOO_MANY_RECEIVERS",
  retry_after: 5
})

/** A request that waits, or looks. */
interface Receiver {
  /** Whether it was woken since it has last begun to look. */
  woken: boolean
  resume: (() => void) | undefined
}

/** Receivers of a queue that see the same messages, so that one of them is woken for all. */
interface Group {
  readonly receivers: Set<Receiver>
  timer: NodeJS.Timeout | undefined
  /** The time at which the timer ends. */
  due: number
}

/** Receivers' waits for messages. None holds a connection; the service holds one while any of them waits. */
export const makeWaiting = Effect.gen(function* () {
  /** By queue, then by what identifies those who see the same messages. */
  const queues = new Map<string, Map<string, Group>>()
  const shares = new Shares()
  let all = 0

  const meters = yield* CurrentMeters
  yield* meters.sample(() => [sampleOf("svc_queue_receivers", {}, all)])

  const wakeOne = ({ receivers }: Group) => {
    for (const receiver of receivers) {
      if (receiver.woken) continue
      receiver.woken = true
      receiver.resume?.()
      return
    }
  }
  const wake = (queue: string) => queues.get(queue)?.forEach(wakeOne)
  const wakeAll = () => queues.forEach((groups) => groups.forEach(wakeOne))

  const wakeUps = yield* makeWakeUps(queueWakeUpLock, wakeAll)
  const { messages } = yield* (yield* Listener).listen("svc_queues")
  yield* Stream.runForEach(messages, (message) =>
    Effect.sync(() => {
      if (message._tag === "Notification") wake(message.payload)
      else if (message._tag === "Connected") wakeAll()
    })
  ).pipe(Effect.forkScoped)

  const groupOf = (queue: string, identity: string): Group => {
    const groups = queues.get(queue) ?? new Map<string, Group>()
    queues.set(queue, groups)
    const group = groups.get(identity) ?? { receivers: new Set(), timer: undefined, due: Infinity }
    groups.set(identity, group)
    return group
  }
  const stopTimer = (group: Group) => {
    clearTimeout(group.timer)
    Object.assign(group, { timer: undefined, due: Infinity })
  }

  /** Registers a receiver, until the scope closes. */
  const enter = (queue: string, identity: string, client: string) =>
    Effect.acquireRelease(
      Effect.suspend(() => {
        if (all >= maxOfAll || shares.of(client) >= maxOfClient) return Effect.fail(tooMany)
        all++
        shares.add(client, 1)
        wakeUps.on()
        const group = groupOf(queue, identity)
        const receiver: Receiver = { woken: false, resume: undefined }
        group.receivers.add(receiver)
        return Effect.succeed({ group, receiver })
      }),
      ({ group, receiver }) =>
        Effect.sync(() => {
          group.receivers.delete(receiver)
          // It may have taken none, or not all.
          if (receiver.woken) wakeOne(group)
          if (group.receivers.size === 0) {
            stopTimer(group)
            queues.get(queue)?.delete(identity)
            if (queues.get(queue)?.size === 0) queues.delete(queue)
          }
          shares.add(client, -1)
          if (--all === 0) wakeUps.off()
        })
    ).pipe(
      Effect.map(({ group, receiver }) => ({
        /** Before looking: a wake-up from now on is not missed. */
        looks: Effect.sync(() => void (receiver.woken = false)),
        /** After messages were found, of which there may be more. */
        found: Effect.sync(() => void (receiver.woken = true)),
        /** Completes when there may be messages. `next`: ms until one becomes visible, if that is known. */
        woken: (next: number | undefined) =>
          Effect.callback<void>((resume) => {
            if (receiver.woken) return resume(Effect.void)
            receiver.resume = () => resume(Effect.void)
            const millis = Math.min(next ?? Infinity, wakeUps.certain() ? look.certain : look.unsure)
            const due = performance.now() + millis
            if (due < group.due) {
              stopTimer(group)
              group.due = due
              group.timer = setTimeout(() => {
                stopTimer(group)
                wakeOne(group)
              }, millis)
            }
            return Effect.sync(() => void (receiver.resume = undefined))
          })
      }))
    )

  return { enter, wake }
})
