import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { logFailure, onOwnTables } from "../../services/OwnTables.ts"
import { Db } from "../../services/ports/Db.ts"
import { ObjectStoreAddress } from "./Address.ts"

const oldestSql = `select floor(extract(epoch from min(objects_at)) * 1000)::float8 as oldest from svc.branches
  where status <> 'dropping' and (expires_at is null or expires_at > now())`

/** Keeps the history of the embedded store as far back as a branch shows it. */
export const layerKeptObjects = Layer.effectDiscard(
  Effect.gen(function* () {
    const { keepFrom } = yield* ObjectStoreAddress
    if (keepFrom === undefined) return
    yield* Db // makes sure that the schema is installed
    const sql = yield* SqlClient.SqlClient
    let last: number | null | undefined
    yield* onOwnTables(sql.unsafe<{ readonly oldest: number | null }>(oldestSql)).pipe(
      Effect.flatMap(([row]) => {
        const oldest = row?.oldest ?? null
        if (oldest === last) return Effect.void
        last = oldest
        return keepFrom(oldest ?? undefined)
      }),
      Effect.catchCause(logFailure("Failed to keep the objects of branches")),
      Effect.repeat(Schedule.spaced("10 seconds")),
      Effect.forkScoped
    )
  })
)
