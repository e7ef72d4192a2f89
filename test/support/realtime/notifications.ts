import { Effect, Redacted } from "effect"
import { Client } from "pg"
import { assert } from "vitest"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { RealtimeSubscriptions } from "../../../src/services/realtime/Subscriptions.ts"
import { Outside } from "../database.ts"

/** One notification of a watched table. */
export interface Told {
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
 * A connection of its own that hears what is notified. `heard` gives everything of transactions that have ended, in
 * order: it notifies itself, and what comes before that was there before.
 */
const listening = async (login: Login) => {
  const client = new Client({ ...login, password: Redacted.value(login.password) })
  await client.connect()
  const got: Array<{ readonly channel: string; readonly payload: string }> = []
  let marked: () => void = () => undefined
  client.on("notification", ({ channel, payload = "" }) => {
    if (channel === marker) marked()
    else got.push({ channel, payload })
  })
  await client.query(`listen ${marker}`)
  const heard = async () => {
    const done = new Promise<void>((resolve) => (marked = resolve))
    await client.query(`notify ${marker}`)
    await done
    return got.splice(0)
  }
  return { client, heard }
}

/** Subscribes to tables, and gives what every write tells of them. */
export const watching = Effect.gen(function* () {
  const { login, sql } = yield* Outside
  const subscriptions = yield* RealtimeSubscriptions
  const { client, heard } = yield* Effect.acquireRelease(
    Effect.promise(() => listening(login)),
    ({ client }) => Effect.promise(() => client.end())
  )
  const toldBy = <A, E, R>(write: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      yield* Effect.promise(heard)
      yield* write
      const all = yield* Effect.promise(heard)
      return all.map(({ channel, payload }): Told => {
        assert.isAtMost(Buffer.byteLength(payload), 7999)
        return Object.assign(JSON.parse(payload) as Told, { channel, payload })
      })
    })
  return {
    /** The subscription; from then on its channel is heard. */
    watch: (table: string, schema = "public") =>
      Effect.gen(function* () {
        const { subscription } = yield* subscriptions.subscribe(schema, table)
        yield* Effect.promise(() => client.query(`listen ${client.escapeIdentifier(subscription.channel)}`))
        return subscription
      }),
    toldBy,
    /** What one SQL text tells; several statements in it are one transaction. */
    told: (text: string, params?: ReadonlyArray<unknown>) => toldBy(sql(text, params))
  }
})

/** `"INSERT a.b"` of each. */
export const brief = (all: ReadonlyArray<Told>) =>
  all.map(({ gap, operation, schema, table }) => `${gap === true ? "gap" : operation} ${schema}.${table}`)
