import { Effect } from "effect"
import { Socket, type SocketConstructorOpts } from "node:net"
import { type Client, type QueryConfig } from "pg"
import { ChangeLogLost } from "../../../services/ports/ChangeLog.ts"
import { breakWithPrimary, internalsOf, openClient } from "../client/Client.ts"
import { type Login, ownSearchPath } from "../Login.ts"
import { logSocket } from "./LogSocket.ts"

/** PostgreSQL ends the session of a reader that is silent for this long, so that another can take over. */
const senderTimeout = "10s"

/** It is idle while it streams nothing. */
const clusterSettings = { wal_sender_timeout: senderTimeout, idle_session_timeout: senderTimeout }

/** Settings by which values are printed as row_to_json() prints them; see migration 0003. */
const settings = {
  search_path: ownSearchPath,
  timezone: "UTC",
  datestyle: "ISO, YMD",
  intervalstyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_session_timeout: "0",
  wal_sender_timeout: senderTimeout
}

/**
 * Settings of the session that passes changes on. Its statement is long, and runs for each transaction of a watched table:
 * planning it takes PostgreSQL several times as long as running it, and compiling it never pays.
 */
const passing = {
  search_path: ownSearchPath,
  timezone: "UTC",
  statement_timeout: "60000",
  idle_session_timeout: "0",
  plan_cache_mode: "force_generic_plan",
  jit: "off"
}

export const isForbidden = (message: string) =>
  /permission denied to start|must be superuser or replication role|permission denied to use replication/i.test(message)

export const lost = (cause: unknown, user?: string) => {
  const message = cause instanceof Error ? cause.message : String(cause)
  const remedy =
    user !== undefined && isForbidden(message) ? `. As an administrator: alter role "${user}" replication` : ""
  return new ChangeLogLost({ message: message + remedy })
}

/** A session at the primary; `more`: further options of the client. */
const connect = (given: Login, options: Readonly<Record<string, string>>, more: object = {}) =>
  openClient(given, {
    name: "changes",
    settings: options,
    more: { keepAlive: true, ...more },
    failed: (cause) => lost(cause, given.user),
    connected: breakWithPrimary,
    // Ending it politely would wait for the stream's end.
    close: (client) => Effect.sync(() => void internalsOf(client).connection.stream.destroy())
  })

/** The session that passes changes on. */
export const connectToPass = (login: Login) => connect(login, passing)

// A paused socket reads nothing, so that nothing wakes this process.
const stream = () => new Socket({ readableHighWaterMark: 1 } as SocketConstructorOpts)

/** A session of the replication protocol, in which SQL can be run too. */
export const connectToLog = (login: Login) => connect(login, settings, { replication: "database", stream })

/** A session of the replication protocol for a whole cluster. It is in no database, so that any of them can be copied. */
export const connectToCluster = (login: Login) =>
  // TLS reads from the socket itself.
  connect(login, clusterSettings, { replication: "true", ...(login.at.ssl === false && { stream: logSocket }) })

export const rowsOf = (client: Client, query: QueryConfig) =>
  Effect.tryPromise({
    try: async () => (await client.query<Readonly<Record<string, unknown>>>(query)).rows,
    catch: (cause) => lost(cause)
  })

/** The first row, by the simple protocol, which has no parameters. */
export const one = (client: Client, text: string) => Effect.map(rowsOf(client, { text }), ([row]) => row ?? {})
