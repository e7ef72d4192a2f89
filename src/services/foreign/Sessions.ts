import { Effect, type Scope } from "effect"
import { Conflict, type DatabaseError, type Unavailable } from "../../domain/errors.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { Db, serviceActor, type SqlSession } from "../ports/Db.ts"

/** Access to foreign data as the role of service keys, which therefore owns all objects that are created. */
export const makeForeignSessions = Effect.gen(function* () {
  const { main } = yield* Db
  const catalogues = yield* Catalogues

  /** Reads one JSON text. */
  const read = (text: string) =>
    Effect.map(main.run(serviceActor, { text, params: [], access: "read", searchPath: "pg_catalog" }), ([json]) =>
      String(json)
    )

  /** Runs a transaction on the main database. The row API sees its changes once it has committed. */
  const change = <A, E>(
    body: (session: SqlSession) => Effect.Effect<A, E, Scope.Scope>
  ): Effect.Effect<A, E | DatabaseError | Conflict | Unavailable> =>
    Effect.scoped(
      Effect.gen(function* () {
        const session = yield* main.session(serviceActor)
        yield* session.query("begin", [], 1)
        yield* session.query("set local search_path = pg_catalog", [], 1)
        const result = yield* body(session)
        // Uninterruptible, because it must be known whether the transaction has committed.
        const { command } = yield* Effect.uninterruptible(session.query("commit", [], 1))
        if (command !== "COMMIT") {
          return yield* new Conflict({ error: "PostgreSQL rolled the transaction back", code: "40000" })
        }
        yield* catalogues.changed(main)
        return result
      })
    )

  return { read, change }
})

export type ForeignSessions = Effect.Success<typeof makeForeignSessions>

/** The first value of the first row. */
export const valueOf = (session: SqlSession, text: string, params: ReadonlyArray<string>) =>
  Effect.map(session.query(text, params, 1), ({ rows }) => rows[0]?.[0] ?? null)

/** The first value of each row. */
export const namesOf = (session: SqlSession, text: string, params: ReadonlyArray<string>) =>
  Effect.map(session.query(text, params, 100_000), ({ rows }) => rows.map(([name]) => name ?? ""))

/** Whether a query returns a row. */
export const finds = (session: SqlSession, text: string, params: ReadonlyArray<string>) =>
  Effect.map(session.query(text, params, 1), ({ rows }) => rows.length > 0)

export const serverExists = "select from pg_catalog.pg_foreign_server where srvname = $1::text"
