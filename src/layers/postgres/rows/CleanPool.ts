import { Effect } from "effect"
import { BoundedPool } from "../BoundedPool.ts"
import { type Command, isLost, type Outcome, type RowConnection } from "./Connection.ts"
import { assertion, isProven, proof } from "./Epoch.ts"
import { Pipelines, type Proven } from "./Pipelines.ts"
import { type Used, useConnection } from "./useConnection.ts"

export interface CleanPoolOptions {
  readonly size: number
  /** Opens a connection for exclusive use, or for a pipeline, whose statements have a short timeout. */
  readonly open: (
    pipelined: boolean,
    onClose: (connection: RowConnection) => void
  ) => Effect.Effect<RowConnection, unknown>
}

export interface CleanRequest {
  /** The statement, which identifies what is known about its duration. */
  readonly text: string
  readonly commands: ReadonlyArray<Command>
  /** The epoch of the catalogue that the statement was planned with. */
  readonly epoch: number
  /** A read of bounded cost, which may be pipelined. */
  readonly shared: boolean
  readonly access: "read" | "write"
}

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
  private readonly pool: BoundedPool<CleanConnection, unknown>
  private readonly pipelines: Pipelines

  constructor({ open, size }: CleanPoolOptions) {
    // In addition to `size`: the more writes run at once, the more commits PostgreSQL syncs together.
    this.pipelines = new Pipelines(size >= 4 ? 3 : 0, (onClose) => open(true, onClose))
    this.pool = new BoundedPool<CleanConnection, unknown>({
      size,
      open: Effect.suspend(() => {
        let opened: CleanConnection | undefined
        return Effect.map(
          open(false, () => opened && this.pool.lost(opened)),
          (connection) => (opened = { connection, epoch: undefined })
        )
      }),
      close: ({ connection }) => connection.close(),
      isDead: ({ connection }) => connection.dead
    })
  }

  /** Runs a clean statement; undefined if it has to be run again where user code may run. It has had no effect then. */
  run(request: CleanRequest): Effect.Effect<Proven, unknown> {
    const { commands, epoch, shared, text } = request
    const pipelined = shared ? this.pipelines.run(text, commands, epoch) : undefined
    if (pipelined === undefined) return this.exclusive(request)
    return Effect.flatMap(pipelined, (outcome) =>
      outcome === "late" ? this.exclusive(request) : Effect.succeed(outcome)
    )
  }

  readonly close: Effect.Effect<void> = Effect.suspend(() => Effect.andThen(this.pool.close, this.pipelines.close))

  /** Makes requests wait until `resume`; completes when no connection is left. */
  readonly pause: Effect.Effect<void> = Effect.suspend(() =>
    Effect.asVoid(Effect.all([this.pool.pause, this.pipelines.pause], { concurrency: "unbounded" }))
  )

  readonly resume: Effect.Effect<void> = Effect.suspend(() => Effect.andThen(this.pipelines.resume, this.pool.resume))

  private exclusive(request: CleanRequest): Effect.Effect<Proven, unknown> {
    const { epoch } = request
    const once = useConnection(this.pool, (used): Effect.Effect<Proven | "again"> => {
      const { connection } = used
      connection.epoch ??= epoch
      if (connection.epoch === epoch) return this.exchange(used, request)
      if (connection.epoch > epoch) {
        used.give()
        return Effect.undefined
      }
      used.drop()
      return Effect.succeed("again")
    })
    return Effect.flatMap(once, (outcome) => (outcome === "again" ? this.exclusive(request) : Effect.succeed(outcome)))
  }

  private exchange(
    { connection: { connection }, drop, give }: Used<CleanConnection>,
    { access, commands, epoch, text }: CleanRequest
  ): Effect.Effect<Proven> {
    return Effect.callback((resume) => {
      const started = performance.now()
      const finish = (outcome: Outcome, proven: boolean) => {
        if (proven) give()
        else drop()
        // A read whose connection was lost can run again; of a write it is not known whether it has committed.
        resume(Effect.succeed(proven || (access === "write" && isLost(outcome)) ? outcome : undefined))
      }
      if (access === "read") {
        let answer: Outcome | undefined
        connection.send(commands, (outcome) => {
          answer = outcome
          this.pipelines.record(text, performance.now() - started)
        })
        connection.send([proof], (outcome) => finish(answer ?? outcome, isProven(outcome, epoch)))
      } else {
        connection.send([...commands, assertion(epoch)], (outcome) => {
          const { failure, status } = outcome
          if (failure === undefined) finish(outcome, status === "I")
          // The assertion itself failed, and has rolled everything back.
          else if (failure.at === commands.length) finish(outcome, false)
          else {
            // The statement or its commit failed, perhaps in user code.
            connection.send([proof], (proof) => finish(outcome, isProven(proof, epoch)))
            connection.flush()
          }
        })
      }
      connection.flush()
    })
  }
}
