import { Effect } from "effect"
import { ddlEpochSql } from "../../../domain/catalogue/DdlSql.ts"
import { parseLsn } from "../../../domain/sql/Lsn.ts"
import { type ServerAddress, type Login, ownSearchPath } from "../Login.ts"
import { type Command, RowConnection } from "../rows/Connection.ts"
import { type Proof } from "../rows/Epoch.ts"
import { type Outcome } from "../rows/Outcome.ts"
import { type Failure, firstLine } from "../servers/Opening.ts"
import { Servers } from "../servers/Servers.ts"

/** Maximum time in ms for a standby to report its position. */
const answerMillis = 1_000

/** The epoch, and how far the standby has replayed the log; null once it is promoted. */
const progress: Command = {
  text: `select ${ddlEpochSql},
    case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn()::text end`,
  params: [],
  prepare: true
}

/** Why a standby gets no reads. */
export type Unusable =
  | "does not answer"
  | "refuses the login of callers"
  | "is no standby"
  | "has another log than the primary"
  | "lags"

/** One standby of the primary. */
export class Standby {
  /**
   * How far it has replayed the log, at least. PostgreSQL moves this position when a record is replayed completely:
   * rows, definitions, invalidations of caches and locks.
   */
  replayed = 0
  unusable: Unusable | undefined = "does not answer"
  /** The error of the server or the network when a connection failed. */
  reason = ""
  /** Reads that it has not answered. */
  inFlight = 0
  readonly name: string
  private readonly login: Login
  private readonly callers: Login
  private readonly at: ServerAddress
  private readonly servers: Servers
  private connection: RowConnection | undefined
  private asking: Promise<boolean> | undefined

  /** `login`: the service's own; `callers`: that of anon and authenticated callers; `at`: where the standby is. */
  constructor(login: Login, callers: Login, at: ServerAddress) {
    this.servers = new Servers(at, [])
    this.at = { ...at, servers: this.servers, standby: true }
    this.name = `${at.host}:${at.port}`
    this.login = this.loginOf(login)
    this.callers = this.loginOf(callers)
  }

  /** A login of the primary at this standby, to which roles are replicated too. */
  loginOf(login: Login): Login {
    return { ...login, at: this.at }
  }

  /** A lost connection may mean a restart, after which PostgreSQL replays some of the log again. */
  readonly lost = (): void => {
    this.replayed = 0
  }

  /**
   * Proves that the statement before saw definitions no newer than those of the plan. That they are no older follows from
   * `replayed`, which the caller compares before.
   */
  readonly proof: Proof = {
    command: progress,
    holds: (outcome, epoch) => this.advance(outcome) === epoch && outcome.status === "I"
  }

  /** Reads its position. Returns whether it answers as a standby; if not, the connections to it are broken. */
  readonly refresh = (): Promise<boolean> => {
    this.asking ??= this.ask().finally(() => (this.asking = undefined))
    return this.asking
  }

  /** Whether the connection over which it is asked is open. */
  get connected(): number {
    return this.connection?.dead === false ? 1 : 0
  }

  close(): void {
    this.connection?.close()
    this.connection = undefined
  }

  private async ask(): Promise<boolean> {
    const connection = this.connection?.dead === false ? this.connection : await this.open()
    const outcome = connection && (await answered(connection))
    if (outcome === undefined || outcome.failure !== undefined) {
      this.connection = undefined
      this.lost()
      this.servers.breakAll()
      // `open` has already set the reason if there was no connection.
      if (connection !== undefined) this.unusable = "does not answer"
      return false
    }
    if (this.advance(outcome) !== undefined) return true
    this.unusable = "is no standby"
    return false
  }

  private async open(): Promise<RowConnection | undefined> {
    const own = await this.tryLogin(this.login, this.lost)
    if (own === undefined) {
      this.unusable = "does not answer"
      return undefined
    }
    // Its pg_hba.conf may admit the one and not the other.
    const ofCallers = await this.tryLogin(this.callers, () => undefined)
    ofCallers?.close()
    if (ofCallers === undefined) {
      this.unusable = "refuses the login of callers"
      own.close()
      return undefined
    }
    return (this.connection = own)
  }

  private async tryLogin(login: Login, onClose: () => void): Promise<RowConnection | undefined> {
    const settings = { search_path: ownSearchPath, statement_timeout: String(answerMillis) }
    const opening = RowConnection.open(login, settings, { maxRowSize: 64 * 1024 }, onClose).pipe(
      Effect.timeout(answerMillis),
      Effect.mapError((cause) => firstLine(cause as Failure))
    )
    const result = await Effect.runPromise(Effect.result(opening))
    if (result._tag === "Success") return result.success
    this.reason = result.failure
    return undefined
  }

  /** Takes the position from an outcome of `progress`, and returns its epoch; undefined if it is no standby's. */
  private advance({ failure, results }: Outcome): number | undefined {
    const [epoch, position] = results[0]?.[0] ?? []
    const replayed = parseLsn(String(position ?? ""))
    if (failure !== undefined || epoch == null || replayed === undefined) return undefined
    if (replayed > this.replayed) this.replayed = replayed
    return Number(epoch)
  }
}

const answered = (connection: RowConnection) =>
  new Promise<Outcome | undefined>((done) => {
    const timer = setTimeout(() => {
      connection.abandon()
      done(undefined)
    }, answerMillis)
    connection.send([progress], (outcome) => {
      clearTimeout(timer)
      done(outcome)
    })
    connection.flush()
  })
