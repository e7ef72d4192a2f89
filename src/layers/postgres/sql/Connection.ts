import { Effect } from "effect"
import { type Socket } from "node:net"
import { type Client, type Submittable } from "pg"
import { maxResultSize } from "../../../domain/sql/Result.ts"
import { cancelWhileRunning } from "../client/CancelRequest.ts"
import { claimsSetting, serviceActor } from "../../../services/ports/Db.ts"
import { internalsOf, keptAlive, newClient } from "../client/Client.ts"
import { atPrimary, type Login } from "../Login.ts"
import { requirePrimary } from "../servers/Primary.ts"
import { endIfUnanswered } from "../client/Unanswered.ts"
import { ResetQuery, type RowsQuery } from "./Queries.ts"
import { type Follower } from "./InFlightQuery.ts"

interface Resetting {
  /** Undefined until the reset has ended. */
  clean: boolean | undefined
  onEnd: ((clean: boolean) => void) | undefined
}

export interface SqlConnectionOptions {
  /** Database role of service keys. */
  readonly role: string
  /** Statement timeout in ms. */
  readonly sqlTimeout: number
  /** Undefined: the server's default. */
  readonly searchPath?: string | undefined
  /** Further settings of each session. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** Timeout of connecting and of a reset, in ms. */
const connectTimeout = 4_000
/** Bytes on the wire of the largest result: its text, plus 4 bytes per value and 7 per row. */
const maxResultBytes = maxResultSize + maxResultSize / 4

/**
 * Settings of a session, as startup options: RESET returns to them, the role included, so that no statement can change
 * what the next session starts with.
 */
export const startupOptions = ({ role, searchPath, settings, sqlTimeout }: SqlConnectionOptions) => ({
  role,
  ...(searchPath === undefined ? {} : { search_path: searchPath }),
  TimeZone: "UTC",
  DateStyle: "ISO,YMD",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  statement_timeout: String(sqlTimeout),
  // Ends the transaction, and so frees its locks, if this process stops in the middle of it.
  idle_in_transaction_session_timeout: String(Math.max(sqlTimeout, 10_000)),
  "request.jwt.claims": claimsSetting(serviceActor),
  "request.jwt.sub": "",
  ...settings
})

/** One connection in text mode. */
export class SqlConnection {
  readonly client: Client
  /** The socket is closed, or the session's state is unknown: the connection must be closed, not reused. */
  dead = false
  /** Called when a result is larger than `maxResultSize`; the connection is closed then. */
  overflow: (() => void) | undefined
  /**
   * Takes the rows of a statement from the bytes that arrive, and returns the other messages, for the driver's parser, which
   * makes objects of each row and its values.
   */
  diverted: ((chunk: Buffer) => Buffer) | undefined
  private received = 0
  /** The reset that was sent together with the last statement. */
  private resetting: Resetting | undefined
  /** PostgreSQL's major version. */
  private serverVersion = 0
  private readonly login: Login

  constructor(login: Login, options: SqlConnectionOptions, onClose: (connection: SqlConnection) => void) {
    this.login = atPrimary(login)
    const more = { ...keptAlive, client_encoding: "UTF8", connectionTimeoutMillis: connectTimeout }
    this.client = newClient(this.login, "sql", startupOptions(options), more)
    requirePrimary(this.client)
    const closed = () => {
      if (this.dead) return
      this.dead = true
      onClose(this)
    }
    // A socket error, or an error message outside of a query: PostgreSQL ended the session.
    this.internals.connection.on("parameterStatus", (message: { parameterName: string; parameterValue: string }) => {
      if (message.parameterName === "server_version") this.serverVersion = Number.parseInt(message.parameterValue, 10)
    })
    this.client.on("error", closed)
    this.client.on("end", closed)
  }

  get socket(): Socket {
    return this.internals.connection.stream
  }

  private get internals() {
    return internalsOf(this.client)
  }

  /** Fails with the driver's error. */
  readonly open: Effect.Effect<void, unknown> = Effect.callback((resume) => {
    this.client.connect((error: Error | null) => {
      if (error) {
        resume(Effect.fail(error))
        return
      }
      const { socket } = this
      const parsers = socket.listeners("data")
      socket.removeAllListeners("data")
      endIfUnanswered(this.login, socket)
      socket.on("data", (chunk: Buffer) => {
        this.received += chunk.length
        if (this.received > maxResultBytes) this.overflow?.()
        const rest = this.diverted === undefined ? chunk : this.diverted(chunk)
        if (rest.length > 0) for (const parse of parsers) parse.call(socket, rest)
      })
      resume(Effect.void)
    })
  })

  /** Starts counting the bytes of a result. */
  readonly startCounting = () => {
    this.received = 0
  }

  /** Runs a statement. After `runLast`, the reset sent there no longer covers the session. */
  run(query: Submittable) {
    this.resetting = undefined
    this.client.query(query)
  }

  /** Runs the last statement of a session and sends the reset with it, which wakes the server once instead of twice. */
  runLast(make: (follower: Follower) => RowsQuery) {
    const resetting: Resetting = { clean: undefined, onEnd: undefined }
    const reset = new ResetQuery(this.serverVersion, (clean) => {
      resetting.clean = clean === true && !this.dead
      resetting.onEnd?.(resetting.clean)
    })
    const query = make({ write: reset.write, begin: () => this.client.query(reset) })
    this.resetting = query.leads ? resetting : undefined
    this.client.query(query)
  }

  /** Discards everything in the session; `done` receives whether the connection can be reused. */
  reset(done: (clean: boolean) => void) {
    if (this.login.shared !== undefined) {
      // The pooler's session is made new by the transaction that ends, and by the next one.
      done(!this.dead && this.client.getTransactionStatus() === "I")
      return
    }
    // Breaking the connection ends the query below if the server does not answer.
    const timer = setTimeout(() => this.abandon(), connectTimeout)
    const { resetting } = this
    this.resetting = undefined
    if (resetting !== undefined) {
      const over = (clean: boolean) => {
        clearTimeout(timer)
        done(clean && !this.dead)
      }
      if (resetting.clean === undefined) resetting.onEnd = over
      else over(resetting.clean)
      return
    }
    const reset = () =>
      this.client.query(
        new ResetQuery(this.serverVersion, (clean) => {
          clearTimeout(timer)
          done(clean === true && !this.dead)
        })
      )
    // Outside of a transaction, PostgreSQL would log a warning about each rollback.
    if (this.client.getTransactionStatus() === "I") reset()
    else this.client.query("rollback", reset)
  }

  close() {
    this.dead = true
    this.client.end(() => {})
  }

  /** Closes the socket without a Terminate message. */
  abandon() {
    this.dead = true
    this.internals.connection.stream.destroy()
  }

  /** See `cancelWhileRunning`. */
  cancel(runs: () => boolean, done: () => void) {
    cancelWhileRunning(this.login, this.internals.processID, this.internals.secretKey, runs, done)
  }
}
