import { Effect, type Scope } from "effect"
import { open } from "node:fs/promises"
import { pipeline } from "node:stream"
import { createZstdDecompress } from "node:zlib"
import { DumpFailed } from "../../../services/ports/DumpTools.ts"

/** A script that is unpacked as it is read. */
export interface PlainRestoreFile {
  /** The next piece; undefined at the end. */
  readonly next: Effect.Effect<Buffer | undefined, DumpFailed>
  /** How much of the file has been unpacked, 0–1. */
  readonly fraction: () => number
}

/** Size of the pieces, and of what is read ahead, in bytes. */
const pieceSize = 256 * 1024

const explained = (cause: unknown) => {
  const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown }
  if (code === "Z_BUF_ERROR") return new DumpFailed({ reason: "The backup's file is cut off" })
  if (typeof code === "string" && code.startsWith("ZSTD_")) {
    return new DumpFailed({ reason: `The backup's file is damaged, or not compressed with zstd: ${String(message)}` })
  }
  return new DumpFailed({ reason: `The backup's file can't be read: ${String(code ?? message)}` })
}

/** Opens a file that is compressed with zstd as one frame. */
export const openDump = (file: string): Effect.Effect<PlainRestoreFile, DumpFailed, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: async () => {
          const handle = await open(file)
          const { size } = await handle.stat()
          const unpacked = createZstdDecompress({ chunkSize: pieceSize })
          // Errors of both come out of the iterator, also those that come before anybody asks it.
          unpacked.on("error", () => undefined)
          pipeline(handle.createReadStream({ highWaterMark: pieceSize }), unpacked, () => undefined)
          return { size, unpacked, pieces: unpacked[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined> }
        },
        catch: explained
      }),
      // Closes the file too.
      ({ unpacked }) => Effect.sync(() => unpacked.destroy())
    ),
    ({ pieces, size, unpacked }) => ({
      fraction: () => (size === 0 ? 1 : unpacked.bytesWritten / size),
      next: Effect.flatMap(Effect.tryPromise({ try: () => pieces.next(), catch: explained }), ({ done, value }) =>
        // Node stops at the end of a frame without a word about what stands behind it.
        done === true && unpacked.bytesWritten !== size
          ? Effect.fail(new DumpFailed({ reason: "The backup's file goes on behind its end" }))
          : Effect.succeed(value)
      )
    })
  )
