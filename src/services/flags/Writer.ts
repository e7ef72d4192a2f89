import { Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { flagsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { type Author } from "../../domain/Author.ts"
import { type FlagHistoryEntry } from "../../domain/flags/Flag.ts"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { Unavailable } from "../../domain/errors.ts"
import { FlagEngine } from "../ports/FlagEngine.ts"
import { FlagSets } from "./Sets.ts"
import { onOwnTables, type OwnTablesFailure } from "../OwnTables.ts"

/** A change that was found good against what is stored, to be written. */
export interface FlagWrite {
  readonly kind: "flag" | "segment"
  readonly key: string
  readonly action: FlagHistoryEntry["action"]
  /** The one that it was made in; null: all of them, or none. */
  readonly environment: FlagEnvironment | null
  /** Documents for the history; null before it was there, and after it is gone. */
  readonly before: object | null
  readonly after: object | null
  /** Whose flag set is another afterwards. */
  readonly touched: ReadonlyArray<FlagEnvironment>
  readonly store: (revision: number) => Effect.Effect<unknown, SqlError.SqlError>
}

/** How long a writer waits for the one before it, and may itself sit still with everybody waiting for it. */
const patience = { lock_timeout: "5s", idle_in_transaction_session_timeout: "30s" }

const busy = new Unavailable({ error: "Other changes of flags are under way; try again", code: "FLAGS_BUSY" })

/**
 * The one way by which flags and segments change: one writer at a time over all replicas, so that what a change was
 * checked against is what it is written beside, and all of it at once or nothing.
 */
export class FlagWriter extends Context.Service<
  FlagWriter,
  {
    /**
     * `plan` looks at what is stored, in the transaction, and fails with whatever is wrong; undefined: nothing is to be
     * done. `show` reads what the caller is answered, in the same transaction. Done when this process and its engine
     * answer by the new rules. 503 `FLAGS_BUSY`, `FLAGS_BEHIND`.
     */
    readonly write: <A, E>(
      author: Author,
      plan: Effect.Effect<FlagWrite | undefined, E | SqlError.SqlError>,
      show: Effect.Effect<A, SqlError.SqlError>
    ) => Effect.Effect<A, Exclude<E, OwnTablesFailure> | Unavailable>
  }
>()("svc/services/FlagWriter") {
  static readonly layer = Layer.effect(
    FlagWriter,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sets = yield* FlagSets
      const engine = yield* FlagEngine
      // Those of this process wait here, not each on a connection that others need.
      const turn = yield* Semaphore.make(1)

      const begin = Effect.gen(function* () {
        for (const [name, value] of Object.entries(patience)) yield* sql.unsafe(`set local ${name} = '${value}'`)
        yield* sql.unsafe(`select pg_advisory_xact_lock(${flagsLock})`)
      })

      const record = (author: Author, write: FlagWrite, revision: number) =>
        sql.unsafe(
          `with environments as (
             update svc.flag_environments set revision = $1::int8 where name = any ($2::text[]))
           , history as (
             insert into svc.flag_history (kind, key, action, environment, actor, before, after, revision)
             values ($3, $4, $5, $6, $7::text::json, $8::text::json, $9::text::json, $1::int8))
           select pg_notify('svc_flags', $10)`,
          [
            revision,
            write.touched,
            write.kind,
            write.key,
            write.action,
            write.environment,
            JSON.stringify(author),
            write.before === null ? null : JSON.stringify(write.before),
            write.after === null ? null : JSON.stringify(write.after),
            String(revision)
          ]
        )

      const transaction = <E>(author: Author, plan: Effect.Effect<FlagWrite | undefined, E | SqlError.SqlError>) =>
        Effect.gen(function* () {
          yield* begin
          const write = yield* plan
          if (write === undefined) return undefined
          const [row] = yield* sql.unsafe<{ readonly revision: string }>(
            `update svc.flag_revision
             set revision = revision + 1, deleted = case when $1::bool then revision + 1 else deleted end
             returning revision::text as revision`,
            [write.action === "deleted"]
          )
          const revision = Number(row?.revision)
          yield* write.store(revision)
          yield* record(author, write, revision)
          return { revision, touched: write.touched }
        })

      const write = <A, E>(
        author: Author,
        plan: Effect.Effect<FlagWrite | undefined, E | SqlError.SqlError>,
        show: Effect.Effect<A, SqlError.SqlError>
      ) =>
        Effect.gen(function* () {
          const { answer, done } = yield* sql
            .withTransaction(
              Effect.gen(function* () {
                return { done: yield* transaction(author, plan), answer: yield* show }
              })
            )
            .pipe(turn.withPermit, (writing) => onOwnTables(writing, { "55P03": () => busy }))
          if (done === undefined) return answer
          yield* sets.reach(done.revision)
          if (done.touched.length > 0 && !(yield* engine.synced(done.touched, done.revision))) {
            yield* Effect.logWarning(`The flag engine does not have revision ${done.revision} yet`)
          }
          return answer
        })

      return FlagWriter.of({ write })
    })
  )
}
