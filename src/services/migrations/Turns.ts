import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { migrationsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { Conflict, type Unavailable } from "../../domain/errors.ts"
import { withAdvisoryLocks } from "../AdvisoryLock.ts"

/** How long a run waits for the one before it, and how often it looks, in ms. */
const patienceMillis = 10_000
const pauseMillis = 100

/** Prisma's own, which its `migrate` commands hold. */
const prismaLock = "72707369"

const busy = new Conflict({
  error: "Another run of the migrations is under way",
  code: "MIGRATIONS_BUSY",
  hint: "Look at the status; try again when it has ended"
})

/** One run of the migrations at a time: in this process, over all replicas, and beside Prisma. */
export class MigrationTurns extends Context.Service<
  MigrationTurns,
  {
    /** Runs it when no other does; 409 `MIGRATIONS_BUSY` after 10 s of waiting. */
    readonly alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | Conflict | Unavailable>
  }
>()("svc/services/MigrationTurns") {
  static readonly layer = Layer.effect(
    MigrationTurns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const alone = withAdvisoryLocks(sql, [migrationsLock, prismaLock], {
        patience: patienceMillis,
        pause: pauseMillis,
        busy
      })
      return MigrationTurns.of({ alone })
    })
  )
}
