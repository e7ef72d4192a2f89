import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schedule } from "effect"
import { type BranchNames } from "../../domain/branches/Branch.ts"
import { unsubscribeSql } from "../../domain/branches/BranchSql.ts"
import { Unavailable } from "../../domain/errors.ts"
import { quoteName } from "../../domain/sql/Names.ts"
import { type DirectConnection, type QueryFailed, connectDirectly } from "../postgres/client/DirectConnection.ts"
import { type Login } from "../postgres/Login.ts"
import { isLocal, serverColumns } from "./FreeSpace.ts"

const inUse = (details: string) =>
  new Unavailable({
    error: "The branch is deleted, but its database can't be dropped yet; the service keeps retrying",
    code: "BRANCH_IN_USE",
    details
  })

const isInUse = ({ code }: QueryFailed) => code === "55006"

/** Ends what prevents DROP DATABASE in addition to sessions: logical decoding, subscriptions, prepared transactions. */
const releaseDatabase = Effect.fnUntraced(function* (main: DirectConnection, address: Login, database: string) {
  yield* main.query("select pg_terminate_backend(active_pid) from pg_replication_slots where database = $1", [database])
  const inside = yield* connectDirectly({ ...address, database })
  yield* inside.query(unsubscribeSql)
  const prepared = yield* inside.query(
    "select quote_literal(gid) as gid, quote_ident(owner) as owner from pg_prepared_xacts where database = current_database()"
  )
  for (const { gid, owner } of prepared) {
    // Only the role that prepared a transaction, and its members, may end it.
    yield* inside.query(`set role ${owner}`)
    yield* inside.query(`rollback prepared ${gid}`)
    yield* inside.query("reset role")
  }
}, Effect.scoped)

/** Drops a branch's database, terminating its sessions, and its roles, as far as they exist. */
export const dropBranch = Effect.fnUntraced(function* (main: DirectConnection, address: Login, names: BranchNames) {
  const drop = main.query(`drop database if exists ${quoteName(names.database)} with (force)`)
  yield* drop.pipe(
    Effect.catchIf(isInUse, () => Effect.andThen(Effect.ignore(releaseDatabase(main, address, names.database)), drop)),
    Effect.catchIf(isInUse, ({ message }) => Effect.fail(inUse(message)))
  )
  for (const role of [names.keysLogin, names.rowsLogin, names.role]) {
    yield* main.query(`drop role if exists ${quoteName(role)}`).pipe(
      // Another replica drops it at the same time.
      Effect.retry({ while: ({ code }) => code === "XX000", times: 3, schedule: Schedule.spaced("100 millis") }),
      Effect.catchIf(
        // The role was granted rights elsewhere: it stays, but can't log in.
        ({ code }) => code === "2BP01",
        () =>
          Effect.andThen(
            main.query(`alter role ${quoteName(role)} nologin`),
            Effect.logWarning(
              `Kept the role ${role} of a dropped branch without login: it has rights in other databases`
            )
          )
      )
    )
  }
})

/** Data directory of the embedded server; undefined for other servers. */
const ownDirectory = Effect.fnUntraced(function* (main: DirectConnection) {
  // The embedded server's login is a superuser. Others may not read the path.
  const [row] = yield* main.query(
    `select case when current_setting('cluster_name') = 'svc' and rolsuper then current_setting('data_directory') end as directory,
            ${serverColumns}
     from pg_roles where rolname = current_user`
  )
  if (typeof row?.["directory"] !== "string") return undefined
  const directory = row["directory"]
  return (yield* isLocal(directory, row)) ? { directory, started: Number(row["started"]) } : undefined
})

/**
 * Removes the files of databases that were being created when the embedded server was killed; PostgreSQL does not remove
 * them. A directory that was last changed before the server started belongs to a database in the catalogue, or to none.
 */
export const removeLeftovers = Effect.fnUntraced(
  function* (main: DirectConnection) {
    const server = yield* ownDirectory(main)
    if (server === undefined) return
    const base = join(server.directory, "base")
    const old: Array<string> = []
    for (const name of yield* Effect.promise(() => readdir(base))) {
      // Smaller OIDs belong to databases of initdb.
      if (!/^\d+$/.test(name) || Number(name) < 16_384) continue
      const { mtimeMs } = yield* Effect.promise(() => stat(join(base, name)))
      if (mtimeMs < (server.started - 1) * 1000) old.push(name)
    }
    if (old.length === 0) return
    // Read last: a database that was created in the meantime has none of the directories found before.
    const existing = new Set((yield* main.query("select oid::text as oid from pg_database")).map(({ oid }) => oid))
    for (const name of old) {
      if (existing.has(name)) continue
      yield* Effect.promise(() => rm(join(base, name), { recursive: true, force: true }))
      yield* Effect.logInfo(`Removed leftovers of an incomplete database in ${join(base, name)}`)
    }
  },
  (removal) =>
    Effect.catchCause(removal, (cause) =>
      Effect.logWarning("Failed to remove leftovers of incomplete databases", cause)
    )
)
