import { Effect, Schedule } from "effect"
import { type BranchNames } from "../../domain/branches/Branch.ts"
import { unsubscribeSql } from "../../domain/branches/BranchSql.ts"
import { Unavailable } from "../../domain/errors.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { type Login } from "../postgres/Login.ts"
import { connectDirectly, type QueryFailed, type DirectConnection } from "../postgres/DirectConnection.ts"

const inUse = (details: string) =>
  new Unavailable({
    error: "The branch is gone, but its database can't be dropped yet; it is tried again",
    code: "BRANCH_IN_USE",
    details
  })

const isInUse = ({ code }: QueryFailed) => code === "55006"

/** Ends what keeps a database from being dropped beside sessions: readers of its changes, subscriptions, prepared transactions. */
const vacate = Effect.fnUntraced(function* (main: DirectConnection, address: Login, database: string) {
  yield* main.query("select pg_terminate_backend(active_pid) from pg_replication_slots where database = $1", [database])
  const inside = yield* connectDirectly({ ...address, database }, { search_path: "pg_catalog" })
  yield* inside.query(unsubscribeSql)
  const prepared = yield* inside.query(
    "select quote_literal(gid) as gid, quote_ident(owner) as owner from pg_prepared_xacts where database = current_database()"
  )
  for (const { gid, owner } of prepared) {
    // Who prepared it may end it, and who may be that role.
    yield* inside.query(`set role ${owner}`)
    yield* inside.query(`rollback prepared ${gid}`)
    yield* inside.query("reset role")
  }
}, Effect.scoped)

/** Drops a branch's database, whoever is in it, and its roles, as far as they are there. */
export const dropBranch = Effect.fnUntraced(function* (main: DirectConnection, address: Login, names: BranchNames) {
  const drop = main.query(`drop database if exists ${quoteName(names.database)} with (force)`)
  yield* drop.pipe(
    Effect.catchIf(isInUse, () => Effect.andThen(Effect.ignore(vacate(main, address, names.database)), drop)),
    Effect.catchIf(isInUse, ({ message }) => Effect.fail(inUse(message)))
  )
  for (const role of [names.keysLogin, names.rowsLogin, names.role]) {
    yield* main.query(`drop role if exists ${quoteName(role)}`).pipe(
      // Another replica is at it too.
      Effect.retry({ while: ({ code }) => code === "XX000", times: 3, schedule: Schedule.spaced("100 millis") }),
      Effect.catchIf(
        // Somebody gave it rights elsewhere: it stays, but opens nothing any more.
        ({ code }) => code === "2BP01",
        () =>
          Effect.andThen(
            main.query(`alter role ${quoteName(role)} nologin`),
            Effect.logWarning(
              `Role ${role} of a dropped branch has rights in other databases and is left, without login`
            )
          )
      )
    )
  }
})
