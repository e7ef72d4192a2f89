import { Effect, RcMap, Stream } from "effect"
import { type BranchPlace, type Database, type Db } from "../../services/ports/Db.ts"
import { makeListener } from "./Listener.ts"
import { type Login } from "./Login.ts"
import { makeRowPath } from "./rows/RowPath.ts"
import { makeSqlSessions } from "./sql/Sessions.ts"

interface BranchPoolsOptions {
  /** Connections of each kind in one branch. */
  readonly poolSize: number
  /** Statement timeouts in ms: of rows and calls, of any SQL. */
  readonly timeout: number
  readonly sqlTimeout: number
}

/** What is known of DDL in a branch while it is in use. */
interface Heard {
  hearing: boolean
  changes: number
}

/** A branch that connections can be had of. */
interface Opened extends Pick<Database, "run" | "session"> {
  /** Whether anybody asked for one since it was last looked. */
  used: boolean
}

/** How often it is looked which branches are in use, and for how long they stay open after that, in ms. */
const lookMillis = 30_000
const idleMillis = 60_000

/** Connections to branches: the same ways in as the main database has, and an ear for DDL, as long as one is in use. */
export const makeBranchPools = Effect.fnUntraced(function* (
  address: Login,
  { poolSize, sqlTimeout, timeout }: BranchPoolsOptions
) {
  const known = new Map<string, { readonly place: BranchPlace; readonly database: Database }>()
  const heard = new Map<string, Heard>()
  /**
   * Requests take what is here as it is: to count them in and out of `pools` costs each a tenth of the whole. What is
   * not used any more stays for longer than a statement may take.
   */
  const opened = new Map<string, Opened>()

  const open = Effect.fnUntraced(function* (name: string) {
    const { place } = known.get(name) as { readonly place: BranchPlace }
    const login = (user: string): Login => ({ ...address, database: name, user, password: place.password })
    const rows = makeRowPath({
      authenticator: login(place.rowsLogin),
      owner: login(place.keysLogin),
      serviceRole: place.role,
      poolSize,
      timeout
    })
    yield* Effect.addFinalizer(() => rows.close)
    const session = yield* makeSqlSessions(login(place.keysLogin), { role: place.role, poolSize, sqlTimeout })
    const { service } = yield* makeListener(login(place.rowsLogin))
    const { messages } = yield* service.listen("svc_ddl")
    const state: Heard = { hearing: false, changes: 0 }
    yield* Effect.acquireRelease(
      Effect.sync(() => void heard.set(name, state)),
      () => Effect.sync(() => void heard.delete(name))
    )
    yield* messages.pipe(
      Stream.runForEach((message) =>
        Effect.sync(() => {
          if (message._tag !== "Notification") state.hearing = message._tag === "Connected"
          state.changes++
        })
      ),
      Effect.forkScoped
    )
    const made: Opened = { run: rows.run, session, used: false }
    yield* Effect.acquireRelease(
      Effect.sync(() => void opened.set(name, made)),
      () => Effect.sync(() => void opened.delete(name))
    )
    yield* Effect.suspend(() => {
      const { used } = made
      made.used = false
      return used ? RcMap.touch(pools, name) : Effect.void
    }).pipe(Effect.delay(lookMillis), Effect.forever, Effect.forkScoped)
    return made
  })
  const pools: RcMap.RcMap<string, Opened> = yield* RcMap.make({
    lookup: open,
    idleTimeToLive: lookMillis + Math.max(idleMillis, timeout + 10_000)
  })

  const databaseOf = (place: BranchPlace): Database => {
    const name = place.database
    const pool = RcMap.get(pools, name)
    const openNow = () => {
      const found = opened.get(name)
      if (found !== undefined) found.used = true
      return found
    }
    return {
      name,
      run: (actor, statement) => {
        const now = openNow()
        return now === undefined
          ? Effect.scoped(Effect.flatMap(pool, ({ run }) => run(actor, statement)))
          : now.run(actor, statement)
      },
      session: (actor) => openNow()?.session(actor) ?? Effect.flatMap(pool, ({ session }) => session(actor)),
      ddlHeard: () => {
        const state = heard.get(name)
        return state?.hearing === true ? state.changes : undefined
      }
    }
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
