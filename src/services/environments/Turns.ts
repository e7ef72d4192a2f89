import { Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { environmentsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { Forbidden, InvalidRequest, Unavailable } from "../../domain/errors.ts"
import { withAdvisoryLocks } from "../AdvisoryLock.ts"
import { onOwnTables } from "../OwnTables.ts"

/** How long one waits for that of another replica, and how often it looks, in ms. */
const patienceMillis = 10_000
const pauseMillis = 100

const busy = new Unavailable({ error: "Another environment is being made; try again", code: "ENVIRONMENTS_BUSY" })

/** One change at a time of which environments there are, over all replicas. */
export class EnvironmentTurns extends Context.Service<
  EnvironmentTurns,
  {
    /** Once begun it goes to its end, whoever hangs up. 503 `ENVIRONMENTS_BUSY` after 10 s of waiting for a replica. */
    readonly alone: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | Unavailable>
  }
>()("svc/services/EnvironmentTurns") {
  static readonly layer = Layer.effect(
    EnvironmentTurns,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      // Those of this process wait here, not each on a connection that others need.
      const turn = yield* Semaphore.make(1)

      const locked = withAdvisoryLocks(sql, [environmentsLock], { patience: patienceMillis, pause: pauseMillis, busy })

      return EnvironmentTurns.of({
        alone: (effect) => turn.withPermit(Effect.uninterruptible(locked(effect)))
      })
    })
  )
}

/** The SQLSTATE of a failed statement. */
export const sqlState = (error: unknown): string | undefined =>
  ((error as SqlError.SqlError).reason?.cause as { readonly code?: string } | undefined)?.code

/** What is the caller's stays; of what PostgreSQL refuses, what the caller or the operator can mend is told. */
export const refused = <E>(
  error: E | SqlError.SqlError
): Effect.Effect<never, Exclude<E, SqlError.SqlError> | Unavailable | Forbidden | InvalidRequest> => {
  if ((error as SqlError.SqlError)._tag !== "SqlError") return Effect.fail(error as Exclude<E, SqlError.SqlError>)
  switch (sqlState(error)) {
    case "42501":
      return Effect.fail(
        new Forbidden({
          error: "The login of DATABASE_URL may not make the schema",
          code: "SCHEMA_NOT_ALLOWED",
          hint: "It needs CREATE on the database, and to be a member of SVC_SERVICE_ROLE"
        })
      )
    // Two defaults, or one slug twice: somebody else was faster.
    case "23505":
      return Effect.fail(busy)
    // Of the check constraints only one is about what a caller sends.
    case "23514":
      return Effect.fail(
        new InvalidRequest({
          error: "The environment's config would be larger than 64 KiB",
          code: "ENVIRONMENT_CONFIG_TOO_LARGE"
        })
      )
    default:
      return onOwnTables(Effect.fail(error as SqlError.SqlError))
  }
}
