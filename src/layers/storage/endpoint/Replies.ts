import { Effect } from "effect"
import { type IncomingMessage, type ServerResponse } from "node:http"
import { pipeline } from "node:stream"
import { type Reply } from "./Exchange.ts"
import { type S3Error } from "./Error.ts"
import { xmlError } from "./Xml.ts"

/** What of a request that nobody wants is read all the same, so that its connection can go on being used. */
const worthReading = 256 * 1024
/** How much and for how long it is read so that the sender gets to see the answer. */
const lingerBytes = 64 * 1024 * 1024
const lingerMillis = 2_000
/** Milliseconds in which a client has to take something of an answer. */
const idle = 60_000

export const errorReply = (error: S3Error, id: string, resource: string): Reply => ({
  status: error.status,
  headers: { "Content-Type": "application/xml" },
  body: xmlError({
    Code: error.code,
    Message: error.message,
    ...error.extra,
    Resource: resource,
    RequestId: id,
    HostId: id
  })
})

/** Sends the answer, to its end or to that of the connection. */
export const send = (message: IncomingMessage, response: ServerResponse, reply: Reply) =>
  Effect.callback<void>((resume) => {
    if (response.destroyed || response.headersSent) {
      resume(Effect.void)
      return undefined
    }
    const done = () => resume(Effect.void)
    response.once("close", done)
    // A client that takes nothing; while we work, nothing is sent either.
    response.setTimeout(idle, () => response.destroy())
    const { body, headers } = reply
    const left = unread(message)
    // Who waits to be told to go on has not sent what is announced, and may never.
    const closing = left > worthReading || (left > 0 && message.headers.expect !== undefined)
    if (typeof body === "function" && message.method !== "HEAD") {
      response.writeHead(reply.status, headers)
      const stream = body()
      pipeline(stream, response, done)
      return Effect.sync(() => stream.destroy())
    }
    const text = typeof body === "string" ? Buffer.from(body) : undefined
    const length = text === undefined ? {} : { "Content-Length": String(text.length) }
    response.writeHead(reply.status, { ...headers, ...length, ...(closing ? { Connection: "close" } : {}) })
    const content = message.method === "HEAD" ? undefined : text
    if (closing) {
      if (content === undefined) response.flushHeaders()
      else response.write(content)
      linger(message, () => response.end())
      return undefined
    }
    if (left > 0) message.resume()
    response.end(content, done)
    return undefined
  })

/** Bytes that may still come; Infinity when it is not known. */
const unread = (message: IncomingMessage) => {
  if (message.complete) return 0
  if (message.headers["transfer-encoding"] !== undefined) return Infinity
  return Number(message.headers["content-length"] ?? 0)
}

const linger = (message: IncomingMessage, end: () => void) => {
  let read = 0
  const stop = () => {
    clearTimeout(timer)
    message.off("data", count).off("close", stop).off("end", stop)
    message.on("error", () => undefined)
    end()
  }
  const count = (chunk: Buffer) => {
    read += chunk.length
    if (read > lingerBytes) stop()
  }
  const timer = setTimeout(stop, lingerMillis)
  message.on("data", count).once("close", stop).once("end", stop)
}
