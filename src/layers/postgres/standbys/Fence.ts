import { Effect } from "effect"
import { ddlEpochSql } from "../../../domain/catalogue/DdlSql.ts"
import { parseLsn } from "../../../domain/sql/Lsn.ts"
import { type Login, ownSearchPath } from "../Login.ts"
import { type Pausable } from "../MainSessions.ts"
import { type Command, RowConnection } from "../rows/Connection.ts"

/** A state of the primary's definitions and rights. Two of them are the same object if nothing has changed in between. */
export interface Fenced {
  readonly epoch: number
  /** A position of the log at which this state was complete. */
  readonly lsn: number
}

/** The primary's answer to a question. */
export interface Beat {
  readonly state: Fenced
  /** A position of the log behind everything that was committed when the question was sent. */
  readonly lsn: number
}

/** ms after which callers do not wait any longer. */
const answerMillis = 2_000
/** Pause after a failure to connect, in ms. */
const retryMillis = 500

/**
 * The epoch, a fingerprint of the rights that DDL does not record, because roles belong to the whole server (memberships, and
 * the attributes of callers' roles that policies depend on), and the position of the log.
 */
const beatOf = (roles: ReadonlyArray<string>): Command => ({
  text: `select ${ddlEpochSql},
    (select count(*)::text || ' ' || coalesce(sum(hashtextextended(m::text, 0)), 0)::text from pg_catalog.pg_auth_members m)
      || (select string_agg(concat(' ', r.rolname, r.rolsuper, r.rolbypassrls, r.rolinherit), '' order by r.rolname)
          from pg_catalog.pg_roles r where r.rolname = any ($1::text[])),
    pg_catalog.pg_current_wal_insert_lsn()::text`,
  params: [`{${roles.map((role) => `"${role.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join()}}`],
  prepare: true
})

/**
 * Asks the primary for its state. All callers that ask at the same time share one question, so that the primary has little
 * to do however many reads go to standbys.
 */
export class Fence {
  /** The state found last; undefined while the primary is unreachable. */
  state: Fenced | undefined
  private rights = ""
  private readonly login: Login
  private readonly beat: Command
  private readonly pace: number
  private connection: RowConnection | undefined
  private waiting: Array<(beat: Beat | undefined) => void> = []
  private busy = false
  private paused = false
  private closed = false
  private failedAt = Number.NEGATIVE_INFINITY

  /** `roles`: those that callers act as. `pace`: least ms between two questions, so that more callers share one. */
  constructor(login: Login, roles: ReadonlyArray<string>, pace: number) {
    this.pace = pace
    this.login = login
    this.beat = beatOf(roles)
  }

  /** How many connections are open: to the primary, which must not be one of a pool. */
  get open(): number {
    return this.connection?.dead === false ? 1 : 0
  }

  /** Asks; the question is sent after this call. `done` gets undefined if the primary does not answer. */
  ask(done: (beat: Beat | undefined) => void): void {
    this.waiting.push(done)
    if (!this.busy) this.next()
  }

  readonly asked: Effect.Effect<Beat | undefined> = Effect.callback((resume) => {
    this.ask((beat) => resume(Effect.succeed(beat)))
  })

  readonly pausable: Pausable = {
    pause: Effect.sync(() => {
      this.paused = true
      this.disconnect()
    }),
    resume: Effect.sync(() => {
      this.paused = false
    })
  }

  close(): void {
    this.closed = true
    this.disconnect()
  }

  private next() {
    if (this.paused || this.closed || performance.now() - this.failedAt < retryMillis) return this.answer(undefined)
    this.busy = true
    const { connection } = this
    if (connection === undefined || connection.dead) return this.connect()
    // Callers that ask from now on need the next question.
    const asking = this.waiting
    this.waiting = []
    const from = performance.now()
    let over = false
    const end = (beat: Beat | undefined) => {
      if (over) return
      over = true
      clearTimeout(late)
      for (const done of asking) done(beat)
      const go = () => {
        this.busy = false
        if (this.waiting.length > 0) this.next()
      }
      const pause = from + this.pace - performance.now()
      if (pause <= 0) setImmediate(go)
      else setTimeout(go, pause)
    }
    const late = setTimeout(() => {
      connection.abandon()
      end(undefined)
    }, answerMillis)
    connection.send([this.beat], ({ failure, results }) => {
      const [epoch, rights, position] = results[0]?.[0] ?? []
      const lsn = parseLsn(String(position ?? ""))
      if (failure !== undefined || epoch == null || rights == null || lsn === undefined) return end(undefined)
      end({ state: this.stateOf(Number(epoch), String(rights), lsn), lsn })
    })
    connection.flush()
  }

  private stateOf(epoch: number, rights: string, lsn: number): Fenced {
    if (this.state?.epoch === epoch && this.rights === rights) return this.state
    this.rights = rights
    return (this.state = { epoch, lsn })
  }

  private connect() {
    const settings = { search_path: ownSearchPath, statement_timeout: String(answerMillis) }
    const opening = RowConnection.open(this.login, settings, { maxRowSize: 64 * 1024 }, (connection) => {
      // Another server may be the primary now, with another log.
      if (this.connection === connection) this.state = undefined
    })
    Effect.runCallback(opening, {
      onExit: (exit) => {
        this.busy = false
        if (exit._tag === "Success") {
          this.connection = exit.value
          if (this.paused || this.closed) this.disconnect()
        } else this.failedAt = performance.now()
        this.next()
      }
    })
  }

  private disconnect() {
    this.state = undefined
    this.connection?.close()
    this.connection = undefined
  }

  private answer(beat: undefined) {
    for (const done of this.waiting.splice(0)) done(beat)
  }
}
