import { randomBytes } from "node:crypto"
import { assert, describe, it } from "vitest"
import { checksumOfParts, isChecksum, makeHasher } from "../../../src/layers/storage/endpoint/Checksums.ts"
import { type Checksum } from "../../../src/layers/storage/endpoint/store/Model.ts"

const sum = (algorithm: Checksum["algorithm"], bytes: Uint8Array) => {
  const hasher = makeHasher(algorithm)
  for (let at = 0; at < bytes.length; at += 1001) hasher.update(bytes.subarray(at, at + 1001))
  return hasher.value()
}

describe("checksums", () => {
  // The check values for "123456789" from the standards and CRC catalogues.
  it.each<[Checksum["algorithm"], string]>([
    ["CRC32", "cbf43926"],
    ["CRC32C", "e3069283"],
    ["CRC64NVME", "ae8b14860a799888"],
    ["SHA1", "f7c3bc1d808e04732adf679965ccc34ca7ae3441"],
    ["SHA256", "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"],
    [
      "SHA512",
      "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274ad27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe85"
    ],
    ["MD5", "25f9e794323b453885f5181f1b624d0b"],
    ["XXHASH64", "8cb841db40e6ae83"],
    ["XXHASH3", "72dcb18b67a17dff"],
    ["XXHASH128", "33119477ede5dcd5e9716427681d5860"]
  ])("%s matches its standard", async (algorithm, hex) => {
    const value = await sum(algorithm, Buffer.from("123456789"))
    assert.strictEqual(Buffer.from(value, "base64").toString("hex"), hex)
    assert.isTrue(isChecksum(algorithm, value))
    for (const wrong of [value.slice(4), `${value}AAAA`, "", "nonsense!"]) assert.isFalse(isChecksum(algorithm, wrong))
  })

  it.each<Checksum["algorithm"]>(["CRC32", "CRC32C", "CRC64NVME"])(
    "%s of parts is that of the whole",
    async (algorithm) => {
      const whole = randomBytes(300_000)
      const cuts = [0, 1, 1000, 100_000, 200_000, 200_000, 299_999, 300_000]
      const pieces = cuts.slice(1).map((end, index) => whole.subarray(cuts[index] ?? 0, end))
      const parts = await Promise.all(
        pieces.map(async (piece) => ({ size: piece.length, value: await sum(algorithm, piece) }))
      )
      assert.strictEqual(await checksumOfParts({ algorithm, type: "FULL_OBJECT" }, parts), await sum(algorithm, whole))
      const digests = Buffer.concat(parts.map(({ value }) => Buffer.from(value, "base64")))
      const composite = await checksumOfParts({ algorithm, type: "COMPOSITE" }, parts)
      assert.strictEqual(composite, `${await sum(algorithm, digests)}-${parts.length}`)
    }
  )
})
