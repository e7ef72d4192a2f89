import { createServer, type IncomingMessage } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { afterEach, assert, describe, it } from "vitest"
import { MergedRequest } from "../../../src/layers/net/MergedRequest.ts"

const closers: Array<() => void> = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** The parts of the body of one request. */
const partsOf = async (send: (write: (text: string | Buffer) => Promise<unknown>) => Promise<unknown>) => {
  const parts: Array<Buffer> = []
  const server = createServer({ IncomingMessage: MergedRequest }, (request: IncomingMessage, response) => {
    request.on("data", (part: Buffer) => parts.push(part)).once("end", () => response.end("done"))
  }).listen(0, "127.0.0.1")
  closers.push(() => server.close())
  await new Promise((listening) => server.once("listening", listening))
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  closers.push(() => socket.destroy())
  const answered = new Promise((done) => socket.once("data", done))
  await send((text) => new Promise((sent) => socket.write(text, sent)))
  await answered
  return parts
}

const chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

describe("a body", () => {
  it("in tiny chunks is merged", async () => {
    const text = Array.from({ length: 200_000 }, (_, n) => String(n % 10)).join("")
    const parts = await partsOf((write) => write(`${chunked}${[...text].map(chunk).join("")}0\r\n\r\n`))
    assert.strictEqual(Buffer.concat(parts).toString(), text)
    assert.isBelow(parts.length, 100)
  })

  it("in chunks of all sizes stays in order", async () => {
    const pieces = Array.from({ length: 400 }, (_, n) => String(n % 10).repeat(1 + ((n * 7919) % 3000)))
    const parts = await partsOf((write) => write(`${chunked}${pieces.map(chunk).join("")}0\r\n\r\n`))
    assert.strictEqual(Buffer.concat(parts).toString(), pieces.join(""))
  })

  it("that arrives slowly is passed on as it arrives", async () => {
    const parts = await partsOf(async (write) => {
      await write(chunked)
      for (const text of ["a", "b", "c"]) {
        await write(chunk(text))
        await new Promise((later) => setTimeout(later, 20))
      }
      await write("0\r\n\r\n")
    })
    assert.deepStrictEqual(parts.map(String), ["a", "b", "c"])
  })

  it("with a length is passed on as it is", async () => {
    const parts = await partsOf((write) => write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"))
    assert.deepStrictEqual(parts.map(String), ["hello"])
  })
})
