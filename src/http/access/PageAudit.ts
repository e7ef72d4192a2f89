import { Cause, Clock, Context, Effect, Exit, Layer } from "effect"
import { shownStatements } from "../../domain/audit/ShownSql.ts"
import { isClientError } from "../../domain/errors.ts"
import { describeChange } from "../../services/audit/Change.ts"
import { branchHeader } from "../wire/BranchHeader.ts"
import { ManagementAudit } from "./ManagementAudit.ts"
import { CurrentRequest } from "./ServedRequest.ts"

/** The part of a result that the audit entry keeps. */
type Kept<A> = (result: A) => Readonly<Record<string, unknown>>

/** Whether the service or PostgreSQL has refused the request, so that nothing has changed. */
const isRefused = (exit: Exit.Exit<unknown, unknown>) => {
  if (Exit.isSuccess(exit) || Exit.hasInterrupts(exit)) return false
  const error = Cause.squash(exit.cause)
  return isClientError(error) && error.status < 500
}

/**
 * Records what pages of the dashboard write to the database: people share its keys, so only the session shows who made
 * a change. Requests with a key are neither recorded nor slowed down.
 */
export class PageAudit extends Context.Service<
  PageAudit,
  {
    /** Runs statements that may write. */
    readonly statements: <A, E, R>(
      app: Effect.Effect<A, E, R>,
      action: "run" | "transaction",
      texts: ReadonlyArray<string>,
      kept: Kept<A>
    ) => Effect.Effect<A, E, R>
    /** Writes rows of a table. */
    readonly rows: <A, E, R>(
      app: Effect.Effect<A, E, R>,
      action: "insert" | "upsert" | "update" | "remove" | "import",
      table: string,
      kept: Kept<A>
    ) => Effect.Effect<A, E, R>
  }
>()("svc/http/PageAudit") {
  static readonly layer = Layer.effect(
    PageAudit,
    Effect.gen(function* () {
      const audit = yield* ManagementAudit

      const recorded = <A, E, R>(
        app: Effect.Effect<A, E, R>,
        group: "sql" | "rows",
        action: string,
        about: (exit: Exit.Exit<A, E>) => {
          readonly subject: string
          readonly after: Readonly<Record<string, unknown>>
        }
      ): Effect.Effect<A, E, R> =>
        Effect.flatMap(CurrentRequest, ({ caller, headers }) => {
          const author = caller?.author
          if (author === undefined) return app
          return Effect.flatMap(Clock.currentTimeMillis, (begun) => {
            const branch = headers[branchHeader]
            const described = Effect.onExit(app, (exit) =>
              Effect.flatMap(Clock.currentTimeMillis, (now) => {
                const { after, subject } = about(exit)
                const place = branch === undefined ? {} : { branch }
                return describeChange({ subject, after: { ...place, ...after, milliseconds: now - begun } })
              })
            )
            const place = { group: { identifier: group }, endpoint: { identifier: action, method: "POST" } } as const
            return audit.around(described, place, author)
          })
        })

      return PageAudit.of({
        statements: (app, action, texts, kept) =>
          recorded(app, "sql", action, (exit) => ({
            subject: "database",
            after: {
              statements: shownStatements(texts, !isRefused(exit)),
              ...(Exit.isSuccess(exit) ? kept(exit.value) : {})
            }
          })),
        rows: (app, action, table, kept) =>
          recorded(app, "rows", action, (exit) => ({
            subject: `table:${table}`,
            after: Exit.isSuccess(exit) ? kept(exit.value) : {}
          }))
      })
    })
  )
}
