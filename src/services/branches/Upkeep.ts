import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Branches } from "./Branches.ts"
import { onOwnTables } from "../OwnTables.ts"

/** How often it is looked for branches to drop, and how often they are measured. */
const sweepEvery = "10 seconds"
const measureEvery = "1 minute"

/** Drops what has expired or was left half done, beginning with the start, and keeps sizes current. */
export const layerBranchUpkeep = Layer.effectDiscard(
  Effect.gen(function* () {
    const branches = yield* Branches
    const sql = yield* SqlClient.SqlClient

    yield* branches.sweep.pipe(
      Effect.catchTag("Unavailable", () => Effect.void),
      Effect.catchCause((cause) => Effect.logError("Branches could not be looked through", cause)),
      Effect.repeat(Schedule.spaced(sweepEvery)),
      Effect.forkScoped
    )

    yield* onOwnTables(
      sql.unsafe(
        `update svc.branches b set size_bytes = pg_database_size(d.oid) from pg_database d
         where d.datname = b.database_name and b.status = 'active'`
      )
    ).pipe(
      // One that is dropped in the middle makes it fail; the next round is soon.
      Effect.catchCause((cause) => Effect.logDebug("Branches could not be measured", cause)),
      Effect.delay(measureEvery),
      Effect.repeat(Schedule.forever),
      Effect.forkScoped
    )
  })
)
