import { createServer, get, type IncomingMessage, request, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { text } from "node:stream/consumers"
import { afterEach, assert, describe, it } from "vitest"
import { UnreadResponses, batchedResponses } from "../../../src/layers/net/BatchedResponse.ts"
import { AnswerMemory } from "../../../src/services/access/AnswerBudget.ts"

const ServerResponses = batchedResponses(new UnreadResponses(30_000, new AnswerMemory(1024 * 1024)))

let server: Server | undefined
afterEach(() => server?.closeAllConnections())
afterEach(() => server?.close())

/** The port of a server that passes requests on with their responses, in groups of `size`. */
const serve = async (size: number, answer: (responses: ReadonlyArray<ServerResponse>) => void) => {
  let waiting: Array<ServerResponse> = []
  server = createServer({ ServerResponse: ServerResponses }, (_request: IncomingMessage, response: ServerResponse) => {
    if (waiting.push(response) === size) answer(waiting.splice(0))
  }).listen(0, "127.0.0.1")
  await new Promise((listening) => server?.once("listening", listening))
  return (server.address() as AddressInfo).port
}

const reply = (port: number) =>
  new Promise<string>((resolve, reject) => {
    get({ port, host: "127.0.0.1" }, (response) => void text(response).then(resolve)).on("error", reject)
  })

const finish = (response: ServerResponse, body: string) =>
  response.writeHead(200, { "content-length": String(Buffer.byteLength(body)) }).end(body)

describe("BatchedResponse", () => {
  it("writes the responses of a turn of the event loop when all have ended", async () => {
    const written: Array<number | undefined> = []
    const port = await serve(2, (responses) => {
      for (const [at, response] of responses.entries()) finish(response, `réponse ${at}`)
      written.push(...responses.map(({ socket }) => socket?.bytesWritten))
    })
    assert.deepStrictEqual((await Promise.all([reply(port), reply(port)])).sort(), ["réponse 0", "réponse 1"])
    assert.deepStrictEqual(written, [0, 0])
  })

  it("keeps the order of pipelined requests", async () => {
    const port = await serve(3, (responses) => {
      for (const [at, response] of [...responses.entries()].toReversed()) finish(response, `<${at}>`)
    })
    const socket = connect(port, "127.0.0.1")
    socket.write(
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2) + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    assert.deepStrictEqual((await text(socket)).match(/<\d>/g), ["<0>", "<1>", "<2>"])
  })

  it("refuses a body that is not as long as its header says", async () => {
    const thrown: Array<unknown> = []
    const port = await serve(1, ([response]) => {
      if (response === undefined) return
      response.strictContentLength = true
      response.writeHead(200, { "content-length": "5" })
      try {
        response.end("four")
      } catch (error) {
        thrown.push((error as NodeJS.ErrnoException).code)
        response.end("five.")
      }
    })
    assert.strictEqual(await reply(port), "five.")
    assert.deepStrictEqual(thrown, ["ERR_HTTP_CONTENT_LENGTH_MISMATCH"])
  })

  it("ends in each of the ways that a response can end", async () => {
    const port = await serve(1, ([response]) => {
      if (response?.req.method === "HEAD") response.writeHead(200, { "content-length": "9" }).end(() => undefined)
      else if (response?.req.url === "/none") response.writeHead(204).end()
      else if (response?.req.url === "/bytes") response.writeHead(200, { "content-length": 2 }).end(Buffer.from("ok"))
      else if (response?.req.url === "/parts") {
        response.writeHead(200)
        response.write("o")
        response.end("k")
      } else response?.end("ok")
    })
    const all = ["GET /", "GET /parts", "GET /bytes", "GET /none", "HEAD /"].map((line) => {
      const [method = "", path = ""] = line.split(" ")
      return new Promise<string>((resolve, reject) => {
        request({ port, host: "127.0.0.1", method, path }, (response) => void text(response).then(resolve))
          .on("error", reject)
          .end()
      })
    })
    assert.deepStrictEqual(await Promise.all(all), ["ok", "ok", "ok", "", ""])
  })

  it("drops the response of a client that has disconnected", async () => {
    const port = await serve(1, ([response]) => {
      if (response === undefined) return
      finish(response, "late")
      response.socket?.destroy()
    })
    const error = await reply(port).then(String, (error: NodeJS.ErrnoException) => error.code)
    assert.strictEqual(error, "ECONNRESET")
  })
})
