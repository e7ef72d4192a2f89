import type { ZstdCompress } from "node:zlib"

/**
 * Ends the output as one frame. Node ends the frame with the chunk that it compresses when `end` has been called, and then
 * writes another, empty one: so `end` is called when all chunks have been compressed.
 */
export const endFrame = (zstd: ZstdCompress) => zstd.write(Buffer.alloc(0), () => zstd.end())
