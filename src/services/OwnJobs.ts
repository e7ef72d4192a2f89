import { Context, Effect, Layer, Queue } from "effect"

/** A job of the service itself. One process of all runs it at each time. */
export interface OwnJob {
  /** Unique, such as `audit.retention`. */
  readonly name: string
  readonly summary: string
  /** See `parseTimes`; in UTC. */
  readonly times: string
  /** Seconds that it may take. */
  readonly timeout: number
  /** Whether a time that came while no process was there is made up for; default false. */
  readonly catchUp?: boolean
  /**
   * Gets the time that it is for, in ms since 1970. Returns a sentence for the history, or undefined if there was nothing
   * to do, which leaves no entry; fails with a sentence.
   */
  readonly run: (scheduledAt: number) => Effect.Effect<string | undefined, string | { readonly error: string }>
}

/** The jobs of this process, by name. The runner (schedules/Runner.ts) reads them. */
export class OwnJobs extends Context.Service<
  OwnJobs,
  {
    readonly all: ReadonlyMap<string, OwnJob>
    readonly add: (job: OwnJob) => Effect.Effect<void>
    /** Completes when a job was added since the last time. */
    readonly added: Effect.Effect<void>
  }
>()("svc/services/OwnJobs") {
  static readonly layer = Layer.effect(
    OwnJobs,
    Effect.gen(function* () {
      const all = new Map<string, OwnJob>()
      const changes = yield* Queue.sliding<void>(1)
      return OwnJobs.of({
        all,
        add: (job) =>
          Effect.suspend(() => {
            all.set(job.name, job)
            return Effect.asVoid(Queue.offer(changes, undefined))
          }),
        added: Queue.take(changes)
      })
    })
  )
}
