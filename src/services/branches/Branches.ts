import { Cause, Clock, Context, Deferred, Effect, Layer, Redacted, Scope } from "effect"
import {
  type Branch,
  type BranchAccess,
  type BranchChanges,
  type BranchId,
  branchNames,
  type NewBranch,
  newBranchDatabase,
  newBranchPassword
} from "../../domain/branches/Branch.ts"
import { Conflict, Forbidden, type NotFound, Unavailable } from "../../domain/errors.ts"
import { BranchDatabases } from "../ports/BranchDatabases.ts"
import { makeBranchDeletion } from "./Deletion.ts"
import { type Fill, type Filling, makeBranchFillings } from "./Filling.ts"
import { branchNotFound, makeBranchRecords } from "./Records.ts"
import { BranchSettings } from "./Settings.ts"
import { type Actor, type Database, Db } from "../ports/Db.ts"
import { type DumpFailed, type RestoreTarget } from "../ports/DumpTools.ts"
import { makeNotifiedCache } from "../NotifiedCache.ts"
import { monotonicMillis } from "../access/RateLimits.ts"

/** A branch that was looked up; `until` is when it expires, in ms of the clock. */
interface Known {
  readonly id: BranchId
  readonly database: Database
  readonly access: BranchAccess
  readonly objectsAt: Date | undefined
  readonly until: number
}

/** Why a request can't use a branch. */
export type BranchRefusal = NotFound | Forbidden | Conflict | Unavailable

const restoring = (id: number) =>
  new Conflict({
    error: `Branch ${id} is still being filled`,
    code: "BRANCH_RESTORING",
    hint: `Wait until GET /api/branches/${id} shows the status active`
  })

const closed = (id: number) =>
  new Forbidden({
    error: `Branch ${id} is closed to anon keys, with and without a JWT`,
    code: "BRANCH_CLOSED",
    hint: `Use a service_role key, or open the branch: PATCH /api/branches/${id} {"access": "clients"}`
  })

const dumpFailed = (details: string) =>
  new Unavailable({
    error: "Failed to create the branch from a dump of the database",
    code: "BRANCH_DUMP_FAILED",
    details,
    retry_after: 60
  })

const dropped = new Conflict({ error: "The branch was dropped while it was being created", code: "BRANCH_DROPPED" })

type Failure = Conflict | Forbidden | Unavailable

/** Runs once a branch has a record, before it can be used; the branch shows its password. */
type Begins = (branch: Branch) => Effect.Effect<void>

/** The pause between the response to a creation in the background and its copy. */
const answerTime = "300 millis"
/** Copies of the main database (spec: Branch). */
export class Branches extends Context.Service<
  Branches,
  {
    /** Oldest first; only those that can be used. */
    readonly list: Effect.Effect<ReadonlyArray<Branch>, Unavailable>
    /** The list, including branches that are being filled. */
    readonly listAll: Effect.Effect<ReadonlyArray<Branch>, Unavailable>
    /** Also finds a branch that is being filled. For a day after a failed `start`, the error has the reason. */
    readonly find: (id: BranchId) => Effect.Effect<Branch, NotFound | Unavailable>
    /**
     * Returns when the branch can be used; `connection` then contains the password, and never again. Fails as
     * `BranchCreator` does, or with 503 `BRANCH_DUMP_FAILED`.
     */
    readonly create: (given: NewBranch) => Effect.Effect<Branch, Failure>
    /** Returns when only the copy remains, which continues when the caller disconnects. */
    readonly start: (given: NewBranch) => Effect.Effect<Branch, Failure>
    /**
     * Creates a branch filled by `fill`. Continues when the caller leaves; a failure leaves no branch. `objectsAt`: the time
     * whose objects storage shows with the branch.
     */
    readonly restore: (
      given: NewBranch & { readonly sourceBackupId: number | null; readonly objectsAt?: Date },
      fill: Fill
    ) => Effect.Effect<Filling, Conflict | Forbidden | Unavailable>
    /**
     * Runs an effect with an empty database on the main database's server. It is in no list, is closed to clients and
     * is dropped in every case. Fails as `create` does, too.
     */
    readonly temporary: <A, E>(
      label: string,
      use: (target: RestoreTarget) => Effect.Effect<A, E>
    ) => Effect.Effect<A, E | DumpFailed | Conflict | Forbidden | Unavailable>
    /** See `BranchDatabases.room`. */
    readonly room: BranchDatabases["Service"]["room"]
    /** Deletes a branch; one that is being filled is cancelled. */
    readonly remove: (id: BranchId) => Effect.Effect<void, NotFound | Unavailable>
    /** Applies to all replicas. */
    readonly change: (id: BranchId, changes: BranchChanges) => Effect.Effect<Branch, NotFound | Unavailable>
    /**
     * The database of a branch for requests with this role; cached. 403 `BRANCH_CLOSED` unless its `access` allows the
     * role, 409 `BRANCH_RESTORING` while it is being filled.
     */
    readonly database: (id: BranchId, role: Actor["role"]) => Effect.Effect<Database, BranchRefusal>
    /** The time whose objects storage shows with a branch; undefined: those of now. Fails as `database` does. */
    readonly objectsAt: (id: BranchId) => Effect.Effect<Date | undefined, BranchRefusal>
    /** Drops branches that have expired, or whose creation or deletion was interrupted. */
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
      const scope = yield* Scope.Scope

      const lookUp = Effect.fnUntraced(function* (id: BranchId) {
        const { access, left, name, objects, password, status } = yield* records.entry(id)
        if (status === "restoring") return yield* restoring(id)
        const database = db.branch({ ...branchNames(name), password: Redacted.make(password) })
        const until = left === null ? Number.POSITIVE_INFINITY : monotonicMillis(yield* Clock.Clock) + left
        const objectsAt = objects === null ? undefined : new Date(objects)
        return { id, access, database, objectsAt, until } satisfies Known
      })
      const known = yield* makeNotifiedCache({
        channel: "svc_branches",
        load: lookUp,
        key: (payload) => Number(payload) as BranchId,
        // A branch that is served as before keeps its connections: statements of other callers run on them.
        onInvalidated: (before) =>
          before === undefined
            ? Effect.void
            : Effect.matchEffect(lookUp(before.id), {
                onFailure: () => db.leave(before.database.name),
                onSuccess: (now) => (now.database === before.database ? Effect.void : db.leave(before.database.name))
              })
      })

      const copied = Effect.fn("Branches.copied")(function* (given: NewBranch, begins: Begins | undefined) {
        const database = newBranchDatabase()
        let begun = false
        return yield* Effect.gen(function* () {
          const copy = yield* Effect.flatMap(databases.creator, (creator) => creator.copy)
          const [password, own] = [newBranchPassword(), newBranchPassword()]
          begun = true
          yield* records.begin({ ...given, database, own, sourceBackupId: null })
          yield* copy(
            database,
            begins === undefined ? Effect.void : Effect.flatMap(records.creating(database, password), begins)
          )
          yield* databases.finalise(branchNames(database), { given: password, own })
          const branch = yield* records.activate(database, password)
          return branch ?? (yield* dropped)
        }).pipe(
          Effect.scoped,
          // Once the creator is released, which dropping needs.
          Effect.onError((cause) => (begun ? deletion.undo(database, cause) : Effect.void))
        )
      })

      /** Creates a branch from a dump, which is cancelled when the caller leaves. */
      const dumped = Effect.fn("Branches.dumped")(function* (given: NewBranch, begins: Begins | undefined) {
        const { branch, done } = yield* fillings.start({ ...given, sourceBackupId: null }, databases.fillFromMain)
        if (begins !== undefined) yield* begins(branch)
        return yield* done.pipe(
          Effect.onInterrupt(() => fillings.cancel(branch.database_name)),
          Effect.catchTag("DumpFailed", ({ reason }) => Effect.fail(dumpFailed(reason)))
        )
      })

      const create = (given: NewBranch, begins?: Begins): Effect.Effect<Branch, Failure> => {
        if (strategy === "dump") return dumped(given, begins)
        const fromDump = () => dumped(given, begins)
        const made = Effect.catchTag(copied(given, begins), "NotCopyable", fromDump)
        if (strategy === "copy") return made
        return Effect.catchIf(made, ({ code }) => code === "BRANCH_SOURCE_BUSY", fromDump)
      }

      const start = Effect.fn("Branches.start")(function* (given: NewBranch) {
        const begun = yield* Deferred.make<Branch, Failure>()
        let last: BranchId | undefined
        const begins: Begins = (branch) =>
          Effect.gen(function* () {
            // The copy failed after it had begun, and a dump takes its place.
            if (last !== undefined) {
              const reason = `It could not be copied, so branch ${branch.id} is made from a dump in its place`
              yield* Effect.ignore(records.failed(last, reason))
            }
            last = branch.id
            yield* Deferred.succeed(begun, branch)
            // The response and the records of its request need the main database, which a copy closes.
            yield* Effect.sleep(answerTime)
          })
        yield* create(given, begins).pipe(
          Effect.catchCause((cause) =>
            Effect.flatMap(Deferred.failCause(begun, cause), (reported) =>
              !reported && Cause.hasDies(cause)
                ? Effect.logError("The creation of a branch ended unexpectedly", cause)
                : Effect.void
            )
          ),
          Effect.forkIn(scope)
        )
        return yield* Deferred.await(begun)
      })

      const remove = Effect.fn("Branches.remove")(function* (id: BranchId) {
        const name = yield* records.remove(id)
        known.invalidate(id)
        yield* fillings.cancel(name)
        yield* deletion.finish(name)
      })

      const change = Effect.fn("Branches.change")(function* (id: BranchId, changes: BranchChanges) {
        const branch = yield* records.change(id, changes)
        known.invalidate(id)
        return branch
      })

      const withKnown = <A>(id: BranchId, use: (branch: Known) => Effect.Effect<A, BranchRefusal>) =>
        Effect.flatMap(Effect.map(Clock.Clock, monotonicMillis), (now): Effect.Effect<A, BranchRefusal> => {
          const found = known.peek(id)
          if (found === undefined) return Effect.flatMap(known.load(id), use)
          return now < found.until ? use(found) : Effect.fail(branchNotFound(id))
        })

      const database = (id: BranchId, role: Actor["role"]) =>
        withKnown(id, ({ access, database }) =>
          role === "service_role" || access === "clients" ? Effect.succeed(database) : Effect.fail(closed(id))
        )

      const sweep = Effect.gen(function* () {
        for (const name of yield* records.expired) {
          yield* Effect.catchCause(deletion.finish(name), (cause) =>
            Effect.logWarning(`Failed to drop ${name}; will retry`, cause)
          )
        }
      })

      return Branches.of({
        list: records.list(false),
        listAll: records.list(true),
        find: records.find,
        create: (given) => create(given),
        start,
        restore: fillings.start,
        temporary: fillings.temporary,
        room: databases.room,
        remove,
        change,
        database,
        objectsAt: (id) => withKnown(id, ({ objectsAt }) => Effect.succeed(objectsAt)),
        sweep
      })
    })
  )
}
