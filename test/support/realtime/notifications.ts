import { Effect } from "effect"
import { Client } from "pg"
import { assert } from "vitest"
import { type Login, pgConfig } from "../../../src/layers/postgres/Login.ts"
import { RealtimeSubscriptions } from "../../../src/services/realtime/Subscriptions.ts"
import { Outside } from "../database.ts"

/** One notification of a watched table. */
export interface Notification {
  readonly channel: string
  /** As PostgreSQL sent it. */
  readonly payload: string
  readonly schema: string
  readonly table: string
  readonly operation: string
  readonly row: Readonly<Record<string, unknown>> | null
  readonly old_row: Readonly<Record<string, unknown>> | null
  readonly id: number
  readonly timestamp: string
  readonly truncated?: boolean
  readonly gap?: boolean
}

const marker = "test_marker"

/**
 * A separate connection that listens. `drain` returns the notifications of all committed transactions in order: it sends
 * a marker to itself, and everything earlier arrives before that.
 */
const listening = async (login: Login) => {
  const client = new Client(pgConfig(login, {}))
  await client.connect()
  const got: Array<{ readonly channel: string; readonly payload: string }> = []
  let marked: () => void = () => undefined
  client.on("notification", ({ channel, payload = "" }) => {
    if (channel === marker) marked()
    else got.push({ channel, payload })
  })
  await client.query(`listen ${marker}`)
  const drain = async () => {
    const done = new Promise<void>((resolve) => (marked = resolve))
    await client.query(`notify ${marker}`)
    await done
    return got.splice(0)
  }
  return { client, drain }
}

/** Subscribes to tables and collects the notifications of writes. */
export const watching = Effect.gen(function* () {
  const { login, sql } = yield* Outside
  const subscriptions = yield* RealtimeSubscriptions
  const { client, drain } = yield* Effect.acquireRelease(
    Effect.promise(() => listening(login)),
    ({ client }) => Effect.promise(() => client.end())
  )
  const notifiedBy = <A, E, R>(write: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      yield* Effect.promise(drain)
      yield* write
      const all = yield* Effect.promise(drain)
      return all.map(({ channel, payload }): Notification => {
        assert.isAtMost(Buffer.byteLength(payload), 7999)
        return Object.assign(JSON.parse(payload) as Notification, { channel, payload })
      })
    })
  return {
    /** Subscribes to a table and listens on its channel. */
    watch: (table: string, schema = "public") =>
      Effect.gen(function* () {
        const { subscription } = yield* subscriptions.subscribe(schema, table)
        yield* Effect.promise(() => client.query(`listen ${client.escapeIdentifier(subscription.channel)}`))
        return subscription
      }),
    notifiedBy,
    /** The notifications of one SQL text, whose statements are one transaction. */
    notified: (text: string, params?: ReadonlyArray<unknown>) => notifiedBy(sql(text, params))
  }
})

/** `"INSERT a.b"` of each. */
export const brief = (all: ReadonlyArray<Notification>) =>
  all.map(({ gap, operation, schema, table }) => `${gap === true ? "gap" : operation} ${schema}.${table}`)
