import { type PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Scope } from "effect"
import { LRUCache } from "lru-cache"
import { type SqlError } from "effect/sql/SqlError"
import { type Unavailable } from "../../../domain/errors.ts"
import { type Answer } from "../../../services/ports/Db.ts"

/** A connection and the scope that closes it. */
export interface PooledConnection {
  readonly connection: PgConnection.PgConnection
  readonly scope: Scope.Closeable
  dead: boolean
}

/** Writes everything of one request to a connection, with nothing else in between. */
export type Send = (connection: PgConnection.PgConnection) => Effect.Effect<Answer, SqlError | Unavailable>

interface Pipeline {
  pooled: PooledConnection | undefined
  opening: boolean
  inFlight: number
  /** When the oldest request in flight began to run, in ms. */
  headSince: number
}

/** A statement that takes longer on average is not pipelined, and none is sent behind a head that has run for longer. */
const slowMillis = 20
/**
 * Weight of the last run in a statement's average: higher for a quicker run, because a slower one is mostly due to
 * concurrent load.
 */
const quickerWeight = 0.5
const slowerWeight = 0.05
const maxInFlight = 64
/** Requests in flight on one pipeline before the next one is used. */
const preferredInFlight = 16
const maxAverages = 1000

/**
 * Connections in pipeline mode: several requests share one, each sent without waiting for the previous response, and
 * PostgreSQL answers in order. Most of the cost of a small statement is waking the server process; requests that arrive
 * together are written together.
 */
export class Pipelines {
  private readonly pipelines: ReadonlyArray<Pipeline>
  private readonly connect: Effect.Effect<PooledConnection, SqlError>
  /** Average ms of recent statements, by their text. */
  private readonly averages = new LRUCache<string, number>({ max: maxAverages })
  private batch: Array<(effect: Effect.Effect<void>) => void> = []
  private closed = false
  private paused = false
  private whenEmpty: Array<() => void> = []

  constructor(size: number, connect: Effect.Effect<PooledConnection, SqlError>) {
    this.pipelines = Array.from({ length: size }, () => ({
      pooled: undefined,
      opening: false,
      inFlight: 0,
      headSince: 0
    }))
    this.connect = connect
  }

  /** A pipeline whose head is not slow; undefined for a statement that is new, or slow on average. */
  find(text: string): Pipeline | undefined {
    if (this.paused || (this.averages.peek(text) ?? Number.POSITIVE_INFINITY) > slowMillis) return undefined
    const now = performance.now()
    let best: Pipeline | undefined
    for (const pipeline of this.pipelines) {
      if (pipeline.pooled === undefined || pipeline.pooled.dead) this.open(pipeline)
      else if (pipeline.inFlight < maxInFlight && (pipeline.inFlight === 0 || now - pipeline.headSince <= slowMillis)) {
        // Fills one before the next: requests on one pipeline share packets.
        if (pipeline.inFlight < preferredInFlight) return pipeline
        if (best === undefined || pipeline.inFlight < best.inFlight) best = pipeline
      }
    }
    return best
  }

  /** Runs a request on a pipeline that `find` returned. */
  run(pipeline: Pipeline, text: string, send: Send): Effect.Effect<Answer, SqlError | Unavailable> {
    const { connection } = pipeline.pooled as PooledConnection
    if (pipeline.inFlight++ === 0) pipeline.headSince = performance.now()
    return Effect.onExit(
      Effect.andThen(
        this.nextBatch,
        Effect.suspend(() => send(connection))
      ),
      () =>
        Effect.sync(() => {
          const now = performance.now()
          this.record(text, now - pipeline.headSince)
          pipeline.headSince = now
          pipeline.inFlight--
          if (this.paused) this.closeIdle()
        })
    )
  }

  /** Runs a request on an exclusive connection, and records its duration for `find`. */
  readonly timed = (text: string, send: Send) => (connection: PgConnection.PgConnection) => {
    const started = performance.now()
    return Effect.tap(send(connection), () => Effect.sync(() => this.record(text, performance.now() - started)))
  }

  /** Makes `find` return undefined until `resume`. Completes when nothing is in flight and all connections are closed. */
  readonly pause: Effect.Effect<void> = Effect.callback<void>((resume) => {
    this.paused = true
    const empty = () => resume(Effect.void)
    this.whenEmpty.push(empty)
    this.closeIdle()
    return Effect.sync(() => {
      this.whenEmpty = this.whenEmpty.filter((other) => other !== empty)
    })
  })

  readonly resume: Effect.Effect<void> = Effect.sync(() => {
    this.paused = false
  })

  readonly close = Effect.suspend(() => {
    this.closed = true
    const open = this.pipelines.flatMap((pipeline) => (pipeline.pooled ? [pipeline.pooled] : []))
    for (const pipeline of this.pipelines) pipeline.pooled = undefined
    return Effect.forEach(open, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
  })

  /** While paused: closes connections on which nothing is in flight. */
  private closeIdle() {
    for (const pipeline of this.pipelines) {
      if (pipeline.inFlight > 0 || pipeline.pooled === undefined) continue
      const { scope } = pipeline.pooled
      pipeline.pooled = undefined
      Effect.runFork(Scope.close(scope, Exit.void))
    }
    if (this.pipelines.some((pipeline) => pipeline.pooled !== undefined || pipeline.opening)) return
    for (const empty of this.whenEmpty.splice(0)) empty()
  }

  private record(text: string, millis: number) {
    const before = this.averages.peek(text) ?? millis
    this.averages.set(text, before + (millis - before) * (millis < before ? quickerWeight : slowerWeight))
  }

  private open(pipeline: Pipeline) {
    if (pipeline.opening || this.closed) return
    pipeline.opening = true
    pipeline.pooled = undefined
    Effect.runFork(this.connect).addObserver((exit) => {
      pipeline.opening = false
      if (Exit.isSuccess(exit)) {
        pipeline.inFlight = 0
        pipeline.pooled = exit.value
      }
      if (this.paused) this.closeIdle()
    })
  }

  /** Waits until all requests that arrived in the same turn of the event loop have been read. */
  private readonly nextBatch = Effect.callback<void>((resume) => {
    if (this.batch.push(resume) > 1) return
    setImmediate(() => {
      const batch = this.batch
      this.batch = []
      for (const resume of batch) resume(Effect.void)
    })
  })
}
