import { assert, describe, it } from "@effect/vitest"
import { MessageReader, type TextRow } from "../../../../src/layers/postgres/rows/MessageReader.ts"
import { MessageWriter } from "../../../../src/layers/postgres/rows/MessageWriter.ts"

const message = (type: string, body: Uint8Array) => {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}
const int16 = (value: number) => {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
const row = (values: TextRow) =>
  message(
    "D",
    Buffer.concat([
      int16(values.length),
      ...values.flatMap((value) =>
        value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), Buffer.from(value)]
      )
    ])
  )
const error = message("E", Buffer.from("SERROR\0VERROR\0C22P02\0Minvalid input\0Dno number\0Hgive one\0\0"))
const notice = message("N", Buffer.from("SNOTICE\0VNOTICE\0C00000\0Mhello\0\0"))
const ready = (status: string) => message("Z", Buffer.from(status))
const parseComplete = message("1", Buffer.alloc(0))
const bindComplete = message("2", Buffer.alloc(0))
const complete = message("C", Buffer.from("SELECT 1\0"))

/** What a reader reports for these chunks, with rows of up to 1 MiB. */
const read = (chunks: ReadonlyArray<Buffer>, waits = false) => {
  const seen: Array<unknown> = []
  const reader = new MessageReader(
    {
      parseComplete: () => seen.push("parsed"),
      bindComplete: () => seen.push("bound"),
      row: (values) => seen.push(values),
      oversizedRow: () => seen.push("oversized"),
      largeRow: () => {
        if (waits) seen.push("waits")
        return !waits
      },
      commandComplete: () => seen.push("complete"),
      error: (failure) => seen.push(failure),
      ready: (status) => seen.push(status),
      unusable: () => seen.push("unusable")
    },
    1024 * 1024
  )
  for (const chunk of chunks) reader.push(chunk)
  while (seen.at(-1) === "waits") reader.resume()
  // Large values are bytes, which later messages must not have overwritten.
  return seen.map((one) => (Array.isArray(one) ? one.map((value) => (value === null ? null : String(value))) : one))
}

const failure = {
  severity: "ERROR",
  code: "22P02",
  message: "invalid input",
  detail: "no number",
  hint: "give one",
  nested: false
}

describe("the reader", () => {
  const all = Buffer.concat([
    parseComplete,
    bindComplete,
    notice,
    row(["a", null, "", "Zürich 🚲"]),
    complete,
    error,
    ready("I"),
    row(["b".repeat(3000)]),
    ready("T")
  ])
  const seen = ["parsed", "bound", ["a", null, "", "Zürich 🚲"], "complete", failure, "I", ["b".repeat(3000)], "T"]

  it("reads messages that arrive together", () => assert.deepStrictEqual(read([all]), seen))

  it("reads messages cut into chunks of any size", () => {
    for (const size of [1, 2, 3, 5, 7, 64, 1000, 3000, all.length - 1]) {
      const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, n) =>
        all.subarray(n * size, (n + 1) * size)
      )
      assert.deepStrictEqual(read(chunks), seen, `chunks of ${size}`)
    }
  })

  it("skips a row that is too large, and goes on behind it", () => {
    const large = row(["x".repeat(2 * 1024 * 1024)])
    const bytes = Buffer.concat([row(["before"]), large, complete, ready("I")])
    for (const size of [bytes.length, 65_536, 1_000_003]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size)
      )
      assert.deepStrictEqual(read(chunks), [["before"], "oversized", "complete", "I"], `chunks of ${size}`)
    }
  })

  it("stops before a large row until it is resumed", () => {
    const large = row(["x".repeat(600_000)])
    const bytes = Buffer.concat([row(["before"]), large, large, row(["after"]), complete, ready("I")])
    const rows = [
      ["before"],
      "waits",
      ["x".repeat(600_000)],
      "waits",
      ["x".repeat(600_000)],
      ["after"],
      "complete",
      "I"
    ]
    for (const size of [bytes.length, 65_536, 1000]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size)
      )
      assert.deepStrictEqual(read(chunks, true), rows, `chunks of ${size}`)
    }
  })

  it("reports COPY and other large messages as unusable", () => {
    assert.deepStrictEqual(read([message("G", Buffer.from([0, 0, 0]))]), ["unusable"])
    assert.deepStrictEqual(read([Buffer.concat([Buffer.from("E"), int32(2 ** 30)])]), ["unusable"])
  })
})

describe("the writer", () => {
  it("writes lengths in bytes and grows with long values", () => {
    const writer = new MessageWriter()
    const values = ["", "é", "🚲".repeat(5000), "x".repeat(3_000_000)]
    for (const [value, param] of values.flatMap((value) => [
      [value, value] as const,
      [value, Buffer.from(value)] as const
    ])) {
      writer.run("s1", [param, null])
      const bytes = Buffer.concat(writer.take())
      const length = Buffer.byteLength(value)
      assert.strictEqual(String.fromCharCode(bytes[0] ?? 0), "B")
      const bind = bytes.readInt32BE(1)
      assert.strictEqual(bind, 4 + 1 + 3 + 2 + 2 + 4 + length + 4 + 2)
      assert.strictEqual(bytes.readInt32BE(5 + 1 + 3 + 2 + 2), length)
      assert.strictEqual(bytes.toString("utf8", 17, 17 + length), value)
      assert.strictEqual(String.fromCharCode(bytes[1 + bind] ?? 0), "E")
      assert.isTrue(writer.empty)
    }
  })

  it("sends long bytes as they are, in their place", () => {
    const writer = new MessageWriter()
    const long = Buffer.alloc(100_000, "y")
    writer.run("s", ["a", long, "b", long])
    writer.run("s", ["c"])
    writer.sync()
    const parts = writer.take()
    assert.isTrue(parts[1] === long && parts[3] === long)
    const other = new MessageWriter()
    other.run("s", ["a", long.toString(), "b", long.toString()])
    other.run("s", ["c"])
    other.sync()
    assert.isTrue(Buffer.concat(parts).equals(Buffer.concat(other.take())))
  })
})
