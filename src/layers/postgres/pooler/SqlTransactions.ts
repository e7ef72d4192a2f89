import { Effect, type Scope } from "effect"
import { type Connection } from "pg"
import { type DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type Actor, type Transaction } from "../../../services/ports/Db.ts"
import { type TypedSession } from "../../../services/sql/SqlRunner.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { type Login } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { startupOptions, type SqlConnection } from "../sql/Connection.ts"
import { type Done, InFlightQuery } from "../sql/InFlightQuery.ts"
import { SqlPool, type SqlPoolOptions } from "../sql/Pool.ts"
import { session } from "../sql/Sessions.ts"
import { submit } from "../sql/Submit.ts"
import { beginSql, newSeed, newSessionSql, oldSessionSql, resetSql } from "./Transactions.ts"

/** ms that a transaction may wait for a session of the pooler. */
const beginMillis = 5_000

/** Several statements in one message, between which the pooler cannot change the session. The result is the first one's tag. */
class TogetherQuery extends InFlightQuery<string> {
  private readonly text: string
  private readonly tags: Array<string>

  constructor(statements: ReadonlyArray<string>, done: Done<string>) {
    const tags: Array<string> = []
    // The statements after the first concern the session only.
    super((result, failure) => (tags.length > 0 ? done(tags[0], undefined) : done(result, failure)))
    this.text = statements.join("; ")
    this.tags = tags
  }

  submit(connection: Connection) {
    connection.query(this.text)
  }

  override handleCommandComplete(message: { readonly text: string }) {
    this.tags.push(message.text)
  }

  /** Whether all statements have completed. */
  get length() {
    return this.tags.length
  }

  protected override sync() {}

  protected result(): string {
    return this.tags[0] ?? ""
  }
}

const ending = (how: "commit" | "rollback") => [how, ...resetSql, oldSessionSql(newSeed())]

/**
 * Runs the beginning of a transaction, of which every statement must succeed. Waits for its end, which determines the
 * session's state.
 */
const begun = (connection: SqlConnection, statements: ReadonlyArray<string>) =>
  Effect.callback<void, Unavailable>((resume) => {
    const fail = () => {
      clearTimeout(timer)
      // No rollback is sent: when a client leaves within a transaction, the pooler closes the session.
      connection.abandon()
      resume(Effect.fail(databaseUnreachable()))
    }
    const timer = setTimeout(fail, beginMillis)
    const query: TogetherQuery = new TogetherQuery(statements, () => {
      if (query.length < statements.length) return fail()
      clearTimeout(timer)
      resume(Effect.void)
    })
    connection.run(query)
  })

const setClaims =
  "select pg_catalog.set_config('request.jwt.claims', $1, true), pg_catalog.set_config('request.jwt.sub', $2, true)"

type OpenTransaction = (
  actor: Actor,
  readOnly: boolean
) => Effect.Effect<Transaction & TypedSession, DatabaseError | Unavailable, Scope.Scope>

/** Transactions of the service role through a pooler, whose session is made new before the first statement, and behind the last. */
export const makeSqlTransactions = (
  login: Login,
  options: SqlPoolOptions
): Effect.Effect<OpenTransaction & Pausable & Pick<SqlPool, "use">, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new SqlPool(login, options)),
      (pool) => pool.close
    ),
    (pool) => {
      const { search_path = "", ...settings } = { ...startupOptions(options), application_name: "svc sql" }
      const all = search_path === "" ? settings : { ...settings, search_path }
      const open = Effect.fnUntraced(function* (actor: Actor, readOnly: boolean) {
        const connection = yield* Effect.acquireRelease(pool.take, (taken) =>
          Effect.suspend(() => {
            // Only a transaction that was neither committed nor rolled back is still open.
            if (taken.dead || taken.client.getTransactionStatus() === "I") return Effect.sync(() => pool.release(taken))
            return Effect.sync(() => taken.run(new TogetherQuery(ending("rollback"), () => pool.release(taken))))
          })
        )
        const beginning = [beginSql, ...resetSql, newSessionSql(all, newSeed())]
        yield* Effect.uninterruptible(
          begun(connection, readOnly ? [...beginning, "set transaction read only"] : beginning)
        )
        const opened = session(connection)
        if (actor.claims !== "") yield* opened.query(setClaims, [actor.claims, actor.sub], 1)
        const commit = submit<string>(connection, (done) => connection.run(new TogetherQuery(ending("commit"), done)))
        return { ...opened, commit }
      })
      return Object.assign(open, { pause: pool.pause, resume: pool.resume, use: pool.use })
    }
  )
