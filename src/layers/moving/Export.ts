import { Effect, Redacted } from "effect"
import { randomUUID } from "node:crypto"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { type MovedInstallation, type MovingPosition } from "../../domain/moving/Archive.ts"
import { secret, text } from "../../domain/Settings.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { type OnProgress } from "../../services/ports/DumpTools.ts"
import { version } from "../../domain/Version.ts"
import { globalsScript } from "../dumps/Globals.ts"
import { dumpWasm } from "../dumps/wasm/Wasm.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { connectDirectly } from "../postgres/client/DirectConnection.ts"
import { type Login } from "../postgres/Login.ts"
import { DataDir } from "../process/DataDir.ts"
import { attempt, errorCode, StartError } from "../process/StartError.ts"
import { makeS3, type S3 } from "../storage/client/Client.ts"
import { installationFiles } from "./Files.ts"
import {
  abandon,
  abandonOthers,
  type ExportJournal,
  readJournal,
  removeWork,
  type WorkDirectory,
  workDirectory,
  writeJournal
} from "./Journal.ts"
import { archiveKeyOf, keyDigest, newArchiveKey } from "./Key.ts"
import { storeParts } from "./Objects.ts"
import { type ArchivePlace, storedBytes } from "./Place.ts"
import { PartChanged, segmentsOf, startPosition, type WrittenPart } from "./Segments.ts"

const installedSql = `
  select current_setting('server_version') as server_version,
         to_regclass('svc.migrations') is not null as installed`

/** Exports that were interrupted longer ago begin again: the dump is of that time, and the objects would be of now. */
const keptMillis = 24 * 60 * 60 * 1000

/** What an export is of. The embedded servers have other ports after a restart. */
const sourceOf = Effect.fnUntraced(function* ({ at, database }: Login, { address }: S3) {
  const server = (yield* secret("DATABASE_URL")) === undefined ? "embedded" : `${at.host}:${at.port}`
  const store = (yield* text("S3_ENDPOINT", undefined)) === undefined ? "embedded" : address.endpoint
  return JSON.stringify([server, database, store])
})

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

/** The plain bytes of a segment. They grow, so that 10,000 of them, the most parts of an upload, hold 5 TB. */
const segmentSize = (index: number) => 16 * 1024 * 1024 * 2 ** Math.min(6, Math.floor(index / 1000))

/** Whether the parts before the first object are complete, of which some may differ at another time. */
const canContinue = ({ after }: MovingPosition) => after !== null && !["installation", "file"].includes(after.part)

/** Removes the segments that end in the part of the last one. */
const withoutOpenPart = (segments: ExportJournal["segments"]): ExportJournal["segments"] => {
  const partOf = (at: number) => JSON.stringify(segments.at(at)?.position.open?.head)
  const last = partOf(-1)
  let kept = segments.length
  while (kept > 0 && partOf(kept - 1) === last) kept--
  return segments.slice(0, kept)
}

/** The journal of an earlier export to this place, if it can be continued. Otherwise removes what it has written. */
const earlierExport = Effect.fnUntraced(function* (
  place: ArchivePlace,
  work: WorkDirectory,
  source: string,
  passphrase: string,
  report: (line: string) => Effect.Effect<void>
) {
  const journal = yield* readJournal(work.path)
  const usable =
    journal === undefined
      ? undefined
      : yield* attempt(`Failed to read ${place.name}`, async () => {
          const { created_at, version: of } = journal.installation
          if (of !== version || journal.source !== source || !(Date.parse(created_at) > Date.now() - keptMillis)) return
          if ((await stat(work.dump).catch(() => undefined))?.size !== journal.dump_size) return
          const key = await archiveKeyOf(passphrase, journal.line)
          return keyDigest(key) === journal.key_digest && (await place.isThere(journal)) ? { journal, key } : undefined
        })
  if (journal !== undefined && usable === undefined) {
    yield* report(
      `Beginning again: the unfinished export of ${journal.installation.created_at} is older than a day, incomplete, or of another passphrase, version or database`
    )
  }
  if (usable === undefined) yield* abandon(work.path, journal)
  return usable
})

/** Dumps the database, and begins an archive of it. */
const beginExport = Effect.fnUntraced(function* (
  place: ArchivePlace,
  work: WorkDirectory,
  source: string,
  passphrase: string,
  onDump: OnProgress
) {
  const login = yield* PostgresAddress
  const { timeout } = yield* BackupSettings
  const installation = yield* describeInstallation(login)
  yield* dumpWasm(login, { timeout })(login.database, work.dump, onDump)
  return yield* attempt(`Failed to write ${place.name}`, async () => {
    const key = await newArchiveKey(passphrase)
    const { size: dump_size } = await stat(work.dump)
    const about = { place: place.name, source, line: key.line, key_digest: keyDigest(key), installation, dump_size }
    const journal: ExportJournal = { ...about, upload: await place.begin(), segments: [] }
    return { journal, key }
  })
})

/**
 * Exports the installation; returns the bytes of the archive. The archive is written in segments, and a journal says which of
 * them are stored, so the same export continues there after an interruption.
 */
export const exportTo = Effect.fn("Export")(function* (
  place: ArchivePlace,
  given: Redacted.Redacted,
  settings: ReadonlyArray<string>,
  report: {
    readonly line: (line: string) => Effect.Effect<void>
    readonly dump: OnProgress
    readonly objects: (count: number) => void
  }
) {
  const login = yield* PostgresAddress
  const dir = yield* DataDir
  const s3 = yield* makeS3
  const passphrase = Redacted.value(given)
  yield* attempt(`Failed to write ${place.name}`, place.check)
  const work = yield* workDirectory(dir, place.name)
  yield* abandonOthers(dir, work, report.line)
  const source = yield* sourceOf(login, s3)
  const earlier = yield* earlierExport(place, work, source, passphrase, report.line)
  if (earlier !== undefined) {
    const { installation } = earlier.journal
    yield* report.line(
      `Continuing the export of ${installation.created_at}: ${storedBytes(earlier.journal)} bytes are written`
    )
  }
  const { journal, key } = earlier ?? (yield* beginExport(place, work, source, passphrase, report.dump))
  let { segments } = journal
  const written = (): ExportJournal => ({ ...journal, segments })
  yield* writeJournal(dir, work, journal)
  const roles = Buffer.from(yield* globalsScript(login)(login.database))
  const files = yield* installationFiles(dir, settings)

  const partsAfter = async function* ({ after, objects: done }: MovingPosition): AsyncGenerator<WrittenPart> {
    if (after === null) {
      yield { head: journal.installation }
      yield* files
      yield { head: { part: "roles", size: roles.length }, body: roles }
    }
    if (after?.part === "database") return
    let objects = done
    for await (const part of storeParts(s3, after)) {
      yield part
      if (part.head.part === "object") report.objects(++objects)
    }
    const body = createReadStream(work.dump, { highWaterMark: 1 << 20 })
    yield { head: { part: "database", size: journal.dump_size }, body }
  }
  const writeAfter = async (position: MovingPosition) => {
    const from = { index: segments.length, position }
    for await (const segment of segmentsOf(key, partsAfter(position), from, segmentSize)) {
      const stored = await place.append(written(), segment.bytes)
      segments = segments.concat({ ...stored, position: segment.position })
      await Effect.runPromise(writeJournal(dir, work, written()))
    }
  }
  const write = async () => {
    for (let complete = false; !complete;) {
      const last = segments.at(-1)?.position
      if (last === undefined || !canContinue(last)) segments = []
      complete = await writeAfter(segments.at(-1)?.position ?? startPosition).then(
        () => true,
        (cause: unknown) => {
          if (!(cause instanceof PartChanged)) throw cause
          segments = withoutOpenPart(segments)
          return false
        }
      )
    }
    await place.complete(written())
    return storedBytes(written())
  }
  const size = yield* attempt(`Failed to write ${place.name}`, () =>
    write().catch(async (cause: unknown) => {
      // The service itself needs the space.
      if (errorCode(cause) === "ENOSPC") await Effect.runPromise(abandon(work.path, written()))
      throw cause
    })
  )
  yield* removeWork(work.path)
  return size
}, Effect.scoped)
