import { Clock, Effect, Exit, Layer, Scope, Semaphore, Stream } from "effect"
import { backupsLock, branchesLock, migrationsLock } from "../../domain/sql/AdvisoryLocks.ts"
import { closeMainSql } from "../../domain/branches/BranchSql.ts"
import { Conflict } from "../../domain/errors.ts"
import { text } from "../../domain/Settings.ts"
import { BackupFiles } from "../../services/ports/BackupFiles.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { BranchDatabases, type BranchTurn } from "../../services/ports/BranchDatabases.ts"
import { BranchSettings } from "../../services/branches/Settings.ts"
import { Db } from "../../services/ports/Db.ts"
import { DumpTools } from "../../services/ports/DumpTools.ts"
import { Listener } from "../../services/ports/Listener.ts"
import { copyDatabase, pauseChannel } from "./Copy.ts"
import { dropBranch } from "./Dropping.ts"
import { fillByDump, removeDump, removeOldDumps } from "./Dump.ts"
import { createEmpty, holdBranch } from "./Empty.ts"
import { explained, settleBranch } from "./Settling.ts"
import { removeRemains } from "./Remains.ts"
import { checkRoom, planCopy } from "./Room.ts"
import { busy, checkRights, whenQuiet } from "./Source.ts"
import { type Login } from "../postgres/Login.ts"
import { MainSessions } from "../postgres/MainSessions.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { outageOrDie, connectDirectly } from "../postgres/DirectConnection.ts"

/** How long to wait for branches that others make, and how often to look, in ms. */
const patienceMillis = 60_000
const pauseMillis = 250

const inProgress = new Conflict({
  error: "Another branch is being made",
  code: "BRANCH_IN_PROGRESS",
  hint: "Try again when it is there"
})

/** What is not to be disturbed by a copy, and must not begin during one. */
const copyLocks = [
  [migrationsLock, "Migrations are being run"],
  [backupsLock, "The database is being dumped"]
] as const

/** Where people reach a server; an embedded one has a Unix socket, and listens on this machine too. */
const serverOf = ({ host, port, ssl }: Login) => ({
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
    /** While one makes a branch, nobody else of this process is in the main database beside the pools. */
    const aside = yield* Semaphore.make(1)
    /** Connections wait for as long as a copy takes. */
    const connect = connectDirectly(address, {}, timeout + 10_000)

    /**
     * A connection that has got the lock that `attempt` asks for (a query for `ok`); one that has not does not stay,
     * because nobody can be in a source that is copied.
     */
    const locked = Effect.fnUntraced(
      function* (attempt: string) {
        const scope = yield* Scope.Scope
        const until = (yield* Clock.currentTimeMillis) + patienceMillis
        for (;;) {
          const mine = yield* Scope.fork(scope)
          const main = yield* Scope.provide(connect, mine)
          const [row] = yield* main.query(attempt)
          if (row?.["ok"] === true) return main
          yield* Scope.close(mine, Exit.void)
          if ((yield* Clock.currentTimeMillis) > until) return yield* inProgress
          yield* Effect.sleep(pauseMillis)
        }
      },
      Effect.catchTag("QueryFailed", outageOrDie)
    )

    const turn = Effect.gen(function* () {
      yield* Effect.acquireRelease(aside.take(1), () => aside.release(1), { interruptible: true })
      const main = yield* locked(`select pg_try_advisory_lock(${branchesLock}) as ok`)

      const copy: BranchTurn["copy"] = Effect.fnUntraced(
        function* (database) {
          yield* checkRights(main)
          const plan = yield* planCopy(main)
          for (const [lock, busyWith] of copyLocks) {
            const [free] = yield* main.query(`select pg_try_advisory_lock(${lock}) as ok`)
            if (free?.["ok"] !== true) return yield* busy(busyWith, "Try again when that has ended")
          }
          yield* whenQuiet(main, endSessions)
          const scope = yield* Scope.Scope
          const mine = yield* Scope.fork(scope)
          const watch = yield* Scope.provide(connect, mine)
          yield* copyDatabase(main, watch, Scope.close(mine, Exit.void), database, {
            sessions,
            endSessions,
            timeout,
            plan
          })
          for (const [lock] of copyLocks) yield* main.query(`select pg_advisory_unlock(${lock})`)
          yield* main.query(closeMainSql)
          return undefined
        },
        Effect.scoped,
        Effect.catchTag("QueryFailed", explained)
      )
      const empty: BranchTurn["empty"] = Effect.fnUntraced(
        function* (database) {
          yield* checkRights(main)
          yield* createEmpty(main, database)
          yield* main.query(closeMainSql)
          return yield* holdBranch(address, database)
        },
        Effect.catchTag("QueryFailed", explained)
      )
      return { copy, empty } satisfies BranchTurn
    })

    /** Runs a dump: nobody copies the main database meanwhile, and its disk has room for it a second time. */
    const undisturbed = <A, E>(dump: Effect.Effect<A, E>) =>
      locked(`select pg_try_advisory_lock_shared(${backupsLock}) as ok`).pipe(
        Effect.flatMap(checkRoom),
        Effect.catchTag("Conflict", ({ error }) => Effect.fail(busy(error, "Try again when it is there"))),
        Effect.andThen(dump),
        Effect.scoped
      )

    yield* Effect.flatMap(connect, removeRemains).pipe(
      Effect.scoped,
      Effect.catchTag("QueryFailed", () => Effect.void),
      aside.withPermit,
      Effect.forkScoped
    )

    // Another replica makes a branch: we let go of the main database and come back when PostgreSQL lets us.
    const { messages } = yield* (yield* Listener).listen(pauseChannel)
    yield* messages.pipe(
      Stream.filter((message) => message._tag === "Notification"),
      Stream.runForEach(() =>
        sessions
          .without(Effect.scoped(connect))
          .pipe(
            Effect.catchCause((cause) =>
              Effect.logWarning("Could not let go of the database while it is copied", cause)
            )
          )
      ),
      Effect.forkScoped
    )

    yield* Effect.forkScoped(removeOldDumps(files, 2 * dumpTimeout))

    return BranchDatabases.of({
      turn,
      fillFromMain: (database) => fillByDump({ tools, files, main: address.database, undisturbed }, database),
      settle: (names, passwords) => settleBranch(address, serviceRole, names, passwords),
      drop: (names) =>
        Effect.flatMap(connect, (main) => dropBranch(main, address, names)).pipe(
          Effect.andThen(removeDump(files, names.database)),
          Effect.scoped,
          aside.withPermit,
          Effect.catchTag("QueryFailed", outageOrDie)
        ),
      server: serverOf(address)
    })
  })
).pipe(Layer.provide(MainSessions.layer))
