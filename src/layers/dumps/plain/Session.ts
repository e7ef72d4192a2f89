import { Effect, Exit, type Scope } from "effect"
import { type EventEmitter } from "node:events"
import { Client } from "pg"
import { type DumpStatement } from "../../../domain/dumps/Statement.ts"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"
import { cancelRequest } from "../../postgres/CancelRequest.ts"
import { type Login, pgConfig } from "../../postgres/Login.ts"

/** What of the driver's inside is used here and not in its types. */
interface Inside {
  readonly processID: number
  readonly secretKey: number
  readonly connection: EventEmitter & { readonly stream: { destroy(): void } }
}

/** A session that fills a database. */
export interface RestoreSession {
  readonly client: Client
  /** Settings that PostgreSQL reports, as they are now. */
  readonly reported: ReadonlyMap<string, string>
}

const connectMillis = 10_000

/**
 * Not those of the role or the database: no limits, and names as they are in the dump. A crash of the server takes the
 * database along, so nothing of it has to be on the disk before all is.
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

/** The same, where the server knows them and lets us. */
const wishes: ReadonlyArray<string> = [
  "set transaction_timeout = 0",
  // What is restored is not run for it: a dump makes its event triggers before it fills its materialized views.
  "set event_triggers = off",
  // A long statement ends soon after we have gone.
  "set client_connection_check_interval = '1s'"
]

const clipped = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text)

/** How a statement begins, up to its first text: that may be a password. */
const beginning = ({ parts }: DumpStatement) => {
  const text = Buffer.concat(parts.slice(0, 2).map((part) => part.subarray(0, 300))).toString("utf8")
  return (text.split(/['$]/, 1)[0] ?? "").replaceAll(/\s+/g, " ").slice(0, 120).trim()
}

export const failed = (reason: string) => new DumpFailed({ reason })

/** What PostgreSQL or the driver said; of where it happened only the line among a table's rows, not the row. */
export const refusal = (cause: unknown, statement?: DumpStatement) => {
  const { code, message, severity, where } = cause as Readonly<Record<string, unknown>>
  const at = statement === undefined ? "" : `, at: ${beginning(statement)}`
  if (typeof severity !== "string") return failed(`The connection to the database broke (${String(message)})${at}`)
  const line = /^COPY .*?, line (\d+)/.exec(typeof where === "string" ? where : "")?.[1]
  const row = line === undefined ? "" : `, row ${line}`
  return failed(`${clipped(String(message))} (${String(code)})${at}${row}`)
}

export const connectRestore = (login: Login): Effect.Effect<RestoreSession, DumpFailed, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client({
          ...pgConfig(login, settings),
          application_name: "svc restore",
          connectionTimeoutMillis: connectMillis,
          keepAlive: true,
          keepAliveInitialDelayMillis: 10_000
        })
        // Until somebody listens for errors, one of them would end the process.
        client.on("error", () => undefined)
        const reported = new Map<string, string>()
        const { connection } = client as unknown as Inside
        connection.on("parameterStatus", (message: { parameterName: string; parameterValue: string }) =>
          reported.set(message.parameterName, message.parameterValue)
        )
        await client.connect()
        return { client, reported }
      },
      catch: (cause) => refusal(cause)
    }),
    // Whatever is under way when we leave is cancelled: it would not notice, with rows still on their way to it.
    ({ client }, exit) =>
      Effect.callback<void>((resume) => {
        const { connection, processID, secretKey } = client as unknown as Inside
        const close = () => {
          connection.stream.destroy()
          resume(Effect.void)
        }
        if (Exit.isSuccess(exit)) close()
        else cancelRequest(login, processID, secretKey, close)
      })
  ).pipe(
    // Not while the connection is made, which can't be interrupted.
    Effect.tap(({ client }) =>
      Effect.forEach(wishes, (wish) => Effect.ignore(Effect.tryPromise(() => client.query(wish))), { discard: true })
    )
  )
