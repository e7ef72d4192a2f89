import { Effect } from "effect"
import { type PoolUse } from "../../../domain/metrics/Sample.ts"
import { largeAnswer } from "../../../services/access/AnswerBudget.ts"
import { type AnswerLimits, type RowConnection } from "./Connection.ts"
import { isBloated, type Outcome } from "./Outcome.ts"
import { judge, type Proof, proofOfPrimary, type ProvenOutcome } from "./Epoch.ts"
import { type CleanRequest, Pipelines } from "./Pipelines.ts"
import { RowConnectionPool, type Used } from "./RowConnectionPool.ts"

export interface CleanPoolOptions {
  readonly size: number
  /**
   * Opens a connection with settings in addition to those of the role. One that requests share has limits other than the
   * role's, and fails at once instead of waiting for another one to close.
   */
  readonly open: (
    settings: Readonly<Record<string, string>>,
    onClose: (connection: RowConnection) => void,
    shared?: Partial<AnswerLimits>
  ) => Effect.Effect<RowConnection, unknown>
  /** Default: that of the primary. */
  readonly proof?: Proof
  /** See `BoundedPoolOptions`. */
  readonly isOwed?: ((idle: boolean) => boolean) | undefined
  /** A statement took too long for a shared connection, and runs again. */
  readonly onLate: () => void
}

/** A statement on a pipeline that takes longer (ms) is cancelled, and runs again on a connection of its own. */
const readSettings = { statement_timeout: "250" }
/** A write must not make others wait for a lock that it waits for. */
const writeSettings = { ...readSettings, lock_timeout: "20" }

/** A larger answer is read again on a connection of its own, where it can wait without making others wait. */
const readLimits: AnswerLimits = { maxRowSize: largeAnswer, memory: undefined }
/** A write is not done again. What it returns is hardly larger than what it was given. */
const writeLimits: Partial<AnswerLimits> = { memory: undefined }

/** A connection that runs clean statements of one epoch only. */
interface CleanConnection {
  readonly connection: RowConnection
  /** Undefined before the first statement. */
  epoch: number | undefined
}

/**
 * Connections of one database role on which no user code has ever run, nor will: a connection on which a statement is not
 * proven to have run under its epoch is closed.
 */
export class CleanPool {
  private readonly pool: RowConnectionPool<CleanConnection>
  private readonly reads: Pipelines
  private readonly writes: Pipelines
  private readonly proof: Proof
  private readonly onLate: () => void

  constructor({ isOwed, onLate, open, proof = proofOfPrimary, size }: CleanPoolOptions) {
    this.proof = proof
    this.onLate = onLate
    // The pipelines are in addition to `size`.
    const [reading, writing] = size >= 4 ? [3, 2] : [0, 0]
    this.reads = new Pipelines(reading, (onClose) => open(readSettings, onClose, readLimits), proof)
    this.writes = new Pipelines(writing, (onClose) => open(writeSettings, onClose, writeLimits), proof)
    this.pool = new RowConnectionPool<CleanConnection>({
      size,
      isOwed,
      open: (onClose) => Effect.map(open({}, onClose), (connection) => ({ connection, epoch: undefined }))
    })
  }

  /** Runs a clean statement. */
  run(request: CleanRequest, bounded: boolean): Effect.Effect<ProvenOutcome, unknown> {
    if (!bounded) return this.exclusive(request)
    return Effect.callback((resume) => {
      const sent = this.pipelinesOf(request).run(request, (outcome) => {
        if (outcome === "late") this.onLate()
        resume(outcome === "late" ? this.exclusive(request) : Effect.succeed(outcome))
      })
      if (!sent) resume(this.exclusive(request))
    })
  }

  /** The use of its lanes. */
  get uses(): ReadonlyArray<readonly [lane: string, use: PoolUse]> {
    return [
      ["exclusive", this.pool.use],
      ["shared_reads", this.reads.use],
      ["shared_writes", this.writes.use]
    ]
  }

  private pipelinesOf({ access }: CleanRequest) {
    return access === "read" ? this.reads : this.writes
  }

  /** Closes a connection that is not in use, or that of a pipeline, which others can do without. */
  evict(): boolean {
    return this.pool.evict() || this.reads.evict() || this.writes.evict()
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Effect.all([this.pool.close, this.reads.close, this.writes.close], { discard: true })
  )

  /** Makes requests wait until `resume`; completes when no connection is left. */
  readonly pause: Effect.Effect<void> = Effect.suspend(() =>
    Effect.all([this.pool.pause, this.reads.pause, this.writes.pause], { concurrency: "unbounded", discard: true })
  )

  readonly resume: Effect.Effect<void> = Effect.suspend(() =>
    Effect.all([this.reads.resume, this.writes.resume, this.pool.resume], { discard: true })
  )

  private exclusive(request: CleanRequest): Effect.Effect<ProvenOutcome, unknown> {
    const { epoch } = request
    const once = this.pool.whole(request.client, (used): Effect.Effect<ProvenOutcome | "again"> => {
      const { connection } = used
      connection.epoch ??= epoch
      if (connection.epoch === epoch) return this.exchange(used, request)
      if (connection.epoch > epoch) {
        used.give()
        return Effect.succeed("unsent")
      }
      used.drop()
      return Effect.succeed("again")
    })
    return Effect.flatMap(once, (outcome) => (outcome === "again" ? this.exclusive(request) : Effect.succeed(outcome)))
  }

  private exchange(
    { connection: { connection }, drop, give }: Used<CleanConnection>,
    request: CleanRequest
  ): Effect.Effect<ProvenOutcome> {
    const { access, client, commands, epoch, text } = request
    return Effect.callback((resume) => {
      const started = performance.now()
      const finish = (outcome: Outcome, proven: boolean) => {
        if (proven && !isBloated(answer ?? outcome)) give()
        else drop()
        resume(Effect.succeed(judge(request, outcome, proven)))
      }
      let answer: Outcome | undefined
      const { command, holds } = this.proof
      const prove = () => connection.send([command], (outcome) => finish(answer ?? outcome, holds(outcome, epoch)))
      connection.transact(
        commands,
        (outcome) => {
          answer = outcome
          this.pipelinesOf(request).record(text, performance.now() - started)
          if (access === "read") return
          // A write has proven itself, unless it failed, perhaps in user code.
          if (outcome.failure === undefined) finish(outcome, outcome.status === "I")
          else {
            prove()
            connection.flush()
          }
        },
        client
      )
      if (access === "read") prove()
      connection.flush()
    })
  }
}
