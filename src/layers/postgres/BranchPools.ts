import { Effect, FiberSet, RcMap } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { watchChannel } from "../../services/NotifiedCache.ts"
import { type Meters } from "../../services/metrics/Meters.ts"
import { type BranchPlace, type Database, type Db } from "../../services/ports/Db.ts"
import { ConnectionBudget } from "./ConnectionBudget.ts"
import { makeListener } from "./Listener.ts"
import { type Login } from "./Login.ts"
import { samplesOfPool } from "../../domain/metrics/Sample.ts"
import { makeRowPath, type RowPathOptions } from "./rows/RowPath.ts"
import { type AssistantLogin } from "../install/Roles.ts"
import { makeAssistant, makeSqlSessions } from "./sql/Sessions.ts"

/** Connections of assistants to one branch. */
const assistantPoolSize = 2

interface BranchPoolsOptions extends Pick<RowPathOptions, "searchPath" | "maxPublicAnswer" | "memory"> {
  readonly meters: Meters
  readonly assistant: AssistantLogin | undefined
  /** Connections of each kind in one branch. */
  readonly poolSize: number
  /** Connections to all branches together. */
  readonly maxConnections: number
  /** Statement timeouts in ms: of rows and calls, of any SQL. */
  readonly timeout: number
  readonly sqlTimeout: number
}

/** An open branch. */
interface Opened extends Required<Pick<Database, "run" | "session" | "ddlGeneration">> {
  readonly assistant: Database["session"] | undefined
  /** Whether a request used it since the last check. */
  used: boolean
}

/** How often use is checked, and how long an unused branch stays open after that, in ms. */
const checkMillis = 30_000
const idleMillis = 60_000

/** Connections to branches: row path, SQL sessions and DDL notifications, as for the main database, while in use. */
export const makeBranchPools = Effect.fnUntraced(function* (
  address: Login,
  { assistant, maxConnections, poolSize, sqlTimeout, timeout, ...answers }: BranchPoolsOptions
) {
  const known = new Map<string, { readonly place: BranchPlace; readonly database: Database }>()
  /**
   * Requests use an open pool without a reference of their own: counting them in and out of `pools` would cost 10 % of
   * a request. An unused branch stays open for longer than a statement may take.
   */
  const opened = new Map<string, Opened>()
  const budget = new ConnectionBudget(maxConnections)

  const run = yield* FiberSet.makeRuntime()

  const open = Effect.fnUntraced(function* (name: string) {
    const place = known.get(name)?.place
    if (place === undefined) return yield* new Unavailable({ error: "The branch was closed; retry shortly" })
    const login = (user: string): Login => ({ ...address, database: name, user, password: place.password })
    const rows = makeRowPath({
      authenticator: login(place.rowsLogin),
      owner: login(place.keysLogin),
      serviceRole: place.role,
      poolSize,
      timeout,
      budget,
      ...answers
    })
    yield* Effect.addFinalizer(() => rows.close)
    const session = yield* makeSqlSessions(login(place.keysLogin), { role: place.role, poolSize, sqlTimeout, budget })
    const reading =
      assistant === undefined || "remedy" in assistant
        ? undefined
        : yield* makeAssistant({ ...address, ...assistant, database: name }, { poolSize: assistantPoolSize, budget })
    yield* answers.meters.sample(() => [
      ...rows.samples("branch"),
      ...samplesOfPool("branch", "service_role", "sql", session.use())
    ])
    // A branch of which only the listener is left makes room for others.
    const listening = budget.share(() => {
      const unused = rows.isUnused() && session.isUnused() && reading?.session.isUnused() !== false
      if (unused) run(RcMap.invalidate(pools, name))
      return unused
    })
    yield* Effect.acquireRelease(budget.take(listening), () =>
      Effect.sync(() => {
        budget.release(listening)
        listening.leave()
      })
    )
    const { service } = yield* makeListener(login(place.rowsLogin))
    const ddlGeneration = yield* watchChannel(service, "svc_ddl")
    const branch: Opened = { run: rows.run, session, assistant: reading?.session, ddlGeneration, used: false }
    yield* Effect.acquireRelease(
      Effect.sync(() => void opened.set(name, branch)),
      () => Effect.sync(() => void opened.delete(name))
    )
    yield* Effect.suspend(() => {
      const { used } = branch
      branch.used = false
      return used ? RcMap.touch(pools, name) : Effect.void
    }).pipe(Effect.delay(checkMillis), Effect.forever, Effect.forkScoped)
    return branch
  })
  const pools: RcMap.RcMap<string, Opened, Unavailable> = yield* RcMap.make({
    lookup: open,
    idleTimeToLive: checkMillis + Math.max(idleMillis, timeout + 10_000)
  })

  const databaseOf = (place: BranchPlace): Database => {
    const name = place.database
    const pool = Effect.suspend(() => {
      // It may have been closed between a request's look-up of the branch and its first statement.
      known.set(name, known.get(name) ?? { place, database })
      return RcMap.get(pools, name)
    }).pipe(
      // A failure would be kept for as long as an idle branch.
      Effect.tapError(() => {
        known.delete(name)
        return RcMap.invalidate(pools, name)
      })
    )
    const openNow = () => {
      const found = opened.get(name)
      if (found !== undefined) found.used = true
      return found
    }
    const database: Database = {
      name,
      run: (actor, statement) => {
        const now = openNow()
        return now === undefined
          ? Effect.scoped(Effect.flatMap(pool, ({ run }) => run(actor, statement)))
          : now.run(actor, statement)
      },
      session: (actor) => openNow()?.session(actor) ?? Effect.flatMap(pool, ({ session }) => session(actor)),
      ddlGeneration: () => opened.get(name)?.ddlGeneration(),
      assistant:
        assistant === undefined || "remedy" in assistant
          ? assistant
          : {
              role: assistant.user,
              session: (actor) =>
                Effect.flatMap(pool, ({ assistant }) => assistant?.(actor) ?? Effect.die("unreachable"))
            }
    }
    return database
  }

  return {
    branch: (place) => {
      const before = known.get(place.database)
      if (before !== undefined) return before.database
      const database = databaseOf(place)
      known.set(place.database, { place, database })
      return database
    },
    leave: (name) =>
      Effect.suspend(() => {
        known.delete(name)
        return RcMap.invalidate(pools, name)
      })
  } satisfies Omit<Db["Service"], "main">
})
