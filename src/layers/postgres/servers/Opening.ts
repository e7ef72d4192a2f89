import { Effect, type Scope, Schedule } from "effect"
import { Client } from "pg"
import { atPrimary, type Login, ownSearchPath, pgConfig } from "../Login.ts"
import { requirePrimary } from "./Primary.ts"

/** How long a start waits for a server. */
export const aMinute = Schedule.max([Schedule.spaced("500 millis"), Schedule.recurs(120)])

/** An error of Node's (`code` is a name) or of PostgreSQL (`code` is a SQLSTATE, and there is a severity). */
export interface Failure {
  readonly code?: unknown
  readonly severity?: unknown
  readonly message?: unknown
}

export const sqlState = ({ code, severity }: Failure) => (typeof severity === "string" ? String(code) : "")
export const firstLine = ({ message }: Failure) => String(message).split("\n")[0] ?? ""

/** A connection of the start's own. */
export const openAtStart = (given: Login): Effect.Effect<Client, Failure, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client({
          ...pgConfig(atPrimary(given), { search_path: ownSearchPath }),
          application_name: "svc start",
          connectionTimeoutMillis: 5_000,
          query_timeout: 10_000
        })
        // An "error" event without a handler would end the process.
        client.on("error", () => undefined)
        requirePrimary(client)
        await client.connect()
        return client
      },
      catch: (cause) => cause as Failure
    }),
    (client) => Effect.promise(() => client.end().catch(() => undefined)).pipe(Effect.timeoutOption("1 second"))
  )

/** Runs a statement whose result is one value. */
export const ask = (client: Client, sql: string, params: ReadonlyArray<string> = []) =>
  Effect.tryPromise({
    try: async () => (await client.query<{ readonly value: string | null }>(sql, [...params])).rows[0]?.value ?? null,
    catch: (cause) => cause as Failure
  })
