import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { logFailure, onOwnTables } from "../../services/OwnTables.ts"
import { Db } from "../../services/ports/Db.ts"
import { ObjectStoreAddress } from "./Address.ts"

/** The earliest time whose objects a branch shows, in ms since 1970; undefined if none does. */
export const earliestShown = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* onOwnTables(
    sql.unsafe<{ readonly earliest: number | null }>(
      `select floor(extract(epoch from min(objects_at)) * 1000)::float8 as earliest from svc.branches
       where status <> 'dropping' and (expires_at is null or expires_at > now())`
    )
  )
  return row?.earliest ?? undefined
})

/** Keeps the history of the embedded store as far back as a branch shows it. */
export const layerKeptObjects = Layer.effectDiscard(
  Effect.gen(function* () {
    const { keepFrom } = yield* ObjectStoreAddress
    if (keepFrom === undefined) return
    yield* Db // makes sure that the schema is installed
    // The store remembers it over a restart.
    let last: number | undefined | "unknown" = "unknown"
    yield* earliestShown.pipe(
      Effect.flatMap((earliest) =>
        earliest === last
          ? Effect.void
          : Effect.andThen(
              keepFrom(earliest),
              Effect.sync(() => (last = earliest))
            )
      ),
      Effect.catchCause(logFailure("Failed to keep the objects of branches")),
      Effect.repeat(Schedule.spaced("10 seconds")),
      Effect.forkScoped
    )
  })
)
