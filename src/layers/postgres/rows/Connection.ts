import { Effect } from "effect"
import { type Socket } from "node:net"
import { type Client } from "pg"
import { type AnswerMemory } from "../../../services/access/AnswerBudget.ts"
import { cancelWhileRunning } from "../client/CancelRequest.ts"
import { internalsOf, keptAlive, newClient } from "../client/Client.ts"
import { atPrimary, type Login } from "../Login.ts"
import { requirePrimary } from "../servers/Primary.ts"
import { endIfUnanswered } from "../client/Unanswered.ts"
import { MessageReader, type ServerError, type TextRow } from "./MessageReader.ts"
import { MessageWriter, type Param } from "./MessageWriter.ts"
import { type ExchangeFailure, isUnbound, nulInText, type Outcome, oversized } from "./Outcome.ts"
import { type Prepared, PreparedStatements } from "./PreparedStatements.ts"

/** One statement of an exchange. */
export interface Command {
  readonly text: string
  readonly params: ReadonlyArray<Param>
  /** Kept prepared under its text. */
  readonly prepare: boolean
}

/** An exchange whose ReadyForQuery has not arrived. */
interface InFlight {
  readonly results: Array<Array<TextRow>>
  /** Statements whose ParseComplete has not arrived, in order; undefined for the unnamed one. */
  readonly parsing: Array<Prepared | undefined>
  readonly commands: ReadonlyArray<Command>
  readonly reused: ReadonlyArray<boolean>
  /** How many of the commands were bound. */
  bound: number
  failure: ExchangeFailure | undefined
  /** See `Actor`. */
  readonly client: string
  readonly done: (outcome: Outcome) => void
}

/** How answers are limited. */
export interface AnswerLimits {
  /** Larger rows, in bytes, are rejected: an answer is kept in memory as a whole. */
  readonly maxRowSize: number
  /** The counter of large answers. Undefined on connections that several requests share, which no answer may block. */
  readonly memory?: AnswerMemory | undefined
}

const connectTimeout = 4_000
/** A longer text is not kept prepared. */
const maxPreparedText = 8 * 1024
const prepares = ({ prepare, text }: Command) => prepare && text.length <= maxPreparedText

const plain = (text: string): Command => ({ text, params: [], prepare: false })
const begin = plain("begin")
const commit = plain("commit")
const rollback = plain("rollback")

/** The outcome of the commands between `begin` and `commit`; `end`: that of the rollback behind them. */
const withinTransaction = ({ failure, results }: Outcome, { status }: Outcome, commands: number): Outcome => ({
  results: results.slice(1, commands + 1),
  failure: failure && { ...failure, at: Math.max(0, failure.at - 1) },
  status
})

const unsent = (error: ServerError | undefined): Outcome => ({
  results: [],
  failure: { error, at: 0, reused: false, begun: false },
  status: error === undefined ? "" : "I"
})

/**
 * A session in which all commands of an exchange are sent before one Sync. PostgreSQL runs them as one transaction, and
 * after an error skips everything up to the Sync (PostgreSQL documentation, "Extended Query" and "Pipelining"): a
 * statement cannot run unless the commands before it did, and what they set with `set_config(…, true)` ends with the Sync.
 */
export class RowConnection {
  /** The connection is lost, or its state does not allow further use. */
  dead = false
  private readonly login: Login
  private readonly socket: Socket
  private readonly processId: number
  private readonly secretKey: number
  private readonly onClose: () => void
  private readonly writer = new MessageWriter()
  private readonly reader: MessageReader
  private readonly inFlight: Array<InFlight> = []
  private readonly memory: AnswerMemory | undefined
  /** Ends the counting of the large row that is arriving. */
  private received: () => void = nothing
  private readonly prepared = new PreparedStatements((name) => this.writer.closeStatement(name))

  private constructor(login: Login, client: Client, limits: AnswerLimits, onClose: () => void) {
    const { connection, processID, secretKey } = internalsOf(client)
    this.login = login
    this.socket = connection.stream
    this.processId = processID
    this.secretKey = secretKey
    this.onClose = onClose
    this.memory = limits.memory
    this.reader = new MessageReader(
      {
        parseComplete: () => this.parseComplete(),
        bindComplete: () => this.bindComplete(),
        row: (row) => this.row(row),
        largeRow: (bytes) => this.largeRow(bytes),
        oversizedRow: () => this.failed(oversized),
        commandComplete: () => this.inFlight[0]?.results.push([]),
        error: (error) => this.failed(error),
        ready: (status) => this.ready(status),
        unusable: () => this.abandon()
      },
      limits.maxRowSize
    )
    // The driver has opened the session: encryption, authentication, startup. From here on its parser is not used.
    this.socket.removeAllListeners("data")
    this.socket.on("data", (chunk: Buffer) => this.reader.push(chunk))
    endIfUnanswered(login, this.socket, () => this.inFlight.length > 0)
    client.on("error", () => this.lost())
    client.on("end", () => this.lost())
  }

  /** Opens a session with these settings. Fails with the driver's error. `onClose` is called once, when it is lost. */
  static open(
    given: Login,
    settings: Readonly<Record<string, string>>,
    limits: AnswerLimits,
    onClose: (connection: RowConnection) => void
  ): Effect.Effect<RowConnection, unknown> {
    return Effect.callback((resume) => {
      const login = atPrimary(given)
      const more = { ...keptAlive, client_encoding: "UTF8", connectionTimeoutMillis: connectTimeout }
      const client = newClient(login, "rows", settings, more)
      if (login.at.standby === undefined) requirePrimary(client)
      const failed = (error: unknown) => resume(Effect.fail(error))
      client.once("error", failed)
      client.connect((error: Error | null) => {
        client.off("error", failed)
        if (error) {
          failed(error)
          return
        }
        const connection: RowConnection = new RowConnection(login, client, limits, () => onClose(connection))
        resume(Effect.succeed(connection))
      })
      return Effect.sync(() => {
        void client.end().catch(() => undefined)
      })
    })
  }

  /** Adds an exchange to the next flush. `done` is called when the server is ready again, or the connection is lost. */
  send(commands: ReadonlyArray<Command>, done: (outcome: Outcome) => void, client = ""): void {
    if (this.dead || commands.some(({ text }) => text.includes("\0"))) {
      done(unsent(this.dead ? undefined : nulInText))
      return
    }
    // Evictions send their messages before the first command, where they cannot be skipped.
    const statements = commands.map((command) => (prepares(command) ? this.prepared.of(command.text) : undefined))
    const parsing: Array<Prepared | undefined> = []
    const reused: Array<boolean> = []
    for (const [index, { params, text }] of commands.entries()) {
      const prepared = statements[index]
      const parse = prepared === undefined || !prepared.sent
      if (parse) {
        parsing.push(prepared)
        this.writer.parse(prepared?.name ?? "", text)
        if (prepared !== undefined) prepared.sent = true
      }
      reused.push(!parse)
      this.writer.run(prepared?.name ?? "", params)
    }
    this.writer.sync()
    this.inFlight.push({ results: [[]], parsing, commands, reused, bound: 0, failure: undefined, client, done })
  }

  /**
   * Adds an exchange as one transaction. In a Citus cluster it is an explicit one, because only that reaches the workers
   * with its settings; what is left of it after a failure is rolled back.
   */
  transact(commands: ReadonlyArray<Command>, done: (outcome: Outcome) => void, client = ""): void {
    if (this.login.citus !== true) {
      this.send(commands, done, client)
      return
    }
    let answer: Outcome | undefined
    this.send([begin, ...commands, commit], (outcome) => (answer = outcome), client)
    this.send([rollback], (end) => done(withinTransaction(answer ?? end, end, commands.length)))
  }

  /** Drops statements that were prepared in another epoch of the catalogue, for other definitions of the same names. */
  enter(epoch: number): void {
    this.prepared.enter(epoch)
  }

  /** Adds a call of a function by its oid, as a transaction of its own, to the next flush; `done` as in `send`. */
  call(oid: number, params: ReadonlyArray<Param>, done: (outcome: Outcome) => void): void {
    if (this.dead) {
      done(unsent(undefined))
      return
    }
    this.writer.call(oid, params)
    const empty = { parsing: [], commands: [], reused: [], bound: 0 }
    this.inFlight.push({ ...empty, results: [[]], failure: undefined, client: "", done })
  }

  /** Writes everything that was added to the socket. */
  flush(): void {
    if (!this.writer.empty) for (const part of this.writer.take()) this.socket.write(part)
  }

  /** The number of prepared statements that the session should have, while nothing is in flight. */
  get preparedCount(): number {
    return this.prepared.count
  }

  /** Cancels the running statement, and calls back when the session can be closed. */
  cancel(done: () => void): void {
    cancelWhileRunning(this.login, this.processId, this.secretKey, () => this.inFlight.length > 0, done)
  }

  /** Ends the session after the messages that were sent. */
  close(): void {
    this.dead = true
    if (this.socket.isPaused()) this.socket.destroy()
    else if (this.socket.writable) this.socket.end(terminate)
  }

  /** Closes the socket. PostgreSQL notices when it next sends something. */
  abandon(): void {
    this.dead = true
    this.socket.destroy()
  }

  private row(row: TextRow) {
    this.inFlight[0]?.results.at(-1)?.push(row)
    this.received()
  }

  /** Waits for memory before a large row is received: PostgreSQL keeps it until then. */
  private largeRow(bytes: number): boolean {
    const { memory } = this
    if (memory === undefined) return true
    const { client = "" } = this.inFlight[0] ?? {}
    const ends = () => {
      this.received = nothing
      memory.release(client, bytes)
    }
    const { forget, now } = memory.receive(client, bytes, () => {
      this.received = ends
      this.reader.resume()
      this.socket.resume()
    })
    this.received = now ? ends : forget
    if (!now) this.socket.pause()
    return now
  }

  private parseComplete() {
    const prepared = this.inFlight[0]?.parsing.shift()
    if (prepared !== undefined) this.prepared.confirm(prepared)
  }

  private bindComplete() {
    const current = this.inFlight[0]
    if (current !== undefined) current.bound++
  }

  private failed(error: ServerError) {
    const current = this.inFlight[0]
    if (current === undefined) return
    const at = current.results.length - 1
    const { bound, commands, reused } = current
    current.failure ??= { error, at, reused: reused[at] === true, begun: bound > at || at === commands.length }
  }

  private ready(status: string) {
    const current = this.inFlight.shift()
    if (current === undefined) return
    this.prepared.closeUnparsed(current.parsing)
    const outcome: Outcome = { results: current.results, failure: current.failure, status }
    if (isUnbound(outcome)) for (const { text } of current.commands) this.prepared.close(text)
    current.done(outcome)
  }

  private lost() {
    this.dead = true
    this.received()
    this.onClose()
    for (const { done, failure, results } of this.inFlight.splice(0)) {
      const lost = { error: undefined, at: results.length - 1, reused: false, begun: true }
      done({ results, failure: failure ?? lost, status: "" })
    }
  }
}

const nothing = () => undefined

const terminate = Uint8Array.of(0x58, 0, 0, 0, 4)
