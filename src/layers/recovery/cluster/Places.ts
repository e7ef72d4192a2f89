import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { chown, mkdir, readdir, realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { type DataDir, isAlive } from "../../process/DataDir.ts"
import { systemDirectory } from "../../postgres/embedded/Binaries.ts"
import { processKind, readPidFile } from "../../postgres/embedded/Process.ts"
import { canEnter, type PostgresUser } from "../../postgres/embedded/User.ts"

const namePattern = /^(\d+)-[0-9a-f]{8}$/

const removed = (path: string) => Effect.promise(() => rm(path, { recursive: true, force: true }))

/** Where temporary clusters are: in the data directory, or where PostgreSQL's user can enter. */
const parentOf = Effect.fnUntraced(function* (dir: DataDir["Service"], user: PostgresUser) {
  const reachable = user === undefined || (yield* canEnter(user, dir.path))
  const parent = join(reachable ? dir.path : systemDirectory, "recovery")
  yield* Effect.promise(() => mkdir(parent, { recursive: true, mode: user === undefined ? 0o700 : 0o711 }))
  return parent
})

/** Ends the server of a temporary cluster, and removes the cluster. */
const discard = Effect.fnUntraced(function* (path: string) {
  const data = yield* Effect.promise(() => realpath(join(path, "data")).catch(() => join(path, "data")))
  const server = yield* readPidFile(data)
  if (server !== undefined && (yield* processKind(server.pid, data)) === "cluster") {
    yield* Effect.ignore(Effect.try(() => process.kill(server.pid, "SIGKILL")))
    yield* Effect.sleep("200 millis")
  }
  yield* removed(path)
})

/** Removes temporary clusters of processes that have ended; those of this process's id are of an earlier one. */
const sweep = (parent: string) =>
  Effect.gen(function* () {
    for (const name of yield* Effect.promise(() => readdir(parent))) {
      const pid = Number(namePattern.exec(name)?.[1])
      if (pid === process.pid || (Number.isInteger(pid) && !isAlive(pid))) yield* discard(join(parent, name))
    }
  })

/** Whether there was a temporary cluster before. */
export const hasClusterPlaces = (dir: DataDir["Service"]) =>
  [dir.path, systemDirectory].some((path) => existsSync(join(path, "recovery")))

/** A directory for temporary clusters, without those that killed processes left. Each place is removed with its scope. */
export const makeClusterPlaces = Effect.fnUntraced(function* (dir: DataDir["Service"], user: PostgresUser) {
  const parent = yield* parentOf(dir, user)
  yield* sweep(parent)
  const place = Effect.acquireRelease(
    Effect.promise(async () => {
      const path = join(parent, `${process.pid}-${randomBytes(4).toString("hex")}`)
      await mkdir(path, { mode: 0o700 })
      if (user !== undefined) await chown(path, user.uid, user.gid)
      return path
    }),
    removed
  )
  return { parent, place }
})

export type ClusterPlaces = Effect.Success<ReturnType<typeof makeClusterPlaces>>
