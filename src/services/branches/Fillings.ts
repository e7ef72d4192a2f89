import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import {
  type Branch,
  branchNames,
  type NewBranch,
  newBranchDatabase,
  newBranchPassword
} from "../../domain/branches/Branch.ts"
import { type Conflict, type Forbidden, type Unavailable } from "../../domain/errors.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { BranchEndings } from "./Endings.ts"
import { BranchRecords } from "./Records.ts"
import { DumpFailed } from "../ports/DumpTools.ts"

/** Puts everything into an empty database. */
export type Fill = (database: string) => Effect.Effect<void, DumpFailed | Unavailable>

type Begun = NewBranch & { readonly sourceBackupId: number | null }
type Failure = DumpFailed | Forbidden | Unavailable

/** A branch that is being filled. Both show its password. */
export interface Filling {
  readonly branch: Branch
  /** When it can be used. Whoever stops waiting for it does not stop it. */
  readonly done: Effect.Effect<Branch, Failure>
}

const dropped = new DumpFailed({ reason: "Cancelled: the branch was dropped" })
const ended = new DumpFailed({ reason: "The service ended while the branch was being filled" })

/** How long a cancelled one is waited for before its database is dropped all the same. */
const farewell = "5 seconds"

/** Branches that are filled from a dump, which may take hours: each goes on by itself, in the scope of the service. */
export class BranchFillings extends Context.Service<
  BranchFillings,
  {
    /** Answers once its record is there. Fails at once as `Branches.create` does, with nothing left. */
    readonly start: (given: Begun, fill: Fill) => Effect.Effect<Filling, Conflict | Forbidden | Unavailable>
    /** Ends one that this process fills, and drops what there is of it. */
    readonly cancel: (database: string) => Effect.Effect<void>
  }
>()("svc/services/BranchFillings") {
  static readonly layer = Layer.effect(
    BranchFillings,
    Effect.gen(function* () {
      const databases = yield* BranchDatabases
      const records = yield* BranchRecords
      const endings = yield* BranchEndings
      const scope = yield* Scope.Scope
      const running = new Map<string, Fiber.Fiber<void>>()

      /** The empty database, and its record: `restoring` once it is held by itself. */
      const begin = (given: Begun, database: string, password: string, own: string) =>
        Effect.gen(function* () {
          const whole = yield* Scope.Scope
          return yield* Effect.gen(function* () {
            const turn = yield* databases.turn
            yield* records.begin({ ...given, database, own })
            const held = yield* Scope.provide(turn.empty(database), whole)
            return { held, branch: yield* records.restoring(database, password) }
          }).pipe(Effect.scoped)
        })

      const start = Effect.fn("BranchFillings.start")((given: Begun, fill: Fill) =>
        Effect.uninterruptibleMask((interruptible) =>
          Effect.gen(function* () {
            const database = newBranchDatabase()
            const [password, own] = [newBranchPassword(), newBranchPassword()]
            const whole = yield* Scope.make()
            const { branch, held } = yield* interruptible(begin(given, database, password, own)).pipe(
              Scope.provide(whole),
              Effect.onError((cause) =>
                Effect.andThen(endings.undo(database), Scope.close(whole, Exit.failCause(cause)))
              )
            )
            const result = yield* Deferred.make<Branch, Failure>()
            const work = Effect.gen(function* () {
              yield* Effect.raceFirst(fill(database), held)
              yield* databases.settle(branchNames(database), { given: password, own })
              return (yield* records.activate(database, password)) ?? (yield* dropped)
            })
            const fiber = yield* Effect.gen(function* () {
              const exit = yield* Effect.exit(Effect.interruptible(work))
              const outcome = Exit.isSuccess(exit) ? exit : outcomeOf(exit, yield* endings.undo(database))
              yield* Scope.close(whole, exit)
              running.delete(database)
              yield* Deferred.done(result, outcome)
            }).pipe(Effect.forkIn(scope, { uninterruptible: true }))
            running.set(database, fiber)
            return { branch, done: Deferred.await(result) }
          })
        )
      )

      const cancel = Effect.fn("BranchFillings.cancel")(function* (database: string) {
        const fiber = running.get(database)
        if (fiber !== undefined) yield* Effect.timeoutOption(Fiber.interrupt(fiber), farewell)
      })

      return BranchFillings.of({ start, cancel })
    })
  )
}

/** Why it came to nothing; `undone`: by itself, and not because somebody dropped the branch. */
const outcomeOf = (exit: Exit.Failure<Branch, Failure>, undone: boolean): Exit.Exit<Branch, Failure> => {
  if (!undone) return Exit.fail(dropped)
  return Cause.hasInterrupts(exit.cause) ? Exit.fail(ended) : exit
}
