import { Effect, Layer, Stream } from "effect"
import { createReadStream } from "node:fs"
import { access, constants, mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises"
import { join } from "node:path"
import { partialFile } from "../../domain/backups/Backup.ts"
import { Unavailable } from "../../domain/errors.ts"
import { BackupFiles, FileTrouble } from "../../services/ports/BackupFiles.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { syncDirectory } from "../process/StoredFile.ts"
import { errorCode } from "../process/StartError.ts"

/** Space in bytes that stays free. */
const reserve = 64 * 1024 * 1024

const chunk = 1024 * 1024

const reasonOf = (cause: unknown) => errorCode(cause) ?? (cause instanceof Error ? cause.message : String(cause))

const trouble =
  (what: string) =>
  (cause: unknown): FileTrouble =>
    new FileTrouble({ reason: `${what}: ${reasonOf(cause)}` })

const attempt = <A>(what: string, run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: trouble(what) })

const unlessMissing = <A>(promise: Promise<A>): Promise<A | undefined> =>
  promise.catch((cause: unknown) => {
    if (errorCode(cause) === "ENOENT") return undefined
    throw cause
  })

/** SVC_BACKUP_DIR. */
export const layerBackupDirectory = Layer.effect(
  BackupFiles,
  Effect.gen(function* () {
    const { directory } = yield* BackupSettings
    const path = (name: string) => join(directory, name)

    const unusable = (cause: unknown) =>
      new Unavailable({
        error: "The backup directory is unusable",
        code: "BACKUP_DIR_UNUSABLE",
        details: `${directory} (SVC_BACKUP_DIR): ${reasonOf(cause)}`,
        retry_after: 60
      })

    const ready = Effect.gen(function* () {
      const free = yield* Effect.tryPromise({
        try: async () => {
          await mkdir(directory, { recursive: true, mode: 0o700 })
          await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
          const { bavail, bsize } = await statfs(directory)
          return bavail * bsize
        },
        catch: unusable
      })
      if (free >= reserve) return undefined
      return yield* new Unavailable({
        error: "Not enough disk space for a backup",
        code: "BACKUP_NO_SPACE",
        details: `${free} bytes are free in ${directory} (SVC_BACKUP_DIR)`,
        retry_after: 60
      })
    })

    /** Writes to a temporary name first. */
    const write = (name: string, content: string | Uint8Array) =>
      attempt(`Failed to write ${name}`, async () => {
        const temporary = path(partialFile(name))
        const handle = await open(temporary, "w", 0o600)
        try {
          await handle.writeFile(content)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(temporary, path(name))
        await syncDirectory(directory)
      })

    const receive = <E>(name: string, bytes: Stream.Stream<Uint8Array, E>, size: number) =>
      Effect.acquireUseRelease(
        attempt(`Failed to write ${name}`, () => open(path(name), "w", 0o600)),
        (handle) =>
          Effect.gen(function* () {
            let arrived = 0
            yield* Stream.runForEach(bytes, (piece) => {
              arrived += piece.length
              return attempt(`Failed to write ${name}`, () => handle.writeFile(piece))
            })
            if (arrived === size) return undefined
            return yield* new FileTrouble({ reason: `${arrived} of ${size} bytes arrived` })
          }),
        (handle) => Effect.promise(() => handle.close().catch(() => undefined))
      ).pipe(Effect.onError(() => Effect.promise(() => rm(path(name), { force: true }).catch(() => undefined))))

    return BackupFiles.of({
      ready,
      path,
      size: (name) =>
        Effect.promise(() =>
          stat(path(name)).then(
            (found) => (found.isFile() ? found.size : undefined),
            () => undefined
          )
        ),
      list: Effect.promise(() => readdir(directory).catch(() => [])),
      write,
      receive,
      remove: (name) =>
        attempt(`Failed to remove ${name}`, async () => {
          // `rm` with force does not report whether the file existed.
          const found = await unlessMissing(stat(path(name)))
          await rm(path(name), { force: true })
          return found !== undefined
        }),
      bytes: (name, range) =>
        Stream.suspend(() =>
          Stream.fromAsyncIterable<Uint8Array, FileTrouble>(
            createReadStream(path(name), {
              highWaterMark: chunk,
              ...(range === undefined ? {} : { start: range.first, end: range.last })
            }),
            trouble(`Failed to read ${name}`)
          )
        )
    })
  })
)
