import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { flagEnvironments } from "../../domain/flags/Environment.ts"
import { FlagSets } from "./Sets.ts"
import { logFailure } from "../OwnTables.ts"

/** Maximum rows of one statement. */
const batch = 1_000

/**
 * Writes `last_evaluated_at` of the flags evaluated since the last time, every 10 s and once at shutdown. The evaluation
 * itself only sets a number (domain/flags/sets/Set.ts).
 */
export const layerFlagUsage = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const sets = yield* FlagSets
    const clock = yield* Clock.Clock
    let since = clock.currentTimeMillisUnsafe()

    const used = (from: number) => {
      const rows: Array<{ key: string; environment: string; at: number }> = []
      for (const environment of flagEnvironments) {
        for (const [key, { evaluatedAt }] of sets.current(environment).flags) {
          if (evaluatedAt >= from) rows.push({ key, environment, at: evaluatedAt })
        }
      }
      return rows
    }

    const write = Effect.gen(function* () {
      // Further evaluations may follow in this millisecond: the next round includes it again.
      const until = clock.currentTimeMillisUnsafe()
      const rows = used(since)
      for (let start = 0; start < rows.length; start += batch) {
        // Skips flags that have been deleted in the meantime.
        yield* sql.unsafe(
          `insert into svc.flag_usage as known (key, environment, last_evaluated_at)
           select key, environment, to_timestamp(at / 1000.0)
           from json_to_recordset($1::text::json) as used (key text, environment text, at float8)
           where exists (select from svc.flags where flags.key = used.key)
           order by key, environment
           on conflict (key, environment) do update set last_evaluated_at = excluded.last_evaluated_at
             where known.last_evaluated_at < excluded.last_evaluated_at`,
          [JSON.stringify(rows.slice(start, start + batch))]
        )
      }
      since = until
    })

    const quietly = Effect.catchCause(write, logFailure("Failed to write last_evaluated_at"))
    yield* Effect.addFinalizer(() => Effect.timeoutOption(quietly, "2 seconds"))
    yield* Effect.forkScoped(Effect.repeat(Effect.delay(quietly, "10 seconds"), Schedule.forever))
  })
)
