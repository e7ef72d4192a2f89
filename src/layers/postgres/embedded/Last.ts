import { Effect } from "effect"
import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { type PostgresBinaries } from "./Binaries.ts"
import { endBackends, processKind, readPidFile, stopServer } from "./Process.ts"

/** Stops a server that is still running: this process has the lock on the data directory, so its owner was killed. */
export const endLast = Effect.fnUntraced(function* (cluster: string, binaries: PostgresBinaries) {
  const last = yield* readPidFile(cluster)
  if (last === undefined) return
  const kind = yield* processKind(last.pid, cluster)
  if (kind === "cluster") {
    yield* Effect.logWarning(`Stopping PostgreSQL (process ${last.pid}), which a killed process left running`)
    return yield* stopServer(last.pid, binaries)
  }
  // Another program has the pid now, which PostgreSQL would mistake for a running server. Its own check of the cluster's
  // shared memory is not affected.
  if (kind === "other") yield* Effect.promise(() => rm(join(cluster, "postmaster.pid"), { force: true }))
  yield* endBackends(cluster, binaries)
  yield* removeSockets(cluster)
})

/** A killed server leaves its socket's lock, which holds for the next one if another process has the pid in it by then. */
const removeSockets = (cluster: string) =>
  Effect.promise(async () => {
    for (const name of await readdir(cluster)) {
      if (name.startsWith(".s.PGSQL.")) await rm(join(cluster, name), { force: true })
    }
  })
