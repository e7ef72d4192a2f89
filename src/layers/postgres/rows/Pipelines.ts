import { Effect } from "effect"
import { LRUCache } from "lru-cache"
import { type RowConnection } from "./Connection.ts"
import { isOversized, type Outcome, unknown } from "./Outcome.ts"
import { type PoolUse } from "../../../domain/metrics/Sample.ts"
import {
  type CleanCommands,
  isProven,
  judge,
  type Proof,
  type ProvenOutcome,
  syncedProof,
  withoutSync
} from "./Epoch.ts"

export interface CleanRequest extends CleanCommands {
  /** The statement, which identifies its recorded duration. */
  readonly text: string
  /** The epoch of the catalogue that the statement was planned with. */
  readonly epoch: number
  /** See `Actor`. */
  readonly client: string
}

interface Waiting {
  readonly request: CleanRequest
  readonly done: (outcome: ProvenOutcome | "late") => void
}

interface Pipeline {
  /** Undefined while it is not open. */
  connection: RowConnection | undefined
  opening: boolean
  /** The epoch of all statements on the connection; undefined before the first one. */
  epoch: number | undefined
  /** Requests without an outcome, with those that are not sent yet. */
  inFlight: number
  /** The time at which the oldest request that was sent began to run, in ms. */
  headSince: number
  /** Requests that are not sent yet. */
  waiting: Array<Waiting>
  /** Batches whose proof has not arrived. */
  unproven: number
}

/** A statement that takes longer on average is not pipelined, and none is sent behind a head that has run for longer. */
const slowMillis = 20
/**
 * Weight of the last run in a statement's average: higher for a quicker run, because a slower one is mostly due to
 * concurrent load.
 */
const quickerWeight = 0.5
const slowerWeight = 0.05

interface Limits {
  readonly maxInFlight: number
  /** Requests in flight on one pipeline before the next one is used: those on one share packets. */
  readonly preferredInFlight: number
  /** Requests that share one proof. Their answers wait for it, and so for the last of them. */
  readonly maxProven: number
}

const limits: Readonly<Record<CleanRequest["access"], Limits>> = {
  read: { maxInFlight: 64, preferredInFlight: 16, maxProven: 8 },
  // Their answers wait for the disk in any case. Those that arrive meanwhile are sent together, and wait for it once.
  write: { maxInFlight: 256, preferredInFlight: 64, maxProven: 64 }
}

const maxAverages = 1000
/** How long a text that ran into the timeout is not pipelined, in ms. */
const barredMillis = 60_000
/** SQLSTATEs of a statement that was cancelled, or that waited for a lock, for longer than a pipeline allows. */
const isTimeout = (code: string | undefined) => code === "57014" || code === "55P03"

/**
 * Connections in pipeline mode: several requests share one, each sent without waiting for the previous response, and
 * PostgreSQL answers in order. Most of the cost of a small statement is waking the server process; requests that arrive
 * together are written together, and proven together by one read of the epoch behind them.
 */
export class Pipelines {
  private pipelines: ReadonlyArray<Pipeline>
  private readonly open: (onClose: () => void) => Effect.Effect<RowConnection, unknown>
  /** Average ms of recent statements, by their text. */
  private readonly averages = new LRUCache<string, { millis: number }>({ max: maxAverages })
  private readonly barred = new LRUCache<string, true>({ max: maxAverages, ttl: barredMillis })
  private readonly proof: Proof
  private scheduled = false
  private closed = false
  private paused = false
  private whenEmpty: Array<() => void> = []

  constructor(size: number, open: (onClose: () => void) => Effect.Effect<RowConnection, unknown>, proof: Proof) {
    this.proof = proof
    this.open = open
    this.pipelines = Array.from({ length: size }, newPipeline)
  }

  get use(): PoolUse {
    const open = this.pipelines.filter(({ connection }) => connection?.dead === false)
    return {
      open: open.length,
      busy: open.filter(({ inFlight }) => inFlight > 0).length,
      waiting: this.pipelines.reduce((all, { waiting }) => all + waiting.length, 0),
      limit: this.pipelines.length
    }
  }

  /**
   * Runs a request on a pipeline of its epoch whose head is not slow. False if there is none, and for a statement that is
   * new, or slow: it must run on a connection of its own, as must one whose outcome is "late".
   */
  run(request: CleanRequest, done: (outcome: ProvenOutcome | "late") => void): boolean {
    const pipeline = this.find(request)
    if (pipeline === undefined) return false
    pipeline.epoch ??= request.epoch
    pipeline.inFlight++
    pipeline.waiting.push({ request, done })
    this.schedule()
    return true
  }

  /** Records how long a statement took on an exclusive connection, in ms. */
  record(text: string, millis: number): void {
    const average = this.averages.get(text)
    if (average === undefined) this.averages.set(text, { millis })
    else average.millis += (millis - average.millis) * (millis < average.millis ? quickerWeight : slowerWeight)
  }

  /** Makes `run` return false until `resume`. Completes when nothing is in flight and all connections are closed. */
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

  /** Gives up a connection, which ends when all sent requests have been answered; false when there is none. */
  readonly evict = (): boolean => {
    const pipeline = this.pipelines.find(
      ({ connection, waiting }) => connection?.dead === false && waiting.length === 0
    )
    if (pipeline !== undefined) this.retire(pipeline)
    return pipeline !== undefined
  }

  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.closed = true
    for (const { connection } of this.pipelines) connection?.close()
  })

  private find({ access, epoch, text }: CleanRequest): Pipeline | undefined {
    if (this.paused || this.barred.has(text)) return undefined
    if ((this.averages.peek(text)?.millis ?? Number.POSITIVE_INFINITY) > slowMillis) return undefined
    const { maxInFlight, preferredInFlight } = limits[access]
    const now = performance.now()
    let best: Pipeline | undefined
    for (const pipeline of this.pipelines) {
      if (pipeline.connection === undefined || pipeline.connection.dead) this.connect(pipeline)
      else if (pipeline.epoch !== undefined && pipeline.epoch < epoch) this.replace(pipeline)
      else if (
        (pipeline.epoch ?? epoch) === epoch &&
        pipeline.inFlight < maxInFlight &&
        (isIdle(pipeline) || now - pipeline.headSince <= slowMillis)
      ) {
        if (pipeline.inFlight < preferredInFlight) return pipeline
        if (best === undefined || pipeline.inFlight < best.inFlight) best = pipeline
      }
    }
    return best
  }

  /** Sends what waits once all requests that arrived in the same turn of the event loop have been read. */
  private schedule() {
    if (this.scheduled) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      for (const pipeline of this.pipelines) this.flush(pipeline)
    })
  }

  private flush(pipeline: Pipeline) {
    const { connection, waiting } = pipeline
    const [first] = waiting
    if (first === undefined) return
    if (connection === undefined || connection.dead) return this.giveBack(pipeline)
    const { access, epoch } = first.request
    if (access === "write" && pipeline.unproven > 0) return
    if (isIdle(pipeline)) pipeline.headSince = performance.now()
    const { maxProven } = limits[access]
    const all = waiting.splice(0, access === "write" ? maxProven : waiting.length)
    for (let at = 0; at < all.length; at += maxProven) {
      this.send(pipeline, connection, epoch, all.slice(at, at + maxProven))
    }
    connection.flush()
  }

  /** Returns requests that wait for an unusable connection as unsent, to run elsewhere. */
  private giveBack(pipeline: Pipeline) {
    const all = pipeline.waiting.splice(0)
    pipeline.inFlight -= all.length
    for (const { done } of all) done("unsent")
  }

  /**
   * Sends requests, each a transaction of its own, and one proof behind them. The commits of several writes do not wait for
   * the disk: that of the proof does, and makes them durable before any of them is answered.
   */
  private send(pipeline: Pipeline, connection: RowConnection, epoch: number, together: ReadonlyArray<Waiting>) {
    pipeline.unproven++
    const outcomes: Array<Outcome> = []
    const deferred = together.length > 1 && together[0]?.request.access === "write"
    for (const { request } of together) {
      connection.transact(deferred ? withoutSync(request.commands) : request.commands, (outcome) => {
        this.ran(pipeline, request)
        outcomes.push(outcome)
      })
    }
    connection.send([deferred ? syncedProof : this.proof.command], (proof) => {
      const durable = !deferred || proof.failure === undefined
      const known = outcomes.map((outcome) => (durable || outcome.failure !== undefined ? outcome : unknown))
      this.prove(pipeline, connection, epoch, together, known, proof)
    })
  }

  private ran(pipeline: Pipeline, { text }: CleanRequest) {
    const now = performance.now()
    this.record(text, now - pipeline.headSince)
    pipeline.headSince = now
    pipeline.inFlight--
  }

  private prove(
    pipeline: Pipeline,
    connection: RowConnection,
    epoch: number,
    together: ReadonlyArray<Waiting>,
    outcomes: ReadonlyArray<Outcome>,
    outcome: Outcome
  ) {
    const proven = this.proof.holds(outcome, epoch)
    pipeline.unproven--
    if (!proven) {
      if (pipeline.connection === connection) this.giveBack(pipeline)
      this.replace(pipeline, connection)
    } else if (pipeline.waiting.length > 0) this.schedule()
    for (const [index, { done, request }] of together.entries()) {
      const answer = judge(request, outcomes[index] ?? outcome, proven)
      const error = isProven(answer) ? answer.failure?.error : undefined
      const late = isTimeout(error?.code) || (isOversized(error) && request.access === "read")
      if (late) this.barred.set(request.text, true)
      done(late ? "late" : answer)
    }
    if (this.paused) this.closeIdle()
  }

  /** Stops using a connection, which ends when all sent requests have been answered. Returns the pipeline instead of it. */
  private retire(pipeline: Pipeline, connection = pipeline.connection): Pipeline | undefined {
    if (pipeline.connection !== connection || pipeline.waiting.length > 0) return undefined
    pipeline.connection = undefined
    // Requests in flight belong to the retired connection alone.
    const next = newPipeline()
    this.pipelines = this.pipelines.map((other) => (other === pipeline ? next : other))
    connection?.close()
    return next
  }

  /** Replaces a connection of an outdated epoch at once, so that the next one is open when the new catalogue has been read. */
  private replace(pipeline: Pipeline, connection = pipeline.connection) {
    const next = this.retire(pipeline, connection)
    if (next !== undefined && !this.paused) this.connect(next)
  }

  /** Closes connections without requests in flight while the pool is paused. */
  private closeIdle() {
    for (const pipeline of this.pipelines) {
      if (pipeline.inFlight > 0 || pipeline.connection === undefined) continue
      pipeline.connection.close()
      pipeline.connection = undefined
    }
    if (this.pipelines.some(({ connection, opening }) => connection !== undefined || opening)) return
    for (const empty of this.whenEmpty.splice(0)) empty()
  }

  private connect(pipeline: Pipeline) {
    if (pipeline.opening || this.closed) return
    pipeline.opening = true
    pipeline.connection = undefined
    Effect.runCallback(
      this.open(() => undefined),
      {
        onExit: (exit) => {
          pipeline.opening = false
          if (exit._tag === "Success") {
            pipeline.inFlight = 0
            pipeline.unproven = 0
            pipeline.epoch = undefined
            pipeline.connection = exit.value
            if (this.closed) exit.value.close()
          }
          if (this.paused) this.closeIdle()
        }
      }
    )
  }
}

const newPipeline = (): Pipeline => ({
  connection: undefined,
  opening: false,
  epoch: undefined,
  inFlight: 0,
  headSince: 0,
  waiting: [],
  unproven: 0
})

/** Whether nothing that was sent is without an outcome. */
const isIdle = ({ inFlight, waiting }: Pipeline) => inFlight === waiting.length
