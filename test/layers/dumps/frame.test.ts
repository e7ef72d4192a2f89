import { assert, describe, it } from "@effect/vitest"
import { buffer } from "node:stream/consumers"
import { createZstdCompress, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { endFrame } from "../../../src/layers/dumps/wasm/Shared.ts"

describe("The frame of a dump", () => {
  it("is one, also when it ends before its chunks were compressed", async () => {
    const zstd = createZstdCompress()
    for (const chunk of ["create table ", "t (i int)", ";"]) zstd.write(chunk)
    endFrame(zstd)
    const file = await buffer(zstd)
    assert.strictEqual(zstdDecompressSync(file).toString(), "create table t (i int);")
    const magic = zstdCompressSync("").subarray(0, 4)
    assert.strictEqual(file.lastIndexOf(magic), 0)
  })
})
