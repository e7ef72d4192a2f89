import { Clock, Context, Effect, Layer, Redacted, Stream } from "effect"
import {
  type Branch,
  type BranchId,
  branchNames,
  type NewBranch,
  newBranchDatabase,
  newBranchPassword
} from "../../domain/branches/Branch.ts"
import { Conflict, type Forbidden, type NotFound, Unavailable } from "../../domain/errors.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { makeBranchDeletion } from "./Deletion.ts"
import { type Fill, type Filling, makeBranchFillings } from "./Filling.ts"
import { branchNotFound, makeBranchRecords } from "./Records.ts"
import { BranchSettings } from "./Settings.ts"
import { type Database, Db } from "../ports/Db.ts"
import { Listener } from "../ports/Listener.ts"

/** A branch that was looked up; `until` is when it expires, in ms of the clock. */
interface Known {
  readonly database: Database
  readonly until: number
}

/** Why a request can't be about a branch. */
export type BranchRefusal = NotFound | Conflict | Unavailable

const restoring = (id: number) =>
  new Conflict({
    error: `Branch ${id} is being filled and can't be used yet`,
    code: "BRANCH_RESTORING",
    hint: `GET /api/branches/${id} says when it is active`
  })

const dumpFailed = (details: string) =>
  new Unavailable({
    error: "The database could not be dumped into a branch",
    code: "BRANCH_DUMP_FAILED",
    details,
    retry_after: 60
  })

/** Copies of the main database to try things in (spec: Branch). */
export class Branches extends Context.Service<
  Branches,
  {
    /** Oldest first; only those that can be used. */
    readonly list: Effect.Effect<ReadonlyArray<Branch>, Unavailable>
    /** One that is being filled too. */
    readonly find: (id: BranchId) => Effect.Effect<Branch, NotFound | Unavailable>
    /**
     * Done when it can be used. `connection` holds the password, this once. Fails as `BranchTurn` does, or with 503
     * `BRANCH_DUMP_FAILED`.
     */
    readonly create: (given: NewBranch) => Effect.Effect<Branch, Conflict | Forbidden | Unavailable>
    /** A branch that is filled by `fill` rather than copied. Goes on when the caller leaves; a failure leaves no branch. */
    readonly restore: (
      given: NewBranch & { readonly sourceBackupId: number },
      fill: Fill
    ) => Effect.Effect<Filling, Conflict | Forbidden | Unavailable>
    /** One that is being filled is cancelled. */
    readonly remove: (id: BranchId) => Effect.Effect<void, NotFound | Unavailable>
    /** For requests on a branch: cheap after the first one. 409 `BRANCH_RESTORING` while it is being filled. */
    readonly database: (id: BranchId) => Effect.Effect<Database, BranchRefusal>
    /** Drops what has expired, and what was cut off while it was made or dropped. */
    readonly sweep: Effect.Effect<void, Unavailable>
  }
>()("svc/services/Branches") {
  static readonly layer = Layer.effect(
    Branches,
    Effect.gen(function* () {
      const db = yield* Db
      const databases = yield* BranchDatabases
      const records = yield* makeBranchRecords
      const deletion = yield* makeBranchDeletion(records)
      const fillings = yield* makeBranchFillings(records, deletion)
      const { strategy } = yield* BranchSettings
      const listener = yield* Listener

      const known = new Map<number, Known>()
      let hearing = false
      /** Grows whenever what we know may have become wrong, so that a look-up under way then is not remembered. */
      let generation = 0
      const { heard } = yield* listener.listen("svc_branches")
      yield* heard.pipe(
        Stream.runForEach((message) =>
          Effect.suspend(() => {
            generation++
            if (message._tag !== "Notification") {
              hearing = message._tag === "Connected"
              known.clear()
              return Effect.void
            }
            const gone = known.get(Number(message.payload))
            known.delete(Number(message.payload))
            return gone === undefined ? Effect.void : db.leave(gone.database.name)
          })
        ),
        Effect.forkScoped
      )

      const copied = Effect.fn("Branches.copied")(function* (given: NewBranch) {
        const database = newBranchDatabase()
        return yield* Effect.gen(function* () {
          const creator = yield* databases.creator
          const [password, own] = [newBranchPassword(), newBranchPassword()]
          yield* records.begin({ ...given, database, own, sourceBackupId: null })
          yield* creator.copy(database)
          yield* databases.finalise(branchNames(database), { given: password, own })
          const branch = yield* records.activate(database, password)
          return branch ?? (yield* Effect.die(new Error(`${database} was dropped while it was copied`)))
        }).pipe(
          Effect.scoped,
          Effect.onError(() => deletion.undo(database))
        )
      })

      /** The same by a dump, which ends when nobody waits for it any more. */
      const dumped = Effect.fn("Branches.dumped")(function* (given: NewBranch) {
        const { branch, done } = yield* fillings.start({ ...given, sourceBackupId: null }, databases.fillFromMain)
        return yield* done.pipe(
          Effect.onInterrupt(() => fillings.cancel(branch.database_name)),
          Effect.catchTag("DumpFailed", ({ reason }) => Effect.fail(dumpFailed(reason)))
        )
      })

      const create = (given: NewBranch): Effect.Effect<Branch, Conflict | Forbidden | Unavailable> => {
        if (strategy === "dump") return dumped(given)
        if (strategy === "copy") return copied(given)
        return Effect.catchIf(
          copied(given),
          ({ code }) => code === "BRANCH_SOURCE_BUSY",
          () => dumped(given)
        )
      }

      const remove = Effect.fn("Branches.remove")(function* (id: BranchId) {
        const name = yield* records.remove(id)
        known.delete(id)
        yield* fillings.cancel(name)
        yield* deletion.finish(name)
      })

      const lookUp = Effect.fnUntraced(function* (id: BranchId) {
        const before = generation
        const { left, name, password, status } = yield* records.access(id)
        if (status === "restoring") return yield* restoring(id)
        const database = db.branch({ ...branchNames(name), password: Redacted.make(password) })
        const until = left === null ? Number.POSITIVE_INFINITY : (yield* Clock.currentTimeMillis) + left
        if (hearing && before === generation) known.set(id, { database, until })
        return database
      })

      const database = (id: BranchId): Effect.Effect<Database, BranchRefusal> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const found = known.get(id)
          if (found === undefined) return lookUp(id)
          return now < found.until ? Effect.succeed(found.database) : Effect.fail(branchNotFound(id))
        })

      const sweep = Effect.gen(function* () {
        for (const name of yield* records.expired) {
          yield* Effect.catchCause(deletion.finish(name), (cause) =>
            Effect.logWarning(`${name} can't be dropped yet`, cause)
          )
        }
      })

      return Branches.of({
        list: records.list,
        find: records.find,
        create,
        restore: fillings.start,
        remove,
        database,
        sweep
      })
    })
  )
}
