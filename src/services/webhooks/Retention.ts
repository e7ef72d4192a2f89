import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { pruneLock } from "../../domain/sql/AdvisoryLocks.ts"
import { pruneDoneSql, pruneLogsSql, pruneWaitingSql, pruneWebhooksSql } from "../../domain/webhooks/LogSql.ts"
import { onOwnTables } from "../OwnTables.ts"

/** Rows of a webhook that one statement removes. */
const batch = 2_000
/** Batches in a round; what is left waits for the next one. */
const batches = 50

/** Removes what is not kept of the delivery log and the messages, in the background. */
export const layerWebhookRetention = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** Whether there may be more. */
    const prune = sql.withTransaction(
      Effect.gen(function* () {
        const [lock] = yield* sql.unsafe<{ readonly mine: boolean }>(
          `select pg_try_advisory_xact_lock(${pruneLock}) as mine`
        )
        if (lock?.mine !== true) return false
        const logs = yield* sql.unsafe<{ readonly message: string }>(pruneLogsSql, [batch])
        const messages = Array.from(new Set(logs.map(({ message }) => message)))
        if (messages.length > 0) yield* sql.unsafe(pruneDoneSql, [messages])
        const waiting = yield* sql.unsafe(pruneWaitingSql, [batch])
        yield* sql.unsafe(pruneWebhooksSql)
        return logs.length >= batch || waiting.length >= batch
      })
    )

    yield* onOwnTables(prune).pipe(
      Effect.repeat({ while: (more) => more, times: batches }),
      Effect.catchTag("Unavailable", () => Effect.void),
      Effect.catchCause((cause) => Effect.logError("Old webhook deliveries could not be removed", cause)),
      Effect.repeat(Schedule.spaced("10 seconds")),
      Effect.forkScoped
    )
  })
)
