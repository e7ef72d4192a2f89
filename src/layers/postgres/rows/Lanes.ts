import { type PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Scope } from "effect"
import { type SqlError } from "effect/sql/SqlError"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Answer } from "../../../services/ports/Db.ts"
import { type Held } from "./Pool.ts"

/** Hands a connection all that belongs to one request, before anything else gets there. */
export type Send = (connection: PgConnection.PgConnection) => Effect.Effect<Answer, SqlError | Unavailable>

interface Lane {
  held: Held | undefined
  opening: boolean
  inFlight: number
  /** When the request at the head of the queue began to run, in ms. */
  headSince: number
}

/** A text that takes longer on average is not let into a lane, nor anything behind a head that has run for longer. */
const slowMillis = 20
/**
 * How much the last run counts in a text's average: more when it was quicker, because what makes a run slower is mostly
 * the crowd around it.
 */
const quickerWeighs = 0.5
const slowerWeighs = 0.05
const depth = 64
/** So many requests are put into one lane before the next is used. */
const companions = 16
const textsRemembered = 1000

/**
 * Connections that several requests share, each sent without waiting for the one before; PostgreSQL answers them in
 * order. Waking it is the dearest part of a small statement, and what comes in together is written together.
 */
export class Lanes {
  private readonly lanes: ReadonlyArray<Lane>
  private readonly connect: Effect.Effect<Held, SqlError>
  /** Average time in ms of every text seen of late. */
  private readonly averages = new Map<string, number>()
  private batch: Array<(effect: Effect.Effect<void>) => void> = []
  private closed = false
  private paused = false
  private whenEmpty: Array<() => void> = []

  constructor(size: number, connect: Effect.Effect<Held, SqlError>) {
    this.lanes = Array.from({ length: size }, () => ({ held: undefined, opening: false, inFlight: 0, headSince: 0 }))
    this.connect = connect
  }

  /** A lane whose head is not stuck; none for a text that is new, or slow on average. */
  find(text: string): Lane | undefined {
    if (this.paused || (this.averages.get(text) ?? Number.POSITIVE_INFINITY) > slowMillis) return undefined
    const now = performance.now()
    let best: Lane | undefined
    for (const lane of this.lanes) {
      if (lane.held === undefined || lane.held.dead) this.open(lane)
      else if (lane.inFlight < depth && (lane.inFlight === 0 || now - lane.headSince <= slowMillis)) {
        // Filled one after the other: what shares a lane shares its packets.
        if (lane.inFlight < companions) return lane
        if (best === undefined || lane.inFlight < best.inFlight) best = lane
      }
    }
    return best
  }

  /** Runs a request in a lane that `find` gave. */
  run(lane: Lane, text: string, send: Send): Effect.Effect<Answer, SqlError | Unavailable> {
    const { connection } = lane.held as Held
    if (lane.inFlight++ === 0) lane.headSince = performance.now()
    return Effect.onExit(
      Effect.andThen(
        this.nextBatch,
        Effect.suspend(() => send(connection))
      ),
      () =>
        Effect.sync(() => {
          const now = performance.now()
          this.judge(text, now - lane.headSince)
          lane.headSince = now
          lane.inFlight--
          if (this.paused) this.settle()
        })
    )
  }

  /** The same on a connection of one's own: how long it takes is remembered for the next time. */
  readonly timed = (text: string, send: Send) => (connection: PgConnection.PgConnection) => {
    const started = performance.now()
    return Effect.tap(send(connection), () => Effect.sync(() => this.judge(text, performance.now() - started)))
  }

  /** No lane is found until `resume`. Done when nothing runs in any and their connections are closed. */
  readonly pause: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.paused = true
    const empty = () => resume(Effect.void)
    this.whenEmpty.push(empty)
    this.settle()
    return Effect.sync(() => {
      this.whenEmpty = this.whenEmpty.filter((other) => other !== empty)
    })
  })

  readonly resume: Effect.Effect<void> = Effect.sync(() => {
    this.paused = false
  })

  readonly close = Effect.suspend(() => {
    this.closed = true
    const open = this.lanes.flatMap((lane) => (lane.held ? [lane.held] : []))
    for (const lane of this.lanes) lane.held = undefined
    return Effect.forEach(open, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
  })

  /** While paused: closes what nothing runs in any more. */
  private settle() {
    for (const lane of this.lanes) {
      if (lane.inFlight > 0 || lane.held === undefined) continue
      const { scope } = lane.held
      lane.held = undefined
      Effect.runFork(Scope.close(scope, Exit.void))
    }
    if (this.lanes.some((lane) => lane.held !== undefined || lane.opening)) return
    for (const empty of this.whenEmpty.splice(0)) empty()
  }

  private judge(text: string, millis: number) {
    const before = this.averages.get(text)
    if (before === undefined && this.averages.size >= textsRemembered) this.averages.clear()
    if (before === undefined) this.averages.set(text, millis)
    else this.averages.set(text, before + (millis - before) * (millis < before ? quickerWeighs : slowerWeighs))
  }

  private open(lane: Lane) {
    if (lane.opening || this.closed) return
    lane.opening = true
    lane.held = undefined
    Effect.runFork(this.connect).addObserver((exit) => {
      lane.opening = false
      if (Exit.isSuccess(exit)) {
        lane.inFlight = 0
        lane.held = exit.value
      }
      if (this.paused) this.settle()
    })
  }

  /** Until all requests that came in with the same turn of the event loop have been read. */
  private readonly nextBatch = Effect.callback<void>((resume) => {
    if (this.batch.push(resume) > 1) return
    setImmediate(() => {
      const batch = this.batch
      this.batch = []
      for (const resume of batch) resume(Effect.void)
    })
  })
}
