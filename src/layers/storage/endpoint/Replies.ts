import { Effect } from "effect"
import { type IncomingMessage, type ServerResponse } from "node:http"
import { pipeline } from "node:stream"
import { type Reply } from "./Exchange.ts"
import { type S3Error } from "./Error.ts"
import { xmlError } from "./Xml.ts"

/** Up to this many bytes of an unneeded request body are read, so that its connection can be reused. */
const drainBytes = 256 * 1024
/** Limits for reading a longer body before the connection closes, so that the sender receives the response. */
const lingerBytes = 64 * 1024 * 1024
const lingerMillis = 2_000
/** The timeout for a client that reads nothing of the response, in ms. */
const idleMillis = 60_000

export const errorReply = (error: S3Error, id: string, resource: string): Reply => ({
  status: error.status,
  headers: { ...error.headers, "Content-Type": "application/xml" },
  body: xmlError({
    Code: error.code,
    Message: error.message,
    ...error.extra,
    Resource: resource,
    RequestId: id,
    HostId: id
  })
})

/** Sends the response; completes when it is sent or the connection has closed. */
export const send = (message: IncomingMessage, response: ServerResponse, reply: Reply) =>
  Effect.callback<void>((resume) => {
    if (response.destroyed || response.headersSent) {
      resume(Effect.void)
      return undefined
    }
    const done = () => resume(Effect.void)
    response.once("close", done)
    response.setTimeout(idleMillis, () => response.destroy())
    const { body, headers } = reply
    const unreadBytes = unread(message)
    // A client that waits for 100 Continue has not sent its body and may never do so.
    const closing = unreadBytes > drainBytes || (unreadBytes > 0 && message.headers.expect !== undefined)
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
    if (unreadBytes > 0) message.resume()
    response.end(content, done)
    return undefined
  })

/** The number of bytes that may still arrive; Infinity if unknown. */
const unread = (message: IncomingMessage) => {
  if (message.complete) return 0
  if (message.headers["transfer-encoding"] !== undefined) return Infinity
  return Number(message.headers["content-length"] ?? 0)
}

const linger = (message: IncomingMessage, end: () => void) => {
  let read = 0
  const stop = () => {
    clearTimeout(timer)
    message.off("readable", count).off("close", stop).off("end", stop)
    message.on("error", () => undefined)
    end()
  }
  const count = () => {
    const chunk: Buffer | null = message.read()
    read += chunk?.length ?? 0
    if (read > lingerBytes) stop()
  }
  const timer = setTimeout(stop, lingerMillis)
  // A socket in flowing mode would be read up to 32 times before the next one and before other requests.
  message.on("readable", count).once("close", stop).once("end", stop)
}
