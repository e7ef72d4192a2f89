import { Effect, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { type MovedInstallation } from "../../domain/moving/Archive.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { type OnProgress } from "../../services/ports/DumpTools.ts"
import { version } from "../../services/Status.ts"
import { globalsScript } from "../dumps/Globals.ts"
import { dumpWasm } from "../dumps/wasm/Wasm.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { connectDirectly } from "../postgres/client/DirectConnection.ts"
import { type Login } from "../postgres/Login.ts"
import { DataDir } from "../process/DataDir.ts"
import { attempt, errorCode, StartError } from "../process/StartError.ts"
import { makeS3 } from "../storage/client/Client.ts"
import { installationFiles } from "./Files.ts"
import { storeParts } from "./Objects.ts"
import { archiveOf, type WrittenPart } from "./Parts.ts"
import { type ArchivePlace } from "./Place.ts"

const installedSql = `
  select current_setting('server_version') as server_version,
         to_regclass('svc.migrations') is not null as installed`

const describeInstallation = Effect.fnUntraced(function* (login: Login) {
  const connection = yield* connectDirectly(login)
  const [about] = yield* connection.query(installedSql)
  if (about?.["installed"] !== true) {
    return yield* new StartError({
      message: "There is nothing to export: the service was never started on this database"
    })
  }
  const [last] = yield* connection.query("select max(migration_id)::int4 as id from svc.migrations")
  return {
    part: "installation" as const,
    id: randomUUID(),
    created_at: new Date().toISOString(),
    version,
    migration: last?.["id"] == null ? null : Number(last["id"]),
    server_version: String(about["server_version"]),
    owner: login.user
  } satisfies MovedInstallation
}, Effect.scoped)

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return errorCode(cause) === "EPERM"
  }
}

/** A directory for the dump until it is in the archive, next to the data. Removes those of exports that were killed. */
const workDirectory = (path: string) =>
  Effect.acquireRelease(
    attempt(`Failed to create a directory in ${path}`, async () => {
      for (const name of await readdir(path)) {
        const pid = /^export-(\d+)$/.exec(name)?.[1]
        if (pid !== undefined && !isAlive(Number(pid))) await rm(join(path, name), { recursive: true, force: true })
      }
      const directory = join(path, `export-${process.pid}`)
      await mkdir(directory, { mode: 0o700 })
      return directory
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )

/** Exports the installation; returns the bytes of the archive. */
export const exportTo = Effect.fn("Export")(function* (
  place: ArchivePlace,
  passphrase: Redacted.Redacted,
  report: { readonly dump: OnProgress; readonly objects: (count: number) => void }
) {
  const login = yield* PostgresAddress
  const dir = yield* DataDir
  const { timeout } = yield* BackupSettings
  const problem = `Failed to write ${place.name}`
  yield* attempt(problem, place.check)
  const installation = yield* describeInstallation(login)
  const s3 = yield* makeS3
  const directory = yield* workDirectory(dir.path)
  const roles = Buffer.from(yield* globalsScript(login)(login.database))
  const dump = join(directory, "database.sql.zst")
  yield* dumpWasm(login, { timeout })(login.database, dump, report.dump)
  const files = yield* installationFiles(dir)
  const { size } = yield* attempt(`Failed to read ${dump}`, () => stat(dump))

  const parts = async function* (): AsyncGenerator<WrittenPart> {
    yield { head: installation }
    yield* files
    yield { head: { part: "roles", size: roles.length }, body: roles }
    let objects = 0
    for await (const part of storeParts(s3)) {
      yield part
      if (part.head.part === "object") report.objects(++objects)
    }
    yield { head: { part: "database", size }, body: createReadStream(dump, { highWaterMark: 1 << 20 }) }
  }
  return yield* attempt(problem, () => place.write(archiveOf(Redacted.value(passphrase), parts())))
}, Effect.scoped)
