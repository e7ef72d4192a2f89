import { Clock, Context, Effect, Layer, Redacted } from "effect"
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
import { BranchEndings } from "./Endings.ts"
import { BranchFillings, type Fill, type Filling } from "./Fillings.ts"
import { branchNotFound, BranchRecords } from "./Records.ts"
import { BranchSettings } from "./Settings.ts"
import { type Database, Db } from "../ports/Db.ts"
import { makeNotifiedCache } from "../NotifiedCache.ts"

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
      const records = yield* BranchRecords
      const endings = yield* BranchEndings
      const fillings = yield* BranchFillings
      const { strategy } = yield* BranchSettings

      const lookUp = Effect.fnUntraced(function* (id: BranchId) {
        const { left, name, password, status } = yield* records.door(id)
        if (status === "restoring") return yield* restoring(id)
        const database = db.branch({ ...branchNames(name), password: Redacted.make(password) })
        const until = left === null ? Number.POSITIVE_INFINITY : (yield* Clock.currentTimeMillis) + left
        return { database, until } satisfies Known
      })
      const known = yield* makeNotifiedCache({
        channel: "svc_branches",
        load: lookUp,
        key: (payload) => Number(payload) as BranchId,
        onInvalidated: (gone) => (gone === undefined ? Effect.void : db.leave(gone.database.name))
      })

      const copied = Effect.fn("Branches.copied")(function* (given: NewBranch) {
        const database = newBranchDatabase()
        return yield* Effect.gen(function* () {
          const turn = yield* databases.turn
          const [password, own] = [newBranchPassword(), newBranchPassword()]
          yield* records.begin({ ...given, database, own, sourceBackupId: null })
          yield* turn.copy(database)
          yield* databases.settle(branchNames(database), { given: password, own })
          const branch = yield* records.activate(database, password)
          return branch ?? (yield* Effect.die(new Error(`${database} was dropped while it was copied`)))
        }).pipe(
          Effect.scoped,
          Effect.onError(() => endings.undo(database))
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
        known.invalidate(id)
        yield* fillings.cancel(name)
        yield* endings.finish(name)
      })

      const database = (id: BranchId): Effect.Effect<Database, BranchRefusal> =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const found = known.peek(id)
          if (found === undefined) return Effect.map(known.load(id), ({ database }) => database)
          return now < found.until ? Effect.succeed(found.database) : Effect.fail(branchNotFound(id))
        })

      const sweep = Effect.gen(function* () {
        for (const name of yield* records.outworn) {
          yield* Effect.catchCause(endings.finish(name), (cause) =>
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
  ).pipe(Layer.provide(BranchFillings.layer), Layer.provide(BranchEndings.layer), Layer.provide(BranchRecords.layer))
}
