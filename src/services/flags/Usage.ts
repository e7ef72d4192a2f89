import { Clock, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { flagEnvironments } from "../../domain/flags/Environment.ts"
import { FlagSets } from "./Sets.ts"

/** Rows of one statement. */
const batch = 1_000

/**
 * Writes `last_evaluated_at` every 10 s, of what was evaluated since, and once more at the end: evaluation itself only
 * sets a number (domain/FlagSet.ts).
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
      // Of this very ms some may still come: they are looked for again.
      const until = clock.currentTimeMillisUnsafe()
      const rows = used(since)
      for (let start = 0; start < rows.length; start += batch) {
        // Only of flags that are there: one may have been deleted meanwhile.
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

    const quietly = Effect.catchCause(write, (cause) =>
      Effect.logWarning("last_evaluated_at could not be written", cause)
    )
    yield* Effect.addFinalizer(() => Effect.timeoutOption(quietly, "2 seconds"))
    yield* Effect.forkScoped(Effect.repeat(Effect.delay(quietly, "10 seconds"), Schedule.forever))
  })
)
