import { Effect, Exit, Layer, Scope, Semaphore, Stream } from "effect"
import { backupsLock, branchesLock } from "../../domain/sql/AdvisoryLocks.ts"
import { closeMainSql } from "../../domain/branches/BranchSql.ts"
import { Conflict, type Unavailable } from "../../domain/errors.ts"
import { text } from "../../domain/Settings.ts"
import { acquirePatiently } from "../../services/AdvisoryLock.ts"
import { BackupFiles } from "../../services/ports/BackupFiles.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { BranchDatabases, type BranchCreator } from "../../services/ports/BranchDatabases.ts"
import { BranchSettings } from "../../services/branches/Settings.ts"
import { Db } from "../../services/ports/Db.ts"
import { DumpTools } from "../../services/ports/DumpTools.ts"
import { Listener } from "../../services/ports/Listener.ts"
import { copyDatabase, pauseChannel } from "./Copy.ts"
import { dropBranch, removeLeftovers } from "./Drop.ts"
import { fillByDump, removeDump, removeOldDumps } from "./Dump.ts"
import { createEmpty, lockBranch } from "./EmptyDatabase.ts"
import { explained, finaliseBranch, giveToRole } from "./Finalise.ts"
import { checkFreeSpace, type CopyPlan, planCopy, spaceOf } from "./FreeSpace.ts"
import { sourceBusy, checkCopyable, checkRights, copyLocks, unlock, whenFree, whenQuiet } from "./Source.ts"
import { atPrimary, type Login } from "../postgres/Login.ts"
import { MainSessions } from "../postgres/MainSessions.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { outageOrDie, connectDirectly } from "../postgres/client/DirectConnection.ts"

/** A branch waits for others that are being created. */
const whileCreated = {
  patience: 60_000,
  pause: 250,
  busy: new Conflict({
    error: "Another branch is being created",
    code: "BRANCH_IN_PROGRESS",
    hint: "Try again when it is done"
  })
}

/** The server's address for users; an embedded server has a Unix socket, and listens on this machine too. */
const serverOf = ({ at: { host, port, ssl } }: Login) => ({
  host: host.startsWith("/") ? "127.0.0.1" : host,
  port,
  sslmode:
    ssl === false ? undefined : ssl.rejectUnauthorized === false ? ("require" as const) : ("verify-full" as const)
})

/** Branches on the server of the main database. */
export const layerBranchDatabases = Layer.effect(
  BranchDatabases,
  Effect.gen(function* () {
    yield* Db // installed
    const address = yield* PostgresAddress
    const sessions = yield* MainSessions
    const { endSessions, timeout } = yield* BranchSettings
    const { timeout: dumpTimeout } = yield* BackupSettings
    const files = yield* BackupFiles
    const tools = yield* DumpTools
    const serviceRole = yield* text("SVC_SERVICE_ROLE", "postgres")
    /** While a branch is created, this process opens no further connection to the main database outside the pools. */
    const aside = yield* Semaphore.make(1)
    /** Connecting may take as long as a copy. */
    const connect = connectDirectly(address, {}, timeout + 10_000)

    /**
     * A connection that holds the lock for which `attempt` queries `acquired`. Without the lock it is closed: no session may be
     * connected to a database that is copied.
     */
    const locked = (attempt: string) =>
      acquirePatiently(
        Effect.gen(function* () {
          const main = yield* connect
          const [row] = yield* main.query(attempt)
          return row?.["acquired"] === true ? main : undefined
        }),
        whileCreated
      ).pipe(Effect.catchTag("QueryFailed", outageOrDie))

    const creator = Effect.gen(function* () {
      yield* Effect.acquireRelease(aside.take(1), () => aside.release(1), { interruptible: true })
      const main = yield* locked(`select pg_try_advisory_lock(${branchesLock}) as acquired`)

      const copyAs = (plan: CopyPlan) =>
        Effect.fnUntraced(
          function* (database: string, begins: Effect.Effect<void, Unavailable>) {
            yield* whenFree(main)
            yield* whenQuiet(main, endSessions)
            const scope = yield* Scope.Scope
            const mine = yield* Scope.fork(scope)
            const watch = yield* Scope.provide(connect, mine)
            yield* begins
            yield* copyDatabase(main, watch, Scope.close(mine, Exit.void), database, {
              sessions,
              endSessions,
              timeout,
              plan
            })
            yield* unlock(main, copyLocks)
            yield* main.query(closeMainSql)
            return undefined
          },
          Effect.scoped,
          Effect.catchTag("QueryFailed", explained)
        )
      const copy: BranchCreator["copy"] = checkCopyable(main).pipe(
        Effect.andThen(checkRights(main)),
        Effect.andThen(planCopy(main)),
        Effect.map(copyAs),
        Effect.catchTag("QueryFailed", explained)
      )
      const empty: BranchCreator["empty"] = Effect.fnUntraced(
        function* (names, own) {
          yield* checkRights(main)
          yield* createEmpty(main, names.database)
          yield* main.query(closeMainSql)
          const lost = yield* lockBranch(address, names.database)
          yield* giveToRole(address, names, own)
          return lost
        },
        Effect.catchTag("QueryFailed", explained)
      )
      return { copy, empty } satisfies BranchCreator
    })

    /** Runs a dump while the main database is not copied, and if its disk has space for a second copy. */
    const undisturbed = <A, E>(dump: Effect.Effect<A, E>) =>
      locked(`select pg_try_advisory_lock_shared(${backupsLock}) as acquired`).pipe(
        Effect.flatMap(checkFreeSpace),
        Effect.catchTag("Conflict", ({ error }) => Effect.fail(sourceBusy(error, "Try again when it is done"))),
        Effect.andThen(dump),
        Effect.scoped
      )

    yield* Effect.flatMap(connect, removeLeftovers).pipe(
      Effect.scoped,
      Effect.catchTag("QueryFailed", () => Effect.void),
      aside.withPermit,
      Effect.forkScoped
    )

    // Another replica copies the database: release it, and reconnect as soon as PostgreSQL allows.
    const { messages } = yield* (yield* Listener).listen(pauseChannel)
    yield* messages.pipe(
      Stream.filter((message) => message._tag === "Notification"),
      Stream.runForEach(() =>
        sessions
          .without(Effect.scoped(connect))
          .pipe(
            Effect.catchCause((cause) => Effect.logWarning("Failed to release the database while it is copied", cause))
          )
      ),
      Effect.forkScoped
    )

    yield* Effect.forkScoped(removeOldDumps(files, 2 * dumpTimeout))

    return BranchDatabases.of({
      creator,
      fillFromMain: (target, report) =>
        fillByDump({ tools, files, main: address.database, undisturbed }, target, report),
      finalise: (names, passwords) => finaliseBranch(address, serviceRole, names, passwords),
      drop: (names) =>
        Effect.flatMap(connect, (main) => dropBranch(main, address, names)).pipe(
          Effect.andThen(removeDump(files, names.database)),
          Effect.scoped,
          aside.withPermit,
          Effect.catchTag("QueryFailed", outageOrDie)
        ),
      room: Effect.flatMap(connect, spaceOf).pipe(
        Effect.map((space) => ({ size: space?.size ?? 0, free: space?.disk?.free })),
        Effect.scoped,
        aside.withPermit,
        Effect.catchTag("QueryFailed", outageOrDie)
      ),
      get server() {
        return serverOf(atPrimary(address))
      }
    })
  })
).pipe(Layer.provide(MainSessions.layer))
