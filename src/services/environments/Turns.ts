import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { environmentsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { Forbidden, InvalidRequest, Unavailable } from "../../domain/errors.ts"
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

      /**
       * Held by a connection, not by a transaction: one would stay open while the object store is waited for. A process
       * that is killed gives it back.
       */
      const lock = Effect.gen(function* () {
        const connection = yield* onOwnTables(sql.reserve)
        const ask = (name: string) =>
          Effect.map(
            connection.executeUnprepared(`select ${name}(${environmentsLock}) as ok`, [], undefined),
            ([row]) => (row as { readonly ok: boolean }).ok
          )
        const until = (yield* Clock.currentTimeMillis) + patienceMillis
        while (!(yield* onOwnTables(ask("pg_try_advisory_lock")))) {
          if ((yield* Clock.currentTimeMillis) >= until) return yield* busy
          yield* Effect.sleep(pauseMillis)
        }
        return yield* Effect.addFinalizer(() => Effect.ignore(ask("pg_advisory_unlock")))
      })

      return EnvironmentTurns.of({
        alone: (effect) => turn.withPermit(Effect.uninterruptible(Effect.scoped(Effect.andThen(lock, effect))))
      })
    })
  )
}

/** What PostgreSQL refuses for a reason that the caller or the operator can remove. */
export const refusals = {
  "42501": () =>
    new Forbidden({
      error: "The login of DATABASE_URL may not create the schema",
      code: "SCHEMA_NOT_ALLOWED",
      hint: "It needs CREATE on the database, and membership in SVC_SERVICE_ROLE"
    }),
  // Two defaults, or the same slug twice: a concurrent request was first.
  "23505": () => busy,
  // Only one of the check constraints concerns what a caller sends.
  "23514": () =>
    new InvalidRequest({
      error: "The environment's config would exceed 64 KiB",
      code: "ENVIRONMENT_CONFIG_TOO_LARGE"
    })
}
