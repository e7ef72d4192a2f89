import { Clock, Context, Effect, Layer, Random } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { randomUUID } from "node:crypto"
import { claimSql, finishSql, giveBackSql, nextDueSql, renewSql } from "../../domain/webhooks/QueueSql.ts"
import { isGone, isSuccess, type WebhookReply } from "../../domain/webhooks/Reply.ts"
import { retryAfterMillis, retryDelay } from "../../domain/webhooks/Schedule.ts"
import { type Outgoing } from "./Sender.ts"
import { WebhookSettings } from "./Settings.ts"

/** A message that is ours to send until its lease ends. */
export interface Claimed extends Outgoing {
  readonly id: string
  readonly webhook: number
  readonly event_type: string
  /** This attempt's number, from 1. */
  readonly attempt: number
  /** Bytes of the payload. */
  readonly size: number
  readonly claim: string
}

/** An attempt that was made, to be written down. */
export interface Attempted {
  readonly id: string
  readonly webhook: number
  readonly event_type: string
  readonly attempt: number
  /** Null when it did not come from the queue. */
  readonly claim: string | null
  readonly reply: WebhookReply
  /** When it began, in ms since 1970. */
  readonly at: number
  /** `test` and `interrupted` say nothing about the receiver; the latter is tried again at once. */
  readonly kind: "queued" | "replay" | "test" | "interrupted"
}

interface Room {
  readonly held: ReadonlyMap<number, number>
  readonly others: number
  readonly total: number
  readonly size: number
}

type Held = Pick<Claimed, "id" | "claim">

/** The outbox as its workers see it: every step is one statement for many messages. */
export class WebhookOutbox extends Context.Service<
  WebhookOutbox,
  {
    readonly claim: (room: Room) => Effect.Effect<ReadonlyArray<Claimed>, SqlError.SqlError>
    /** ms until something is due for another webhook than these; undefined: nothing waits. */
    readonly nextDue: (but: ReadonlyArray<number>) => Effect.Effect<number | undefined, SqlError.SqlError>
    /** Logs attempts, plans the next ones, counts failures. `again`: it may have been done, with the answer lost. */
    readonly finish: (
      attempts: ReadonlyArray<Attempted>,
      again?: boolean
    ) => Effect.Effect<
      {
        /** Log ids, in order; fewer than attempts when a message is gone. */
        readonly logs: ReadonlyArray<string>
        /** Webhooks of these that are not active, or not any more. */
        readonly inactive: ReadonlyArray<number>
      },
      SqlError.SqlError
    >
    readonly renew: (held: ReadonlyArray<Held>) => Effect.Effect<void, SqlError.SqlError>
    readonly giveBack: (held: ReadonlyArray<Held>) => Effect.Effect<void, SqlError.SqlError>
  }
>()("svc/services/WebhookOutbox") {
  static readonly layer = Layer.effect(
    WebhookOutbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { disableAfter, retrySchedule } = yield* WebhookSettings

      const claim = (room: Room) => {
        const held = Array.from(room.held, ([webhook, room]) => ({ webhook, room }))
        const uuid = randomUUID()
        return Effect.map(
          sql.unsafe<Omit<Claimed, "claim">>(claimSql, [
            JSON.stringify(held),
            room.others,
            room.total,
            uuid,
            Math.max(1, room.size)
          ]),
          (rows) => rows.map((row): Claimed => ({ ...row, claim: uuid }))
        )
      }

      const nextDue = (but: ReadonlyArray<number>) =>
        Effect.map(
          sql.unsafe<{ readonly millis: number | null }>(nextDueSql, [but]),
          ([row]) => row?.millis ?? undefined
        )

      /** ms until a message is sent again; null: it is done. */
      const delayOf = (attempted: Attempted, now: number, random: number) => {
        const { attempt, kind, reply } = attempted
        if (kind === "interrupted") return 0
        if (kind !== "queued" || isSuccess(reply) || reply.final) return null
        return retryDelay(retrySchedule, attempt, retryAfterMillis(reply.retryAfter, now), random)
      }

      const finish = Effect.fnUntraced(function* (attempts: ReadonlyArray<Attempted>, again = false) {
        const now = yield* Clock.currentTimeMillis
        const random = yield* Random.next
        const rows = attempts.map((attempted, n) => ({
          n,
          message: attempted.id,
          claim: attempted.claim,
          webhook: attempted.webhook,
          attempt: attempted.attempt,
          event_type: attempted.event_type,
          status: attempted.reply.status,
          body: attempted.reply.body,
          error: attempted.reply.error,
          latency: attempted.reply.latencyMillis,
          age: Math.max(0, now - attempted.at),
          delay: delayOf(attempted, now, (random + n * 0.618_034) % 1),
          settles: attempted.kind === "replay" && isSuccess(attempted.reply)
        }))
        const [done] = yield* sql.unsafe<{ readonly logs: Array<string>; readonly inactive: Array<number> }>(
          finishSql,
          [JSON.stringify(rows), JSON.stringify(tallies(attempts)), disableAfter, again]
        )
        return { logs: done?.logs ?? [], inactive: done?.inactive ?? [] }
      })

      const held = (text: string) => (held: ReadonlyArray<Held>) =>
        held.length === 0
          ? Effect.void
          : Effect.asVoid(sql.unsafe(text, [held.map(({ id }) => id), held.map(({ claim }) => claim)]))

      return WebhookOutbox.of({ claim, nextDue, finish, renew: held(renewSql), giveBack: held(giveBackSql) })
    })
  )
}

interface Tally {
  readonly webhook: number
  /** There was a success, so that only what failed after it counts. */
  reset: boolean
  failures: number
  gone: boolean
}

const tallies = (attempts: ReadonlyArray<Attempted>): ReadonlyArray<Tally> => {
  const all = new Map<number, Tally>()
  for (const { kind, reply, webhook } of attempts) {
    if (kind === "test" || kind === "interrupted") continue
    const tally = all.get(webhook) ?? { webhook, reset: false, failures: 0, gone: false }
    all.set(webhook, tally)
    if (isSuccess(reply)) Object.assign(tally, { reset: true, failures: 0 })
    else {
      tally.failures++
      tally.gone ||= isGone(reply)
    }
  }
  return Array.from(all.values())
}
