import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Branches } from "./Branches.ts"
import { BranchRows } from "./rows/BranchRows.ts"
import { onOwnTables, logFailure } from "../OwnTables.ts"

const sweepEvery = "30 seconds"
const measureEvery = "1 minute"

/** Drops expired and incomplete branches, also at the start, and updates the sizes. */
const layerUpkeep = Layer.effectDiscard(
  Effect.gen(function* () {
    const branches = yield* Branches
    const sql = yield* SqlClient.SqlClient

    yield* branches.sweep.pipe(
      Effect.catchTag("Unavailable", () => Effect.void),
      Effect.catchCause(logFailure("Failed to sweep branches")),
      Effect.repeat(Schedule.spaced(sweepEvery)),
      Effect.forkScoped
    )

    yield* onOwnTables(
      sql.unsafe(
        `update svc.branches b set size_bytes = pg_database_size(d.oid) from pg_database d
         where d.datname = b.database_name and b.status = 'active'`
      )
    ).pipe(
      // Fails when a branch is dropped meanwhile; the next round is soon.
      Effect.catchCause((cause) => Effect.logDebug("Failed to update the sizes of branches", cause)),
      Effect.delay(measureEvery),
      Effect.repeat(Schedule.forever),
      Effect.forkScoped
    )
  })
)

/** Copies of the database, the removal of expired ones, and their rows back. */
export const layer = layerUpkeep.pipe(Layer.provideMerge(BranchRows.layer), Layer.provideMerge(Branches.layer))
