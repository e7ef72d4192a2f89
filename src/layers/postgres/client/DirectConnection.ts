import { Data, Effect, type Scope } from "effect"
import { type Unavailable } from "../../../domain/errors.ts"
import { databaseUnreachable } from "../../../services/OwnTables.ts"
import { internalsOf, openClient } from "./Client.ts"
import { type Login, ownSearchPath } from "../Login.ts"
import { endIfUnanswered } from "./Unanswered.ts"
import { type SqlState } from "../../../domain/codes/ErrorCode.ts"

/** PostgreSQL rejected a statement (`code` is its SQLSTATE), or the connection broke (`code` is ""). */
export class QueryFailed extends Data.TaggedError("QueryFailed")<{
  readonly code: SqlState | ""
  readonly message: string
}> {}

type Row = Readonly<Record<string, unknown>>

/** A connection outside all pools. */
export interface DirectConnection {
  readonly pid: number
  readonly query: (text: string, params?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<Row>, QueryFailed>
}

const queryFailed = (cause: unknown) => {
  const { code, message, severity } = cause as { code?: unknown; message?: unknown; severity?: unknown }
  // Node's own errors have a `code` too, but no severity.
  const sqlState = typeof severity === "string" && typeof code === "string" ? (code as SqlState) : ""
  return new QueryFailed({ code: sqlState, message: typeof message === "string" ? message : String(cause) })
}

/**
 * @param settings of the session; by default without statement and lock timeouts
 * @param timeout of connecting, in ms: PostgreSQL admits no session to a database while it is being copied
 */
export const connectDirectly = (
  given: Login,
  settings: Readonly<Record<string, string>> = {},
  timeout = 10_000
): Effect.Effect<DirectConnection, QueryFailed, Scope.Scope> =>
  Effect.map(
    openClient(given, {
      name: "branches",
      settings: { search_path: ownSearchPath, statement_timeout: "0", lock_timeout: "0", ...settings },
      more: { connectionTimeoutMillis: timeout },
      failed: queryFailed,
      connected: (socket, login) => endIfUnanswered(login, socket)
    }),
    (client) => ({
      pid: internalsOf(client).processID,
      query: (text, params = []) =>
        Effect.map(
          Effect.tryPromise({
            // Statements without parameters are simple queries, in which DO blocks may commit.
            try: () => (params.length === 0 ? client.query<Row>(text) : client.query<Row>(text, [...params])),
            catch: queryFailed
          }),
          ({ rows }) => rows
        )
    })
  )

/** 503 if the database is unreachable; any other failure is a defect. */
export const outageOrDie = (error: QueryFailed): Effect.Effect<never, Unavailable> =>
  error.code === "" || /^(57P0|53300|08|25006)/.test(error.code)
    ? Effect.fail(databaseUnreachable())
    : Effect.die(error)
