import { Effect, Exit, type Scope } from "effect"
import { type Client } from "pg"
import { type DumpStatement } from "../../../domain/dumps/Statement.ts"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { cancelRequest } from "../../postgres/client/CancelRequest.ts"
import { internalsOf, keptAlive, newClient } from "../../postgres/client/Client.ts"
import { atPrimary, type Login } from "../../postgres/Login.ts"

/** A session that fills a database. */
export interface RestoreSession {
  readonly client: Client
  /** The current settings that PostgreSQL reports. */
  readonly reported: ReadonlyMap<string, string>
}

const connectMillis = 10_000

/**
 * Override settings of the role and the database: no timeouts, and qualified names as in the dump. Commits are not synced
 * one by one, because the database is dropped after a crash.
 */
const settings: Readonly<Record<string, string>> = {
  statement_timeout: "0",
  lock_timeout: "0",
  idle_in_transaction_session_timeout: "0",
  default_transaction_read_only: "off",
  default_transaction_isolation: "read committed",
  synchronous_commit: "off",
  standard_conforming_strings: "on",
  search_path: "pg_catalog"
}

/** More settings, for servers that support them and allow it. */
const optionalSettings: ReadonlyArray<string> = [
  "set transaction_timeout = 0",
  // A dump creates event triggers before it fills materialized views; they must not fire.
  "set event_triggers = off",
  // A long statement ends soon after this client is gone.
  "set client_connection_check_interval = '1s'"
]

const clipped = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text)

/** The beginning of a statement, up to its first string, which may be a password. */
const beginning = ({ parts }: DumpStatement) => {
  const text = Buffer.concat(parts.slice(0, 2).map((part) => part.subarray(0, 300))).toString("utf8")
  return (text.split(/['$]/, 1)[0] ?? "").replaceAll(/\s+/g, " ").slice(0, 120).trim()
}

/** The SQLSTATE of a failure; undefined when the connection was lost. */
export const codeOf = (cause: unknown): string | undefined => {
  const { code, severity } = cause as Readonly<Record<string, unknown>>
  return typeof severity === "string" && typeof code === "string" ? code : undefined
}

export const restoreFailed = (reason: string) => new DumpFailed({ reason })

/** The message of PostgreSQL or the driver; for rows of COPY with the line number, but not the row. */
export const restoreRefusal = (cause: unknown, statement?: DumpStatement) => {
  const { code, message, severity, where } = cause as Readonly<Record<string, unknown>>
  const at = statement === undefined ? "" : `, at: ${beginning(statement)}`
  if (typeof severity !== "string")
    return restoreFailed(`The connection to the database was lost (${String(message)})${at}`)
  const line = /^COPY .*?, line (\d+)/.exec(typeof where === "string" ? where : "")?.[1]
  const row = line === undefined ? "" : `, row ${line}`
  return restoreFailed(`${clipped(String(message))} (${String(code)})${at}${row}`)
}

/** @param own settings of the session, to which RESET returns */
export const connectRestore = (
  given: Login,
  own: Readonly<Record<string, string>> = {}
): Effect.Effect<RestoreSession, DumpFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const login = atPrimary(given)
        const more = { ...keptAlive, connectionTimeoutMillis: connectMillis }
        const client = newClient(login, "restore", { ...settings, ...own }, more)
        const reported = new Map<string, string>()
        const { connection } = internalsOf(client)
        connection.on("parameterStatus", (message: { parameterName: string; parameterValue: string }) =>
          reported.set(message.parameterName, message.parameterValue)
        )
        await client.connect()
        return { client, login, reported }
      },
      catch: (cause) => restoreRefusal(cause)
    }),
    // Cancels a running statement: it would not notice the disconnect while it still receives rows.
    ({ client, login }, exit) =>
      Effect.callback<void>((resume) => {
        const { connection, processID, secretKey } = internalsOf(client)
        const close = () => {
          connection.stream.destroy()
          resume(Effect.void)
        }
        if (Exit.isSuccess(exit)) close()
        else cancelRequest(login, processID, secretKey, close)
      })
  ).pipe(
    // Outside of `acquireRelease`, which can't be interrupted.
    Effect.tap(({ client }) =>
      Effect.forEach(optionalSettings, (setting) => Effect.ignore(Effect.tryPromise(() => client.query(setting))), {
        discard: true
      })
    )
  )
