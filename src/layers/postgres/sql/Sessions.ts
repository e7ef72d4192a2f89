import { Effect, Scope } from "effect"
import { DatabaseError, type Unavailable } from "../../../domain/errors.ts"
import { type Actor } from "../../../services/ports/Db.ts"
import { type TypedSession } from "../../../services/sql/SqlRunner.ts"
import { type Login } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { type SqlConnection } from "./Connection.ts"
import { type Follower } from "./InFlightQuery.ts"
import { SqlPool, type SqlPoolOptions } from "./Pool.ts"
import { ParametersQuery, RowsQuery, ScriptQuery } from "./Queries.ts"
import { csvOf, loaded } from "./Streaming.ts"
import { submit } from "./Submit.ts"

/** The operations of a session on a connection. */
export const session = (connection: SqlConnection): TypedSession => ({
  query: (text, params, rowLimit, last = false) =>
    submit(connection, (done) => {
      const make = (follower?: Follower) =>
        new RowsQuery(text, params, rowLimit, connection.startCounting, done, follower)
      if (last) connection.runLast(make)
      else connection.run(make())
    }),
  parameterTypes: (text) => submit(connection, (done) => connection.run(new ParametersQuery(text, done))),
  csv: (text, params) => csvOf(connection, text, params),
  load: (text, bytes) => loaded(connection, text, bytes),
  script: (text) =>
    Effect.suspend(() => {
      let [completed, last] = [0, ""]
      const { startCounting } = connection
      const statement = (tag: string) => {
        completed++
        last = tag
      }
      return submit<true>(connection, (done) =>
        connection.run(new ScriptQuery(text, { row: startCounting, statement }, done))
      ).pipe(
        Effect.map(() => last),
        Effect.mapError((error) => (error._tag === "DatabaseError" ? failedAt(error, completed) : error))
      )
    })
})

const failedAt = ({ code, details, error, hint, position, status }: DatabaseError, statement_index: number) =>
  new DatabaseError({
    error,
    code,
    status,
    details,
    hint,
    statement_index,
    ...(position === undefined ? {} : { position })
  })

const setClaims =
  "select pg_catalog.set_config('request.jwt.claims', $1, false), pg_catalog.set_config('request.jwt.sub', $2, false)"

/** Opens sessions; see `Database`. */
type OpenSession = (actor: Actor) => Effect.Effect<TypedSession, DatabaseError | Unavailable, Scope.Scope>

/**
 * Exclusive sessions of the service role in one database, for statements of any kind. Each starts clean: with this role,
 * these settings and claims, and nothing of the session before; cleaning happens in the background after the scope has
 * closed. `poolSize` is the maximum of concurrent sessions, `sqlTimeout` in ms.
 */
export const makeSqlSessions = (
  address: Login,
  options: SqlPoolOptions
): Effect.Effect<OpenSession & Pausable & Pick<SqlPool, "isUnused" | "use">, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new SqlPool(address, options)),
      (pool) => pool.close
    ),
    (pool) => {
      // `Effect.acquireRelease` would copy all services of the fiber for the release, which takes 15 µs.
      const taken = Effect.uninterruptible(
        Effect.flatMap(Effect.scope, (scope) =>
          Effect.tap(pool.take, (connection) =>
            Scope.addFinalizer(
              scope,
              Effect.sync(() => pool.release(connection))
            )
          )
        )
      )
      const opened = Effect.map(taken, session)
      const open: OpenSession = (actor) =>
        actor.claims === "" ? opened : Effect.tap(opened, ({ query }) => query(setClaims, [actor.claims, actor.sub], 1))
      return Object.assign(open, { pause: pool.pause, resume: pool.resume, isUnused: pool.isUnused, use: pool.use })
    }
  )

/** ms of a statement that has no limit of its own. */
const timeout = 30_000

/**
 * Limits on what assistants do not need and others would suffer from: writing, waiting for locks, memory, processes.
 */
const limits = {
  default_transaction_read_only: "on",
  lock_timeout: "2000",
  work_mem: "16MB",
  hash_mem_multiplier: "1",
  max_parallel_workers_per_gather: "0",
  jit: "off"
}

/** Sessions in which assistants read one database: of a login of their own, so that there is no role to return to. */
export const makeAssistant = (login: Login, options: Pick<SqlPoolOptions, "poolSize" | "searchPath" | "budget">) =>
  Effect.map(
    makeSqlSessions(login, { ...options, role: login.user, sqlTimeout: timeout, settings: limits }),
    (session) => ({ role: login.user, session })
  )
