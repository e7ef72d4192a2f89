import { Clock, Effect } from "effect"
import { existsSync } from "node:fs"
import { chmod, mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import {
  type PostgresBinaries,
  postgresBinaries,
  postgresPackage,
  programCopies
} from "../postgres/embedded/Binaries.ts"
import { checkCluster, clusterLink, clusterMajor, findCluster, otherMajor } from "../postgres/embedded/Cluster.ts"
import { endLast } from "../postgres/embedded/Last.ts"
import { finishReplacement, replaceCluster } from "../postgres/embedded/Replacement.ts"
import { postgresUser } from "../postgres/embedded/User.ts"
import { DataDir } from "../process/DataDir.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { readStored } from "../process/StoredFile.ts"
import { refuseUnfinished } from "../process/UnfinishedImport.ts"
import { makeUpgraded } from "./Made.ts"
import { oldPrograms } from "./Programs.ts"

const failed = (message: string) => new StartError({ message })

/** Removes what an upgrade left that was killed. */
const clear = Effect.fnUntraced(function* (directory: string, binaries: PostgresBinaries) {
  const data = join(directory, "data")
  if (existsSync(data)) yield* endLast(data, binaries)
  yield* attempt(`Failed to remove ${directory}`, () => rm(directory, { recursive: true, force: true }))
})

const freeName = (cluster: string, from: string, date: string) => {
  const name = `${cluster}.${from}-${date}`
  for (let n = 1; ; n++) {
    const tried = n === 1 ? name : `${name}-${n}`
    if (!existsSync(tried)) return tried
  }
}

/** The archive of the old cluster, if it is in a directory, and the name by which it is kept. */
const archiveOf = Effect.fnUntraced(function* (identifier: string, from: string, date: string) {
  const { bucket, directory } = yield* RecoverySettings
  if (bucket !== undefined) {
    yield* Effect.logWarning(
      `The archive in the bucket ${bucket} (SVC_PITR_BUCKET) is that of the old cluster: set another bucket for the next one, and keep this one until it is not needed`
    )
    return undefined
  }
  const info = yield* readStored<{ readonly system_identifier?: string }>(join(directory, "archive.json"))
  return info?.system_identifier === identifier
    ? { place: directory, kept: freeName(directory, from, date) }
    : undefined
})

/**
 * Upgrades the embedded PostgreSQL of a data directory to the major version of this release: dumps the old cluster, loads it
 * into a new one, compares both, and then puts the new one in the place of the old one, which is kept. Until then
 * nothing changes for the service; if it is interrupted, it begins again. Gives false if the cluster is of that version.
 */
export const upgradeDatabase = Effect.fn("Upgrade")(function* (download: boolean) {
  const begun = yield* Clock.currentTimeMillis
  const dir = yield* DataDir
  yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => failed(message))
  yield* refuseUnfinished(dir.path)
  yield* finishReplacement(dir)
  const cluster = yield* findCluster(dir)
  if (cluster === undefined) return yield* failed(`${clusterLink(dir)} does not exist: there is nothing to upgrade`)
  if (process.platform === "win32") {
    return yield* failed(
      "An upgrade is not possible on Windows: export with the previous release, and import with this one (docs/moving.md)"
    )
  }
  const user = yield* postgresUser(clusterLink(dir), dir.owner)
  const copies = programCopies(dir, user)
  const binaries = yield* postgresBinaries(yield* postgresPackage, copies, user)
  const major = yield* clusterMajor(cluster)
  if (major === binaries.major) return undefined
  if (Number(major) > Number(binaries.major)) return yield* otherMajor(cluster, major, binaries.major)

  const programs = yield* oldPrograms(major, copies, user, download)
  yield* checkCluster(cluster, programs, user)
  yield* endLast(cluster, programs)
  yield* Effect.logInfo(`Upgrading ${cluster} from PostgreSQL ${major} to ${binaries.major}`)
  const directory = `${cluster}.upgrade`
  yield* clear(directory, binaries)
  yield* attempt(`Failed to create ${directory}`, async () => {
    await mkdir(directory, { mode: 0o700 })
    await chmod(directory, 0o700)
  })
  yield* Effect.addFinalizer(() => Effect.ignore(clear(directory, binaries), { log: "Error" }))
  const from = { cluster, major, binaries: programs }
  const { data, identifier } = yield* makeUpgraded(directory, from, binaries, user, copies)

  const date = new Date(yield* Clock.currentTimeMillis).toISOString().slice(0, 10)
  const kept = freeName(cluster, major, date)
  const archive = yield* archiveOf(identifier, major, date)
  yield* replaceCluster(dir, { cluster, kept, made: data, archive })
  const seconds = Math.ceil(((yield* Clock.currentTimeMillis) - begun) / 1000)
  if (archive !== undefined) {
    yield* Effect.logInfo(
      `The archive of the old cluster is in ${archive.kept}. The next start begins another one, which needs a recovery key of its own (docs/recovery.md)`
    )
  }
  return {
    text: `${cluster} is of PostgreSQL ${binaries.major} now (${seconds} s). The old data directory is in ${kept}: when you do not need it any more, remove it (rm -r '${kept}')`,
    result: { from: major, to: binaries.major, data_dir: cluster, old_data_dir: kept }
  }
}, Effect.scoped)
