import { Context, Effect, Layer, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { flagsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { type Author } from "../../domain/Author.ts"
import { type FlagHistoryEntry } from "../../domain/flags/Flag.ts"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { Unavailable } from "../../domain/errors.ts"
import { recordChange } from "../audit/Change.ts"
import { FlagEngine } from "../ports/FlagEngine.ts"
import { FlagSets } from "./Sets.ts"
import { onOwnTables, type OwnTablesFailure } from "../OwnTables.ts"

/** A change that is valid against the stored flags and segments, to be written. */
export interface FlagWrite {
  readonly kind: "flag" | "segment"
  readonly key: string
  readonly action: FlagHistoryEntry["action"]
  /** The environment of the change; null: all of them, or none. */
  readonly environment: FlagEnvironment | null
  /** Documents for the history; null before the creation and after the deletion. */
  readonly before: object | null
  readonly after: object | null
  /** The environments whose flag set changes. */
  readonly touched: ReadonlyArray<FlagEnvironment>
  readonly store: (revision: number) => Effect.Effect<unknown, SqlError.SqlError>
}

/** Time limits for waiting for another writer, and for holding the lock without running a statement. */
const timeouts = { lock_timeout: "5s", idle_in_transaction_session_timeout: "30s" }

const busy = new Unavailable({ error: "Other flag changes are in progress; retry", code: "FLAGS_BUSY" })

/**
 * Every change of flags and segments goes through here: one writer at a time over all replicas, so that a change is
 * checked against the state that it is written to, in one transaction. A service, because Flags and FlagSegments share
 * its mutex.
 */
export class FlagWriter extends Context.Service<
  FlagWriter,
  {
    /**
     * `plan` reads the stored state in the transaction and fails if the change is invalid; undefined: there is nothing to
     * change. `answer` reads the caller's answer in the same transaction. Returns when this process and its engine
     * evaluate by the new rules. 503 `FLAGS_BUSY`, `FLAGS_BEHIND`.
     */
    readonly write: <A, E>(
      author: Author,
      plan: Effect.Effect<FlagWrite | undefined, E | OwnTablesFailure>,
      answer: Effect.Effect<A, OwnTablesFailure>
    ) => Effect.Effect<A, Exclude<E, OwnTablesFailure> | Unavailable>
  }
>()("svc/services/FlagWriter") {
  static readonly layer = Layer.effect(
    FlagWriter,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sets = yield* FlagSets
      const engine = yield* FlagEngine
      // Writers of this process wait here rather than each on a database connection.
      const mutex = yield* Semaphore.make(1)

      const begin = Effect.gen(function* () {
        for (const [name, value] of Object.entries(timeouts)) yield* sql.unsafe(`set local ${name} = '${value}'`)
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

      const transaction = <E>(author: Author, plan: Effect.Effect<FlagWrite | undefined, E | OwnTablesFailure>) =>
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
          // The documents are in the history of the flag or segment.
          const after = { revision, ...(write.environment === null ? {} : { environment: write.environment }) }
          yield* recordChange(sql, { subject: `${write.kind}:${write.key}`, after })
          return { revision, touched: write.touched }
        })

      const write = <A, E>(
        author: Author,
        plan: Effect.Effect<FlagWrite | undefined, E | OwnTablesFailure>,
        answer: Effect.Effect<A, OwnTablesFailure>
      ) =>
        Effect.gen(function* () {
          const { answered, done } = yield* sql
            .withTransaction(
              Effect.gen(function* () {
                return { done: yield* transaction(author, plan), answered: yield* answer }
              })
            )
            .pipe(mutex.withPermit, (writing) => onOwnTables(writing, { "55P03": () => busy }))
          if (done === undefined) return answered
          yield* sets.awaitRevision(done.revision)
          if (done.touched.length > 0 && !(yield* engine.synced(done.touched, done.revision))) {
            yield* Effect.logWarning(`The flag engine has not loaded revision ${done.revision} yet`)
          }
          return answered
        })

      return FlagWriter.of({ write })
    })
  )
}
