import { Effect } from "effect"
import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { type DirectConnection } from "../postgres/DirectConnection.ts"
import { isLocal, serverColumns } from "./LocalServer.ts"

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
    const own = yield* ownDirectory(main)
    if (own === undefined) return
    const base = join(own.directory, "base")
    const old: Array<string> = []
    for (const name of yield* Effect.promise(() => readdir(base))) {
      // Smaller OIDs belong to databases of initdb.
      if (!/^\d+$/.test(name) || Number(name) < 16_384) continue
      const { mtimeMs } = yield* Effect.promise(() => stat(join(base, name)))
      if (mtimeMs < (own.started - 1) * 1000) old.push(name)
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
