import * as fc from "fast-check"
import { createSecretKey, randomBytes } from "node:crypto"
import { Readable, Writable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { describe, expect, it } from "vitest"
import { SealBroken, sealing, unsealing } from "../../../src/domain/recovery/SealedStream.ts"

const key = createSecretKey(randomBytes(32))
const place = "archive/0001"
const head = 40
const chunk = 1 << 20
const sealedChunk = chunk + 16

async function* inParts(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}
const whole = async (source: AsyncIterable<Buffer>) => {
  const pieces: Array<Buffer> = []
  for await (const piece of source) pieces.push(piece)
  return Buffer.concat(pieces)
}

const sealed = (plain: Buffer, as = { key, place }) => whole(sealing(as.key, as.place)(inParts(plain, 1_000_000)))

/** The plain text, or undefined if it is refused. */
const opened = (bytes: Buffer, size: number, as = { key, place }) =>
  whole(unsealing(as.key, as.place)(inParts(bytes, size))).catch((cause: unknown) => {
    expect(cause).toBeInstanceOf(SealBroken)
    return undefined
  })

/** Lengths around the borders of chunks. */
const length = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: -2, max: 2 }).map((near) => chunk + near),
  fc.integer({ min: -2, max: 2 }).map((near) => 2 * chunk + near),
  fc.integer({ min: 0, max: 3 * chunk })
)
const partSize = fc.constantFrom(7_919, 65_536, sealedChunk - 1, sealedChunk, sealedChunk + 1, 8 * chunk)
const filled = (bytes: number) => randomBytes(bytes)
const runs = { numRuns: 25 }

describe("SealedStream", () => {
  it("opens what it has sealed, in parts of any size", () =>
    fc.assert(
      fc.asyncProperty(length, partSize, partSize, async (bytes, size, otherSize) => {
        const plain = filled(bytes)
        const streamed = await whole(sealing(key, place)(inParts(plain, size)))
        expect((await opened(streamed, otherSize))?.equals(plain)).toBe(true)
      }),
      runs
    ))

  it("never seals the same text in the same way", async () => {
    expect((await sealed(Buffer.from("a"))).equals(await sealed(Buffer.from("a")))).toBe(false)
  })

  it("refuses each prefix", async () => {
    const small = await sealed(filled(200))
    for (let to = 0; to < small.length; to++) expect(await opened(small.subarray(0, to), 64)).toBeUndefined()
    const large = await sealed(filled(2 * chunk + 5))
    for (const to of [head, head + 16, head + sealedChunk, head + 2 * sealedChunk, head + 2 * sealedChunk + 16]) {
      for (const near of [-1, 0, 1])
        expect(await opened(large.subarray(0, to + near), 65_536), String(to + near)).toBeUndefined()
    }
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: large.length - 1 }), async (to) => {
        expect(await opened(large.subarray(0, to), 65_536)).toBeUndefined()
      }),
      runs
    )
  })

  it("refuses appended bytes", () =>
    fc.assert(
      fc.asyncProperty(length, fc.uint8Array({ minLength: 1, maxLength: 100 }), async (bytes, more) => {
        const stream = await sealed(filled(bytes))
        expect(await opened(Buffer.concat([stream, more]), 65_536)).toBeUndefined()
        expect(await opened(Buffer.concat([stream, stream.subarray(head)]), 65_536)).toBeUndefined()
      }),
      runs
    ))

  it("refuses each flipped bit", () =>
    fc.assert(
      fc.asyncProperty(length, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), async (bytes, where) => {
        const stream = await sealed(filled(bytes))
        const bit = Math.floor(where * stream.length * 8)
        stream[bit >> 3] = (stream[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(await opened(stream, 65_536)).toBeUndefined()
      }),
      { numRuns: 60 }
    ))

  it("refuses chunks that are swapped, repeated, left out or from another stream", async () => {
    const plain = filled(3 * chunk)
    const parts = (stream: Buffer) =>
      [0, 1, 2].map((n) => stream.subarray(head + n * sealedChunk, head + (n + 1) * sealedChunk))
    const stream = await sealed(plain)
    const [a, b, c] = parts(stream) as [Buffer, Buffer, Buffer]
    const [, foreign] = parts(await sealed(plain)) as [Buffer, Buffer]
    for (const order of [
      [b, a, c],
      [a, a, c],
      [a, c],
      [b, c],
      [a, b, b],
      [a, foreign, c],
      [c, b, a],
      [a, b, c, c]
    ]) {
      expect(await opened(Buffer.concat([stream.subarray(0, head), ...order]), chunk)).toBeUndefined()
    }
    expect((await opened(Buffer.concat([stream.subarray(0, head), a, b, c]), chunk))?.equals(plain)).toBe(true)
  })

  it("refuses another key and another place", async () => {
    const stream = await sealed(filled(10))
    expect(await opened(stream, 64, { key: createSecretKey(randomBytes(32)), place })).toBeUndefined()
    expect(await opened(stream, 64, { key, place: "archive/0002" })).toBeUndefined()
    await expect(sealed(filled(1), { key: createSecretKey(randomBytes(16)), place })).rejects.toThrow(/32 bytes/)
  })

  it("releases no plain text of a chunk that is not verified", async () => {
    const stream = await sealed(filled(2 * chunk))
    stream[head + sealedChunk + 5] = (stream[head + sealedChunk + 5] ?? 0) ^ 1
    let released = 0
    await expect(
      (async () => {
        for await (const piece of unsealing(key, place)(inParts(stream, 65_536))) released += piece.length
      })()
    ).rejects.toThrow(SealBroken)
    expect(released).toBe(chunk)
  })

  it("ends its source when its reader stops, and fits stream.pipeline", async () => {
    const source = Readable.from(inParts(await sealed(filled(3 * chunk)), 65_536))
    for await (const _ of unsealing(key, place)(source)) break
    expect(source.destroyed).toBe(true)
    const plain = filled(chunk + 1)
    const got: Array<Buffer> = []
    const sink = new Writable({ write: (piece: Buffer, _, done) => (got.push(piece), done()) })
    await pipeline(Readable.from(inParts(plain, 100_000)), sealing(key, place), unsealing(key, place), sink)
    expect(Buffer.concat(got).equals(plain)).toBe(true)
  })
})
