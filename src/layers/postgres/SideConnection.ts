import { Data, Effect, type Scope } from "effect"
import { Client } from "pg"
import { type Unavailable } from "../../domain/errors.ts"
import { type Login, pgConfig } from "./Login.ts"
import { databaseUnreachable } from "../../services/OwnTables.ts"

/** PostgreSQL refused a statement (`code` is its SQLSTATE), or the connection broke (`code` is ""). */
export class Refused extends Data.TaggedError("Refused")<{ readonly code: string; readonly message: string }> {}

type Row = Readonly<Record<string, unknown>>

/** A connection of its own, beside all pools. */
export interface SideConnection {
  readonly pid: number
  readonly query: (text: string, params?: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<Row>, Refused>
}

const refused = (cause: unknown) => {
  const { code, message, severity } = cause as { code?: unknown; message?: unknown; severity?: unknown }
  // Node's own errors have a `code` too, but no severity.
  const sqlState = typeof severity === "string" && typeof code === "string" ? code : ""
  return new Refused({ code: sqlState, message: typeof message === "string" ? message : String(cause) })
}

/**
 * @param settings of the session; without a statement timeout unless they have one
 * @param patience how long connecting may take, in ms: PostgreSQL lets nobody into a database that is being copied
 */
export const connectAside = (
  login: Login,
  settings: Readonly<Record<string, string>> = {},
  patience = 10_000
): Effect.Effect<SideConnection, Refused, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          const client = new Client({
            ...pgConfig(login, { statement_timeout: "0", lock_timeout: "0", ...settings }),
            application_name: "svc branches",
            connectionTimeoutMillis: patience
          })
          // Until somebody listens for errors, one of them would end the process.
          client.on("error", () => undefined)
          await client.connect()
          return client
        },
        catch: refused
      }),
      // With a statement under way it is broken off.
      (client) => Effect.promise(() => client.end().catch(() => undefined)).pipe(Effect.timeoutOption("1 second"))
    ),
    (client) => ({
      pid: (client as unknown as { readonly processID: number }).processID,
      query: (text, params = []) =>
        Effect.map(
          Effect.tryPromise({
            // Without parameters as a simple query: DO blocks may commit in it.
            try: () => (params.length === 0 ? client.query<Row>(text) : client.query<Row>(text, [...params])),
            catch: refused
          }),
          ({ rows }) => rows
        )
    })
  )

/** A refusal that nothing was to be learnt from: the database is away, or it is ours to mend. */
export const asOutage = (error: Refused): Effect.Effect<never, Unavailable> =>
  error.code === "" || /^(57P0|53300|08)/.test(error.code) ? Effect.fail(databaseUnreachable()) : Effect.die(error)
