import * as fc from "fast-check"
import { Socket } from "node:net"
import { assert, it } from "vitest"
import { takeLog } from "../../../../src/layers/postgres/log/LogSocket.ts"

const message = (type: string, content: Buffer) => {
  const head = Buffer.from(`${type}....`)
  head.writeUInt32BE(content.length + 4, 1)
  return Buffer.concat([head, content])
}
const log = (position: number, bytes: Uint8Array) => {
  const head = Buffer.alloc(25)
  head[0] = "w".charCodeAt(0)
  head.writeBigUInt64BE(BigInt(position), 1)
  return message("d", Buffer.concat([head, bytes]))
}

const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
const sent = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("log" as const), bytes: bytes(80) }),
    fc.record({ kind: fc.constantFrom("d" as const, "Z" as const, "c" as const), bytes: bytes(60) })
  ),
  { maxLength: 12 }
)

it("gives every byte of the log with its position, and the driver all other messages, wherever reads end", () =>
  fc.assert(
    fc.property(sent, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (all, sizes) => {
      const socket = new Socket()
      const driver: Array<Buffer> = []
      socket.on("data", (part: Buffer) => driver.push(part))
      const received: Array<number> = []
      takeLog(socket, (position, part) => {
        assert.strictEqual(Number(position), received.length)
        received.push(...part)
      })
      const [messages, others, expected]: [Array<Buffer>, Array<Buffer>, Array<number>] = [[], [], []]
      for (const { bytes, kind } of all) {
        // Another CopyData message that begins like log.
        const content = kind === "d" ? Buffer.concat([Buffer.from("k"), bytes]) : Buffer.from(bytes)
        const whole = kind === "log" ? log(expected.length, bytes) : message(kind, content)
        messages.push(whole)
        if (kind === "log") expected.push(...bytes)
        else others.push(whole)
      }
      const stream = Buffer.concat(messages)
      const read = Buffer.alloc(40)
      for (let at = 0, turn = 0; at < stream.length; turn++) {
        const length = stream.copy(read, 0, at, at + (sizes[turn % sizes.length] ?? 1))
        socket.emit("data", read.subarray(0, length))
        at += length
        // The next read overwrites what this one returned.
        read.fill(0xff)
      }
      assert.deepStrictEqual(received, expected)
      assert.deepStrictEqual(Buffer.concat(driver), Buffer.concat(others))
    })
  ))
