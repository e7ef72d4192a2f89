import { Console, Effect, Layer, Option, Redacted } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline/promises"
import { secret, text } from "../../domain/Settings.ts"
import { installationFile } from "../../domain/recovery/Archive.ts"
import { parseRecoveryKey } from "../../domain/recovery/RecoveryKey.ts"
import { recoveryWindows, spans, windowFor } from "../../domain/recovery/Windows.ts"
import { isTimestamp } from "../../domain/text/IsoTime.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { ObjectStore } from "../../services/ports/ObjectStore.ts"
import { RecoverySettings } from "../../services/recovery/Settings.ts"
import { CommandFailed, printResult } from "../process/Output.ts"
import { clusterLink, placeCluster } from "../postgres/embedded/Cluster.ts"
import { postgresUser } from "../postgres/embedded/User.ts"
import { inMib, requireSpace } from "../process/FreeSpace.ts"
import { DataDir } from "../process/DataDir.ts"
import { StartError } from "../process/StartError.ts"
import { recoverCluster } from "../recovery/cluster/Cluster.ts"
import { findServerProgram } from "../recovery/cluster/Programs.ts"
import { findObjects, recoverObjects } from "../recovery/objects/Recover.ts"
import { openArchive, recoveryEncryptionKey } from "../recovery/store/Archive.ts"
import { bucketStore } from "../recovery/store/Bucket.ts"
import { directoryStore } from "../recovery/store/Directory.ts"
import { writeInstallation } from "../recovery/store/Installation.ts"
import { type ArchiveTrouble } from "../recovery/store/Store.ts"
import { layerExternalS3 } from "../storage/Address.ts"
import { layerObjectStore } from "../storage/client/ObjectStore.ts"

const refused = (message: string) => new StartError({ message })
const iso = (millis: number) => new Date(millis).toISOString()

const askKey = Effect.gen(function* () {
  const given = yield* secret("SVC_RECOVERY_KEY")
  if (given !== undefined) return Redacted.value(given)
  if (process.stdin.isTTY !== true)
    return yield* refused("SVC_RECOVERY_KEY is not set, and there is no terminal to ask for it")
  return yield* Effect.promise(async () => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    return await terminal.question("Recovery key: ").finally(() => terminal.close())
  })
})

const storeOf = Effect.gen(function* () {
  const { bucket, directory } = yield* RecoverySettings
  if (bucket === undefined) return directoryStore(directory)
  if ((yield* text("S3_ENDPOINT", undefined)) === undefined) {
    return yield* refused(
      "SVC_PITR_BUCKET requires S3_ENDPOINT: the embedded object store was a part of the lost installation"
    )
  }
  return bucketStore(
    yield* ObjectStore.pipe(Effect.provide(layerObjectStore.pipe(Layer.provide(layerExternalS3)))),
    bucket
  )
})

/** Bytes for the log that PostgreSQL writes while it replays that of the archive. */
const reserve = 256 * 1024 * 1024

/** Unchanged objects are noted in the archive once a minute. */
const objectsLate = 90_000

const inWords = ({ reason }: ArchiveTrouble) => refused(reason)

/** `wanted`: a time in ms since 1970; undefined: the latest. */
const recover = Effect.fnUntraced(
  function* (wanted: number | undefined) {
    const dir = yield* DataDir
    yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => refused(message))
    for (const path of [clusterLink(dir), join(dir.path, "objects"), join(dir.path, "secrets.json")]) {
      if (existsSync(path))
        return yield* refused(`${path} exists: an installation is only recovered into an empty SVC_DATA_DIR`)
    }
    const store = yield* storeOf
    const key = parseRecoveryKey(yield* askKey)
    if (key === undefined)
      return yield* refused(
        "The text is no recovery key, or has a typing error: it has 56 characters in groups of four"
      )
    const archive = yield* openArchive(store, { kind: "recovery", key: recoveryEncryptionKey(key) })
    if (archive === undefined) return yield* refused(`There is no archive in ${store.place}`)

    const windows = recoveryWindows(yield* archive.bases, yield* archive.log)
    const all = spans(windows)
    const target = wanted ?? all.at(-1)?.to ?? 0
    const window = windowFor(windows, target)
    if (window === undefined) {
      return yield* refused(
        all.length === 0
          ? `The archive in ${store.place} has no complete base backup`
          : `The archive in ${store.place} does not have ${iso(target)}. It has: ${all.map(({ from, to }) => `${iso(from)} to ${iso(to)}`).join(", ")}`
      )
    }
    const user = yield* postgresUser(clusterLink(dir), dir.owner)
    const { programs } = yield* BackupSettings
    const program = yield* findServerProgram(window.base.server_version, programs, dir.path, user)
    if (program === undefined) {
      return yield* refused(
        `No server program of PostgreSQL ${archive.info.major} was found: install that version's server package, or set PG_BIN_DIR`
      )
    }
    const needed = window.base.bytes + reserve
    yield* requireSpace("The recovery", dir.path, needed, "Nothing was recovered")
    yield* Console.error(
      `Recovering ${iso(target)} from base backup ${window.base.id} (${inMib(window.base.bytes)}) in ${store.place}`
    )
    let shown = 0
    const report = (fraction: number) => {
      const percent = Math.floor(fraction * 10) * 10
      if (percent <= shown) return
      shown = percent
      process.stderr.write(`${percent} %\n`)
    }
    const installation = yield* archive.get(installationFile)
    const objects = yield* findObjects(archive, target)
    let placeObjects: Effect.Effect<void, StartError> = Effect.void
    if (objects.state === undefined) {
      const since = Number.isFinite(objects.earliest) ? `only of ${iso(objects.earliest)} and later` : "none"
      yield* Console.error(`Objects are not recovered: the archive has ${since}`)
    } else {
      let bytes = 0
      placeObjects = yield* recoverObjects(
        archive,
        objects.state,
        target,
        objects.sequence,
        dir,
        needed,
        (done) => (bytes = done)
      )
      const late = objects.state.until < target - objectsLate
      yield* Console.error(
        `The objects are recovered (${inMib(bytes)})${late ? `, as of ${iso(objects.state.until)}: later changes are not in the archive` : ""}`
      )
    }
    yield* placeCluster(dir, user, (directory) =>
      recoverCluster(archive, window, target, { program, user, directory, kept: true }, report).pipe(
        Effect.flatMap(({ stop }) => stop),
        Effect.scoped
      )
    )
    yield* placeObjects
    // Last: a data directory without secrets is not taken for an installation.
    yield* writeInstallation(dir, installation.toString("utf8"))
    return yield* printResult(`${dir.path} is the installation as of ${iso(target)}: start it`, {
      data_dir: dir.path,
      at: iso(target)
    })
  },
  Effect.catchTag("ArchiveTrouble", inWords)
)

/** `svc recover`: a new installation from the archive of a lost one. */
export const recoverInstallation = Effect.fnUntraced(
  function* ({ at }: { readonly at: Option.Option<string> }) {
    if (Option.isNone(at)) return yield* recover(undefined)
    if (isTimestamp(at.value)) return yield* recover(Date.parse(at.value.toUpperCase()))
    return yield* new CommandFailed({
      message: `--at must be an ISO 8601 time with a time zone, such as 2026-11-21T12:00:00Z, but it is "${at.value}"`,
      code: 2
    })
  },
  Effect.scoped,
  Effect.provide(Layer.mergeAll(DataDir.layer, RecoverySettings.layer, BackupSettings.layer))
)
