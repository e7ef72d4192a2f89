import { Effect, RcMap, Stream } from "effect"
import { type BranchPlace, type Database, type Db } from "../services/Db.ts"
import { makeListener } from "./ListenerPostgres.ts"
import { type Login } from "./Login.ts"
import { makeRowPath } from "./PostgresDatabase.ts"
import { makeSqlSessions } from "./SqlSessions.ts"

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

/** Connections to branches: the same ways in as the main database has, and an ear for DDL, as long as one is in use. */
export const makeBranchPools = Effect.fnUntraced(function* (
  address: Login,
  { poolSize, sqlTimeout, timeout }: BranchPoolsOptions
) {
  const known = new Map<string, { readonly place: BranchPlace; readonly database: Database }>()
  const heard = new Map<string, Heard>()

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
    const ear = yield* service.listen("svc_ddl")
    const state: Heard = { hearing: false, changes: 0 }
    yield* Effect.acquireRelease(
      Effect.sync(() => void heard.set(name, state)),
      () => Effect.sync(() => void heard.delete(name))
    )
    yield* ear.heard.pipe(
      Stream.runForEach((message) =>
        Effect.sync(() => {
          if (message._tag !== "Notification") state.hearing = message._tag === "Connected"
          state.changes++
        })
      ),
      Effect.forkScoped
    )
    return { run: rows.run, session }
  })
  const pools = yield* RcMap.make({ lookup: open, idleTimeToLive: "1 minute" })

  const databaseOf = (place: BranchPlace): Database => {
    const name = place.database
    const pool = RcMap.get(pools, name)
    return {
      name,
      run: (actor, statement) => Effect.scoped(Effect.flatMap(pool, ({ run }) => run(actor, statement))),
      session: (actor) => Effect.flatMap(pool, ({ session }) => session(actor)),
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
