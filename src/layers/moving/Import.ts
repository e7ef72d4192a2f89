import { Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { type MovedInstallation, type MovingManifest } from "../../domain/moving/Archive.ts"
import { secret, text } from "../../domain/Settings.ts"
import { migrations } from "../install/OwnMigrations.ts"
import { layerExternal, PostgresAddress } from "../postgres/Address.ts"
import { connectDirectly, type DirectConnection } from "../postgres/client/DirectConnection.ts"
import { DataDir } from "../process/DataDir.ts"
import { hasData } from "../process/DataParts.ts"
import { attempt, StartError } from "../process/StartError.ts"
import { writeStored, writeStoredText } from "../process/StoredFile.ts"
import { layerExternalS3 } from "../storage/Address.ts"
import { makeS3, type S3 } from "../storage/client/Client.ts"
import { databaseContent, isLoaded, loadDatabase } from "./Database.ts"
import { layerMovable } from "./Environment.ts"
import { atATime, smallObject, usedBuckets } from "./Objects.ts"
import { restoreBucket, restoreObject } from "./RestoredObjects.ts"
import { ArchiveRefused } from "./Key.ts"
import { partsOf, type ReadPart } from "./Parts.ts"
import { type ArchivePlace } from "./Place.ts"
import { endUnfinished, readUnfinished, writeUnfinished } from "../process/UnfinishedImport.ts"

interface Verified {
  readonly installation: MovedInstallation
  readonly buckets: ReadonlySet<string>
  readonly files: ReadonlyMap<string, Buffer>
  readonly manifest: MovingManifest
}

const whole = async (body: ReadPart["body"]) => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Reads all of the archive, and fails unless it is complete and this release can import it. */
const verify = async (place: ArchivePlace, passphrase: Redacted.Redacted): Promise<Verified> => {
  const parts = partsOf(Redacted.value(passphrase), place.read())
  let installation: MovedInstallation | undefined
  let database = 0
  const buckets = new Set<string>()
  const files = new Map<string, Buffer>()
  for (let next = await parts.next(); ; next = await parts.next()) {
    if (next.done === true) {
      if (installation === undefined || database !== 1) throw new ArchiveRefused("The archive has no installation")
      return { installation, buckets, files, manifest: next.value }
    }
    const { body, head } = next.value
    if (head.part === "installation") installation = head
    else if (head.part === "file") files.set(head.name, await whole(body))
    else if (head.part === "bucket") buckets.add(head.name)
    else if (head.part === "database") database++
    const known = Object.keys(migrations).map((name) => Number.parseInt(name, 10))
    if (installation?.migration != null && !known.includes(installation.migration)) {
      throw new ArchiveRefused(
        `The archive is from version ${installation.version}, which is newer than this release: import it with that version or a newer one`
      )
    }
  }
}

const notEmpty = (what: string) =>
  new StartError({
    message: `${what}: an import needs an empty data directory (SVC_DATA_DIR), an empty database and no objects in the buckets of the archive. Nothing was changed`
  })

/** Fails if a server is older than the one that was exported, whose dump it may not understand. */
const checkServer = Effect.fnUntraced(function* (connection: DirectConnection, { server_version }: MovedInstallation) {
  const [row] = yield* connection.query("select current_setting('server_version') as version")
  const found = String(row?.["version"])
  if (Number.parseInt(found, 10) >= Number.parseInt(server_version, 10)) return
  return yield* new StartError({
    message: `The archive is of PostgreSQL ${server_version}, and the target is ${found}: use PostgreSQL ${Number.parseInt(server_version, 10)} or newer. Nothing was changed`
  })
})

/** Fails if the target has anything that an import could mix with or replace. */
const checkTarget = Effect.fnUntraced(function* (
  dir: DataDir["Service"],
  { buckets, installation }: Pick<Verified, "buckets" | "installation">
) {
  if (hasData(dir.path) || existsSync(join(dir.path, "secrets.json"))) return yield* notEmpty(`${dir.path} has data`)
  const uri = yield* secret("DATABASE_URL")
  if (uri !== undefined) {
    const content = yield* PostgresAddress.pipe(
      Effect.flatMap((login) => connectDirectly(login)),
      Effect.tap((connection) => checkServer(connection, installation)),
      Effect.flatMap(databaseContent),
      Effect.scoped,
      Effect.provide(layerExternal(uri))
    )
    if (content !== undefined) return yield* notEmpty(`The database of DATABASE_URL has ${content}`)
  }
  if ((yield* text("S3_ENDPOINT", undefined)) === undefined) return undefined
  const used = yield* makeS3.pipe(
    Effect.flatMap((s3) => attempt("Failed to read the store", () => usedBuckets(s3))),
    Effect.scoped,
    Effect.provide(layerExternalS3)
  )
  const inUse = used.find((name) => buckets.has(name))
  return inUse === undefined ? undefined : yield* notEmpty(`The bucket ${inUse} of S3_ENDPOINT has objects`)
})

/** How many objects may be written again after a crash. */
const markEvery = 1000

/** Writes the objects of an archive; `restored` of them are there from an earlier attempt. */
const objectWriter = (
  s3: S3,
  { again, restored }: { readonly restored: number; readonly again: boolean },
  reached: (count: number) => Promise<void>
) => {
  const running = new Set<Promise<void>>()
  let failure: { readonly cause: unknown } | undefined
  let count = 0
  const settle = async () => {
    await Promise.all(running)
    if (failure !== undefined) throw failure.cause
  }
  return {
    settle,
    add: async ({ body, head }: ReadPart) => {
      if (head.part === "bucket") return restoreBucket(s3, head)
      if (head.part !== "object" || ++count <= restored) return undefined
      if (head.size > smallObject) await restoreObject(s3, head, body, again)
      else {
        const bytes = await whole(body)
        const writing = restoreObject(s3, head, once(bytes), again).catch((cause: unknown) => {
          failure ??= { cause }
        })
        const done = writing.finally(() => running.delete(done))
        running.add(done)
        if (running.size >= atATime) await Promise.race(running)
        if (failure !== undefined) throw failure.cause
      }
      if (count % markEvery !== 0) return undefined
      await settle()
      return reached(count)
    }
  }
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

/**
 * Imports an archive into a new installation. After a crash it is run again, and goes on; until it has succeeded, the service
 * does not start on the directory.
 */
export const importFrom = Effect.fn("Import")(function* (
  place: ArchivePlace,
  passphrase: Redacted.Redacted,
  report: (line: string) => Effect.Effect<void>
) {
  const reading = `Failed to read ${place.name}`
  const dir = yield* DataDir
  yield* Effect.catchTag(dir.lock, "DataDirInUse", ({ message }) => new StartError({ message }))
  const { buckets, files, installation, manifest } = yield* attempt(reading, () => verify(place, passphrase))
  yield* report(
    `The archive of ${installation.created_at} is complete: ${manifest.objects} objects, ${manifest.bytes} bytes`
  )

  const unfinished = yield* readUnfinished(dir.path)
  if (unfinished === undefined) yield* checkTarget(dir, { buckets, installation })
  else if (unfinished.archive !== installation.id) {
    return yield* notEmpty(`${dir.path} has a part of another archive`)
  }
  let mark = unfinished ?? { archive: installation.id, objects: 0 }
  if (unfinished === undefined) yield* writeUnfinished(dir, mark)
  const secrets = files.get("secrets.json")
  const embedded =
    (yield* secret("DATABASE_URL")) === undefined || (yield* text("S3_ENDPOINT", undefined)) === undefined
  if (embedded && secrets !== undefined && !existsSync(join(dir.path, "secrets.json"))) {
    yield* writeStored(join(dir.path, "secrets.json"), JSON.parse(secrets.toString("utf8")), dir.owner)
  }

  yield* Effect.gen(function* () {
    const login = yield* PostgresAddress
    const s3 = yield* makeS3
    const { content, loaded } = yield* Effect.scoped(
      Effect.gen(function* () {
        const connection = yield* connectDirectly(login)
        yield* checkServer(connection, installation)
        return {
          content: yield* databaseContent(connection),
          loaded: yield* isLoaded(connection, installation.id)
        }
      })
    )
    if (content !== undefined && !loaded) return yield* notEmpty(`The database has ${content}`)
    const writer = objectWriter(s3, { restored: mark.objects, again: unfinished !== undefined }, (objects) => {
      mark = { ...mark, objects }
      return Effect.runPromise(writeUnfinished(dir, mark))
    })
    const parts = partsOf(Redacted.value(passphrase), place.read())
    let roles = Buffer.alloc(0)
    for (;;) {
      const next = yield* attempt(reading, () => parts.next())
      if (next.done === true) return undefined
      const { body, head } = next.value
      if (head.part === "installation" && head.id !== installation.id) {
        return yield* new StartError({ message: `${place.name} was replaced during the import` })
      }
      if (head.part === "roles") roles = yield* attempt(reading, () => whole(body))
      yield* attempt("Failed to restore the objects", () => writer.add(next.value))
      if (head.part !== "database") continue
      yield* attempt("Failed to restore the objects", writer.settle)
      yield* writeUnfinished(dir, (mark = { ...mark, objects: manifest.objects }))
      // The transaction of an earlier attempt has committed.
      if (loaded) continue
      yield* report("The objects are restored; loading the database")
      yield* loadDatabase(login, roles, body, { archive: installation.id, owner: installation.owner })
    }
  }).pipe(Effect.scoped, Effect.provide(layerMovable))

  const settings = files.get("settings.env")
  if (settings !== undefined && settings.length > 0) {
    yield* writeStoredText(join(dir.path, "settings.env"), settings.toString("utf8"), dir.owner)
  }
  const keys = files.get("keys.json")
  if (keys !== undefined) yield* writeStored(join(dir.path, "keys.json"), JSON.parse(keys.toString("utf8")), dir.owner)
  if (secrets !== undefined && (yield* secret("DATABASE_URL")) !== undefined) {
    yield* writeStored(join(dir.path, "moved-secrets.json"), JSON.parse(secrets.toString("utf8")), dir.owner)
  }
  yield* endUnfinished(dir.path)
  return installation
}, Effect.scoped)
