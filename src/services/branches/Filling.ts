import { Cause, Deferred, Effect, Exit, Fiber, Redacted, Ref, Scope } from "effect"
import {
  type Branch,
  branchNames,
  type NewBranch,
  newBranchDatabase,
  newBranchPassword
} from "../../domain/branches/Branch.ts"
import { type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { percentOf } from "../../domain/backups/Backup.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { DumpFailed, type OnProgress, type RestoreTarget } from "../ports/DumpTools.ts"
import { type BranchDeletion } from "./Deletion.ts"
import { type BranchRecords } from "./Records.ts"

/** Restores everything into an empty database. */
export type Fill = (target: RestoreTarget, report: OnProgress) => Effect.Effect<void, DumpFailed | Unavailable>

type Given = NewBranch & {
  readonly sourceBackupId: number | null
  readonly objectsAt?: Date
  readonly temporary?: boolean
}
type Failure = DumpFailed | Forbidden | Unavailable

/** A branch that is being filled. Both branches show the password. */
export interface Filling {
  readonly branch: Branch
  /** Returns once the branch can be used. Interrupting this does not stop the filling. */
  readonly done: Effect.Effect<Branch, Failure>
}

const dropped = new DumpFailed({ reason: "Cancelled: the branch was dropped" })
const ended = new DumpFailed({ reason: "The service ended while the branch was being filled" })

const reportEvery = "1 second"

/** How long a cancelled filling may take to end before its database is dropped regardless. */
const cancelTimeout = "5 seconds"

/** Fills branches from a dump, which may take hours: in the background, in the scope of the service. */
export const makeBranchFillings = (records: BranchRecords, deletion: BranchDeletion) =>
  Effect.gen(function* () {
    const databases = yield* BranchDatabases
    const scope = yield* Scope.Scope
    const running = new Map<string, Fiber.Fiber<void>>()

    /** Creates the empty database and its record, which is `restoring` once the database has a lock of its own. */
    const begin = (given: Given, database: string, password: string, own: string) =>
      Effect.gen(function* () {
        const whole = yield* Scope.Scope
        return yield* Effect.gen(function* () {
          const creator = yield* databases.creator
          yield* records.begin({ ...given, database, own })
          const lockLost = yield* Scope.provide(creator.empty(branchNames(database), own), whole)
          return { lockLost, branch: yield* records.restoring(database, password) }
        }).pipe(Effect.scoped)
      })

    /** Fills a database, and records the progress meanwhile. */
    const filled = (fill: Fill, target: RestoreTarget) =>
      Effect.gen(function* () {
        const percent = yield* Ref.make(0)
        const report = Ref.get(percent).pipe(
          Effect.flatMap((now) => records.progress(target.database, now)),
          // The next report makes up for one that fails.
          Effect.ignore,
          Effect.delay(reportEvery),
          Effect.forever
        )
        yield* Effect.raceFirst(
          fill(target, (fraction) => Ref.set(percent, percentOf(fraction))),
          report
        )
      })

    /** Returns once the record is there. Fails at once as `Branches.create` does, and then leaves nothing. */
    const start = Effect.fn("BranchFillings.start")((given: Given, fill: Fill) =>
      Effect.uninterruptibleMask((interruptible) =>
        Effect.gen(function* () {
          const database = newBranchDatabase()
          const [password, own] = [newBranchPassword(), newBranchPassword()]
          const whole = yield* Scope.make()
          const { branch, lockLost } = yield* interruptible(begin(given, database, password, own)).pipe(
            Scope.provide(whole),
            Effect.onError((cause) =>
              Effect.andThen(deletion.undo(database, cause), Scope.close(whole, Exit.failCause(cause)))
            )
          )
          const result = yield* Deferred.make<Branch, Failure>()
          const work = Effect.gen(function* () {
            const names = branchNames(database)
            const target = { database, role: names.role, login: names.keysLogin, password: Redacted.make(own) }
            yield* Effect.raceFirst(filled(fill, target), lockLost)
            yield* databases.finalise(names, { given: password, own })
            return (yield* records.activate(database, password)) ?? (yield* dropped)
          })
          const fiber = yield* Effect.gen(function* () {
            const exit = yield* Effect.exit(Effect.interruptible(work))
            const outcome = Exit.isSuccess(exit) ? exit : outcomeOf(exit, yield* deletion.undo(database, exit.cause))
            yield* Scope.close(whole, exit)
            running.delete(database)
            yield* Deferred.done(result, outcome)
          }).pipe(Effect.forkIn(scope, { uninterruptible: true }))
          running.set(database, fiber)
          return { branch, done: Deferred.await(result) } satisfies Filling
        })
      )
    )

    /**
     * Runs an effect with an empty database that no client can see or use, and drops that in every case; `Branches.sweep`
     * drops it when this process is killed.
     */
    const temporary = <A, E>(label: string, use: (target: RestoreTarget) => Effect.Effect<A, E>) =>
      Effect.uninterruptibleMask((interruptible) =>
        Effect.gen(function* () {
          const database = newBranchDatabase()
          const [password, own] = [newBranchPassword(), newBranchPassword()]
          const names = branchNames(database)
          const target = { database, role: names.role, login: names.keysLogin, password: Redacted.make(own) }
          const given: Given = { label, sourceBackupId: null, temporary: true }
          const exit = yield* begin(given, database, password, own).pipe(
            Effect.flatMap(({ lockLost }) => Effect.raceFirst(use(target), lockLost)),
            Effect.scoped,
            interruptible,
            Effect.exit
          )
          yield* Effect.catchCause(Effect.andThen(records.release(database), deletion.finish(database)), (cause) =>
            Effect.logWarning(`Failed to drop ${database}; will retry`, cause)
          )
          return yield* exit
        })
      )

    /** Cancels a filling of this process, and drops its database. */
    const cancel = Effect.fn("BranchFillings.cancel")(function* (database: string) {
      const fiber = running.get(database)
      if (fiber !== undefined) yield* Effect.timeoutOption(Fiber.interrupt(fiber), cancelTimeout)
    })

    return { start, temporary, cancel }
  })

/** Why a filling failed; `undone`: by itself, and not because the branch was dropped. */
const outcomeOf = (exit: Exit.Failure<Branch, Failure>, undone: boolean): Exit.Exit<Branch, Failure> => {
  if (!undone) return Exit.fail(dropped)
  return Cause.hasInterrupts(exit.cause) ? Exit.fail(ended) : exit
}
