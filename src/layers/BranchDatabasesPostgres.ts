import { Clock, Effect, Exit, Layer, Scope, Semaphore, Stream } from "effect"
import { branchesLock, migrationsLock } from "../domain/AdvisoryLocks.ts"
import { Conflict } from "../domain/errors.ts"
import { text } from "../domain/Settings.ts"
import { BranchDatabases, type BranchTurn } from "../services/BranchDatabases.ts"
import { BranchSettings } from "../services/BranchSettings.ts"
import { Db } from "../services/Db.ts"
import { Listener } from "../services/Listener.ts"
import { copyDatabase, pauseChannel } from "./BranchCopy.ts"
import { dropBranch, explained, settleBranch } from "./BranchSettling.ts"
import { removeRemains } from "./BranchRemains.ts"
import { busy, checkRights, planCopy, whenQuiet } from "./BranchSource.ts"
import { type Login } from "./Login.ts"
import { MainSessions } from "./MainSessions.ts"
import { PostgresAddress } from "./PostgresAddress.ts"
import { asOutage, connectAside } from "./SideConnection.ts"

/** How long to wait for branches that others make, and how often to look, in ms. */
const patienceMillis = 60_000
const pauseMillis = 250

const inProgress = new Conflict({
  error: "Another branch is being made",
  code: "BRANCH_IN_PROGRESS",
  hint: "Try again when it is there"
})

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
    const serviceRole = yield* text("SVC_SERVICE_ROLE", "postgres")
    /** While one makes a branch, nobody else of this process is in the main database beside the pools. */
    const aside = yield* Semaphore.make(1)
    /** Connections wait for as long as a copy takes. */
    const connect = connectAside(address, {}, timeout + 10_000)

    /** The connection that has the lock; one that has not does not stay, because nobody can be in the source. */
    const locked = Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const until = (yield* Clock.currentTimeMillis) + patienceMillis
      for (;;) {
        const mine = yield* Scope.fork(scope)
        const main = yield* Scope.provide(connect, mine)
        const [row] = yield* main.query(`select pg_try_advisory_lock(${branchesLock}) as ok`)
        if (row?.["ok"] === true) return main
        yield* Scope.close(mine, Exit.void)
        if ((yield* Clock.currentTimeMillis) > until) return yield* inProgress
        yield* Effect.sleep(pauseMillis)
      }
    }).pipe(Effect.catchTag("Refused", asOutage))

    const turn = Effect.gen(function* () {
      yield* Effect.acquireRelease(aside.take(1), () => aside.release(1), { interruptible: true })
      const main = yield* locked

      const copy: BranchTurn["copy"] = Effect.fnUntraced(
        function* (database) {
          yield* checkRights(main)
          const plan = yield* planCopy(main)
          const [free] = yield* main.query(`select pg_try_advisory_lock(${migrationsLock}) as ok`)
          if (free?.["ok"] !== true) return yield* busy("Migrations are being run", "Try again when they have ended")
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
          yield* main.query(`select pg_advisory_unlock(${migrationsLock})`)
          return undefined
        },
        Effect.scoped,
        Effect.catchTag("Refused", explained)
      )
      return {
        copy,
        settle: (names, passwords) => settleBranch(main, address, serviceRole, names, passwords)
      } satisfies BranchTurn
    })

    yield* Effect.flatMap(connect, removeRemains).pipe(
      Effect.scoped,
      Effect.catchTag("Refused", () => Effect.void),
      aside.withPermit,
      Effect.forkScoped
    )

    // Another replica makes a branch: we let go of the main database and come back when PostgreSQL lets us.
    const { heard } = yield* (yield* Listener).listen(pauseChannel)
    yield* heard.pipe(
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

    return BranchDatabases.of({
      turn,
      drop: (names) =>
        Effect.flatMap(connect, (main) => dropBranch(main, names)).pipe(
          Effect.scoped,
          aside.withPermit,
          Effect.catchTag("Refused", asOutage)
        ),
      server: serverOf(address)
    })
  })
).pipe(Layer.provide(MainSessions.layer))
