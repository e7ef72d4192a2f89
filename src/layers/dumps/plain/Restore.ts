import { type FileHandle, open } from "node:fs/promises"
import { pipeline } from "node:stream"
import { createZstdDecompress } from "node:zlib"
import { Effect, type Scope } from "effect"
import { DumpScript } from "../../../domain/dumps/Script.ts"
import { withinBackupTimeout } from "../../../services/backups/Settings.ts"
import { DumpFailed, type OnProgress, type RestoreTarget } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { makeRestoreRunner } from "./Runner.ts"

/** A script that is decompressed as it is read. */
interface PlainRestoreFile {
  /** The next chunk; undefined at the end. */
  readonly next: Effect.Effect<Buffer | undefined, DumpFailed>
  /** Fraction of the file that has been decompressed, 0–1. */
  readonly fraction: () => number
}

/** Size of the chunks and of the read-ahead, in bytes. */
const chunkBytes = 256 * 1024

const explained = (cause: unknown) => {
  const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown }
  if (code === "Z_BUF_ERROR") return new DumpFailed({ reason: "The backup file is truncated" })
  if (typeof code === "string" && code.startsWith("ZSTD_")) {
    return new DumpFailed({ reason: `The backup file is damaged, or not compressed with zstd: ${String(message)}` })
  }
  return new DumpFailed({ reason: `Failed to read the backup file: ${String(code ?? message)}` })
}

/** A frame without content, which backups made before 0.1.0 may have after the first. */
const emptyFrame = Buffer.from("28b52ffd240001000099e9d851", "hex")

/** Size of the file without it. */
const frameSize = async (handle: FileHandle) => {
  const { size } = await handle.stat()
  const position = Math.max(0, size - emptyFrame.length)
  const { buffer } = await handle.read({ buffer: Buffer.alloc(emptyFrame.length), position })
  return buffer.equals(emptyFrame) ? position : size
}

/** Opens a file compressed with zstd as a single frame. */
const openDump = (file: string): Effect.Effect<PlainRestoreFile, DumpFailed, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          const handle = await open(file)
          const size = await frameSize(handle).catch(async (error: unknown) => {
            await handle.close()
            throw error
          })
          const decompressed = createZstdDecompress({ chunkSize: chunkBytes })
          // The iterator reports errors of both streams, including those before its first use.
          decompressed.on("error", () => undefined)
          pipeline(handle.createReadStream({ highWaterMark: chunkBytes }), decompressed, () => undefined)
          return {
            size,
            decompressed,
            pieces: decompressed[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>
          }
        },
        catch: explained
      }),
      // This closes the file too.
      ({ decompressed }) => Effect.sync(() => decompressed.destroy())
    ),
    ({ pieces, size, decompressed }) => ({
      fraction: () => (size === 0 ? 1 : decompressed.bytesWritten / size),
      next: Effect.flatMap(Effect.tryPromise({ try: () => pieces.next(), catch: explained }), ({ done, value }) =>
        // Node ignores data after the end of the frame.
        done === true && decompressed.bytesWritten !== size
          ? Effect.fail(new DumpFailed({ reason: "The backup file has data after its end" }))
          : Effect.succeed(value)
      )
    })
  )

/** Smallest change of the progress that is reported. */
const progressStep = 0.005

const restored = Effect.fnUntraced(function* (
  login: Login,
  file: string,
  target: RestoreTarget,
  onProgress: OnProgress
) {
  const dump = yield* openDump(file)
  const runner = yield* makeRestoreRunner(login, target)
  const script = new DumpScript()
  let reported = 0
  for (let chunk = yield* dump.next; chunk !== undefined; chunk = yield* dump.next) {
    yield* runner.run(script, chunk)
    // Indexes are created after everything is read.
    const fraction = Math.min(dump.fraction(), 0.99)
    if (fraction < reported + progressStep) continue
    reported = fraction
    yield* onProgress(fraction)
  }
  yield* runner.end(script)
  yield* runner.finish
  yield* onProgress(1)
})

/**
 * Fills an empty database from a plain dump (`.sql.zst`), statement by statement on one connection, in constant memory.
 * Owners are skipped. Stops at the first error; earlier statements stay.
 *
 * The script runs with the rights of the target's role, except for what `makeRestoreRunner` does for it; psql commands are
 * rejected.
 * @param login the service's, in the main database
 * @param options.timeout time limit in ms
 */
export const restorePlain =
  (login: Login, options: { readonly timeout: number }) =>
  (file: string, target: RestoreTarget, onProgress: OnProgress): Effect.Effect<void, DumpFailed> =>
    restored(login, file, target, onProgress).pipe(Effect.scoped, withinBackupTimeout(options.timeout))
