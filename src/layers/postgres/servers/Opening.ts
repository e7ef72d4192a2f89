import { Effect, type Scope, Schedule } from "effect"
import { type Client } from "pg"
import { openClient } from "../client/Client.ts"
import { type Login, ownSearchPath } from "../Login.ts"
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
  openClient(given, {
    name: "start",
    settings: { search_path: ownSearchPath },
    more: { query_timeout: 10_000 },
    failed: (cause) => cause as Failure,
    before: requirePrimary
  })

/** Runs a statement whose result is one value. */
export const ask = (client: Client, sql: string, params: ReadonlyArray<string> = []) =>
  Effect.tryPromise({
    try: async () => (await client.query<{ readonly value: string | null }>(sql, [...params])).rows[0]?.value ?? null,
    catch: (cause) => cause as Failure
  })
