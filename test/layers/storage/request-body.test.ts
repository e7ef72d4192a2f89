import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { afterEach, assert, describe, it } from "vitest"
import { requestBody } from "../../../src/layers/storage/endpoint/RequestHeaders.ts"

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

const head = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
const patience = { idle: 80, window: 300, bytes: 1000 }

/** The result of reading a body of a million bytes that a client sends with the given behaviour. */
const outcome = (client: (socket: Socket) => void) =>
  new Promise<{ readonly code: string; readonly received: number }>((resolve) => {
    const handle = async (message: IncomingMessage, response: ServerResponse) => {
      let received = 0
      try {
        for await (const chunk of requestBody(message, response, patience)) received += chunk.length
        resolve({ code: "whole", received })
      } catch (cause) {
        resolve({ code: (cause as { readonly code: string }).code, received })
      }
    }
    const listening = createServer((message, response) => void handle(message, response))
    server = listening.listen(0, "127.0.0.1", () => {
      const { port } = listening.address() as AddressInfo
      const socket = connect(port, "127.0.0.1", () => client(socket))
      socket.on("error", () => undefined)
    })
  })

describe("the body of a request", () => {
  it("is read whole", async () => {
    const sent = await outcome((socket) => void socket.end(head + "x".repeat(1_000_000)))
    assert.deepStrictEqual(sent, { code: "whole", received: 1_000_000 })
  })

  it("times out when it stalls", async () => {
    const sent = await outcome((socket) => void socket.write(`${head}hello`))
    assert.deepStrictEqual(sent, { code: "RequestTimeout", received: 5 })
  })

  it("times out when it is too slow", async () => {
    const { code, received } = await outcome((socket) => {
      socket.write(head)
      const drip = setInterval(() => socket.write("x"), 20)
      socket.on("close", () => clearInterval(drip))
      setTimeout(() => socket.destroy(), 3000).unref()
    })
    assert.strictEqual(code, "RequestTimeout")
    assert.isBelow(received, 40)
  })

  it("is incomplete when the connection closes", async () => {
    const sent = await outcome((socket) => socket.write(`${head}hello`, () => socket.destroy()))
    assert.deepStrictEqual(sent, { code: "IncompleteBody", received: 5 })
  })
})
