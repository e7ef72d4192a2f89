import { Context, Effect, Layer, type Scope } from "effect"
import { Conflict, type DatabaseError, type Unavailable } from "../../domain/errors.ts"
import { Catalogues } from "../catalogue/Catalogues.ts"
import { Db, serviceActor, type Session } from "../ports/Db.ts"

/** Changes of foreign data: as the role of service keys, so that what is made belongs to it, all of it or nothing. */
export class ForeignSessions extends Context.Service<
  ForeignSessions,
  {
    /** Reads one JSON text. */
    readonly read: (text: string) => Effect.Effect<string, DatabaseError | Unavailable>
    /** One transaction of the main database. Once it is committed, the row API knows of it. */
    readonly change: <A, E>(
      body: (session: Session) => Effect.Effect<A, E, Scope.Scope>
    ) => Effect.Effect<A, E | DatabaseError | Conflict | Unavailable>
  }
>()("svc/services/ForeignSessions") {
  static readonly layer = Layer.effect(
    ForeignSessions,
    Effect.gen(function* () {
      const db = yield* Db
      const catalogues = yield* Catalogues
      return ForeignSessions.of({
        read: (text) =>
          Effect.map(db.main.run(serviceActor, { text, params: [], clean: true, access: "read" }), ([json]) =>
            String(json)
          ),
        change: (body) =>
          Effect.scoped(
            Effect.gen(function* () {
              const session = yield* db.main.session(serviceActor)
              yield* session.query("begin", [], 1)
              const made = yield* body(session)
              // Whether it was committed must be known.
              const { command } = yield* Effect.uninterruptible(session.query("commit", [], 1))
              if (command !== "COMMIT") {
                return yield* new Conflict({ error: "PostgreSQL rolled the transaction back", code: "40000" })
              }
              yield* catalogues.changed(db.main)
              return made
            })
          )
      })
    })
  )
}

/** The first value of the first row. */
export const valueOf = (session: Session, text: string, params: ReadonlyArray<string>) =>
  Effect.map(session.query(text, params, 1), ({ rows }) => rows[0]?.[0] ?? null)

/** Whether a query gives a row. */
export const finds = (session: Session, text: string, params: ReadonlyArray<string>) =>
  Effect.map(session.query(text, params, 1), ({ rows }) => rows.length > 0)
