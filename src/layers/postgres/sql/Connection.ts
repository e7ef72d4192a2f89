import { Effect } from "effect"
import { type EventEmitter } from "node:events"
import { Client, type Submittable } from "pg"
import { largestResult } from "../../../domain/sql/Result.ts"
import { cancelRequest } from "../CancelRequest.ts"
import { type Login, pgConfig } from "../Login.ts"
import { ResetQuery, type RowsQuery } from "./Queries.ts"
import { type Follower } from "./Submitted.ts"

/** What of the driver's inside is used here and not in its types. */
interface Inside {
  readonly processID: number
  readonly secretKey: number
  readonly connection: EventEmitter & {
    readonly stream: { readonly on: (event: "data", listener: (chunk: Uint8Array) => void) => void; destroy(): void }
  }
}

interface Resetting {
  /** Undefined: not done yet. */
  clean: boolean | undefined
  tell: ((clean: boolean) => void) | undefined
}

export interface SqlConnectionOptions {
  /** Database role of service keys. */
  readonly role: string
  /** Statement timeout in ms. */
  readonly sqlTimeout: number
}

/** How long to wait for PostgreSQL to let us in, in ms. */
const connectMillis = 4_000
/** What a result of the largest size may take on the wire: 4 bytes a value and 7 a row come on top of the text. */
const largestWire = largestResult + largestResult / 4

/**
 * Settings of a session, as startup options: that is where RESET returns to, the role included, so that no statement
 * of a caller can change what the next one starts with.
 */
const startupOptions = ({ role, sqlTimeout }: SqlConnectionOptions) => ({
  role,
  TimeZone: "UTC",
  DateStyle: "ISO,YMD",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  statement_timeout: String(sqlTimeout),
  // Should this process stop in the middle of a transaction: its locks go with it.
  idle_in_transaction_session_timeout: String(Math.max(sqlTimeout, 10_000)),
  // Present and empty, so that a policy reads the same with and without a JWT.
  "request.jwt.claims": "",
  "request.jwt.sub": ""
})

/** One connection in text mode. */
export class SqlConnection {
  readonly client: Client
  /** Its socket is gone, or it is in a state nobody should meet: close it, never hand it on. */
  dead = false
  /** Called when an answer is larger than `largestResult`; the connection is closed then. */
  overflow: (() => void) | undefined
  private received = 0
  /** The reset that went out behind the last statement. */
  private resetting: Resetting | undefined
  /** PostgreSQL's major version. */
  private serverVersion = 0
  private readonly login: Login

  constructor(login: Login, options: SqlConnectionOptions, onClose: (connection: SqlConnection) => void) {
    this.login = login
    this.client = new Client({
      ...pgConfig(login, startupOptions(options)),
      application_name: "svc sql",
      client_encoding: "UTF8",
      connectionTimeoutMillis: connectMillis,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000
    })
    const closed = () => {
      if (this.dead) return
      this.dead = true
      onClose(this)
    }
    // An error of the socket, or a message while nothing runs: PostgreSQL ended the session.
    this.inside.connection.on("parameterStatus", (message: { parameterName: string; parameterValue: string }) => {
      if (message.parameterName === "server_version") this.serverVersion = Number.parseInt(message.parameterValue, 10)
    })
    this.client.on("error", closed)
    this.client.on("end", closed)
  }

  private get inside() {
    return this.client as unknown as Inside
  }

  /** Fails with whatever the driver says. */
  readonly open: Effect.Effect<void, unknown> = Effect.callback((resume) => {
    this.client.connect((error: Error | null) => {
      if (error) {
        resume(Effect.fail(error))
        return
      }
      this.inside.connection.stream.on("data", (chunk) => {
        this.received += chunk.length
        if (this.received > largestWire) this.overflow?.()
      })
      resume(Effect.void)
    })
  })

  /** Counts the bytes of an answer from here. */
  readonly startCounting = () => {
    this.received = 0
  }

  /** Runs a statement. Should one more come after the last, a reset of its own is needed again. */
  run(query: Submittable) {
    this.resetting = undefined
    this.client.query(query)
  }

  /** Runs the last statement of a session with the reset right behind it: the server is woken once instead of twice. */
  runLast(make: (follower: Follower) => RowsQuery) {
    const resetting: Resetting = { clean: undefined, tell: undefined }
    const reset = new ResetQuery(this.serverVersion, (clean) => {
      resetting.clean = clean === true && !this.dead
      resetting.tell?.(resetting.clean)
    })
    const query = make({ write: reset.write, begin: () => this.client.query(reset) })
    this.resetting = query.leads ? resetting : undefined
    this.client.query(query)
  }

  /** Discards everything in the session, then says whether the connection can be used again. */
  reset(done: (clean: boolean) => void) {
    // A server that does not answer: breaking the connection ends the query below.
    const timer = setTimeout(() => this.abandon(), connectMillis)
    const { resetting } = this
    this.resetting = undefined
    if (resetting !== undefined) {
      const over = (clean: boolean) => {
        clearTimeout(timer)
        done(clean && !this.dead)
      }
      if (resetting.clean === undefined) resetting.tell = over
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
    // Outside of a transaction PostgreSQL would log a warning about each rollback.
    if (this.client.getTransactionStatus() === "I") reset()
    else this.client.query("rollback", reset)
  }

  close() {
    this.dead = true
    this.client.end(() => {})
  }

  /** Closes the connection without a word. */
  abandon() {
    this.dead = true
    this.inside.connection.stream.destroy()
  }

  /** Asks PostgreSQL to cancel what runs here. Calls back when it has heard us, or does not answer. */
  cancel(done: () => void) {
    cancelRequest(this.login, this.inside.processID, this.inside.secretKey, done)
  }
}
