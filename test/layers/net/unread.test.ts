import { createServer, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, assert, describe, it } from "vitest"
import { UnreadResponses, batchedResponses } from "../../../src/layers/net/BatchedResponse.ts"
import { AnswerMemory } from "../../../src/services/access/AnswerBudget.ts"

const size = 32 * 1024 * 1024
const body = Buffer.alloc(size, "x")

let server: Server | undefined
afterEach(() => server?.closeAllConnections())
afterEach(() => server?.close())

/** A server of a large body, and the memory that counts it. */
const serve = async (stallMillis: number) => {
  const memory = new AnswerMemory(64 * 1024 * 1024)
  const unread = new UnreadResponses(stallMillis, memory)
  server = createServer({ ServerResponse: batchedResponses(unread) }, (_, response: ServerResponse) => {
    response.setHeader("content-length", size)
    response.end(body)
  })
  unread.watch(server)
  server.listen(0, "127.0.0.1")
  await new Promise((listening) => server?.once("listening", listening))
  return { memory, port: (server.address() as AddressInfo).port }
}

/** A client that reads only when `resume` is called. */
const ask = async (port: number): Promise<Socket> => {
  const socket = connect(port, "127.0.0.1").pause()
  socket.on("error", () => undefined)
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
  await new Promise((connected) => socket.once("connect", connected))
  return socket
}

const until = async (holds: () => boolean) => {
  while (!holds()) await sleep(20)
}

/** Whether another answer of the client may be received. */
const may = (memory: AnswerMemory) => {
  const { forget, now } = memory.receive("127.0.0.1", 1, () => undefined)
  if (now) memory.release("127.0.0.1", 1)
  else forget()
  return now
}

describe("responses that are not read", () => {
  it("are counted until they are, and end the connection after a while", async () => {
    const { memory, port } = await serve(1_500)
    const socket = await ask(port)
    await until(() => !may(memory))
    await until(() => may(memory))
    let received = 0
    socket.on("data", (chunk: Buffer) => void (received += chunk.length)).resume()
    await new Promise((closed) => socket.once("close", closed))
    assert.isBelow(received, size, "the connection was ended before the end of the response")
  })

  it("do not end the connection of a client that reads slowly but steadily", async () => {
    const { memory, port } = await serve(1_500)
    const socket = await ask(port)
    let received = 0
    socket.on("data", (chunk: Buffer) => {
      received += chunk.length
      socket.pause()
    })
    const reading = setInterval(() => socket.resume(), 5)
    await sleep(4_000)
    clearInterval(reading)
    assert.isFalse(socket.destroyed)
    socket.removeAllListeners("data")
    socket.on("data", (chunk: Buffer) => void (received += chunk.length)).resume()
    await until(() => received > size)
    await until(() => may(memory))
    socket.destroy()
  })
})
