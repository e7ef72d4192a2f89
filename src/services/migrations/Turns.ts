import { Clock, Context, Effect, Layer, Option, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { migrationsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { Conflict, type Unavailable } from "../../domain/errors.ts"
import { onOwnTables } from "../OwnTables.ts"

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
      // Those of this process wait here, not each on a connection that others need.
      const turn = yield* Semaphore.make(1)

      /** Until there is something, or that time has come. */
      const poll = <A, E, R>(
        until: number,
        attempt: Effect.Effect<Option.Option<A>, E, R>
      ): Effect.Effect<A, E | Conflict, R> =>
        Effect.gen(function* () {
          for (;;) {
            const got = yield* attempt
            if (Option.isSome(got)) return got.value
            if ((yield* Clock.currentTimeMillis) >= until) return yield* busy
            yield* Effect.sleep(pauseMillis)
          }
        })

      /** Held by one connection of ours, outside a transaction, until the scope closes; a lost connection gives it back. */
      const lock = Effect.fnUntraced(function* (until: number) {
        const connection = yield* onOwnTables(sql.reserve)
        const ask = (text: string) =>
          Effect.map(
            connection.executeUnprepared(text, [], undefined),
            (rows) => rows[0] as { readonly ok: boolean } | undefined
          )
        for (const number of [migrationsLock, prismaLock]) {
          const give = Effect.ignore(ask(`select pg_advisory_unlock(${number}) as ok`))
          const take = Effect.gen(function* () {
            const answer = yield* onOwnTables(ask(`select pg_try_advisory_lock(${number}) as ok`))
            if (answer?.ok !== true) return Option.none()
            yield* Effect.addFinalizer(() => give)
            return Option.some(undefined)
          })
          yield* poll(until, Effect.uninterruptible(take))
        }
      })

      const alone = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.gen(function* () {
          const until = (yield* Clock.currentTimeMillis) + patienceMillis
          return yield* poll(until, turn.withPermitsIfAvailable(1)(Effect.scoped(Effect.andThen(lock(until), effect))))
        })

      return MigrationTurns.of({ alone })
    })
  )
}
