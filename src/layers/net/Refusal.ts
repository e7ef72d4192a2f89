import { randomUUID } from "node:crypto"
import { type Duplex } from "node:stream"
import { type ErrorCode } from "../../domain/codes/ErrorCode.ts"

/** A request that does not reach the routes: status line, code and text. */
type Refusal = readonly [status: string, code: ErrorCode, text: string]

export const tooLate: Refusal = ["408 Request Timeout", "REQUEST_TIMEOUT", "The request took too long to arrive"]
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_INVALID_URL: [
    "400 Bad Request",
    "INVALID_HTTP",
    "The URL has characters that must be percent-encoded as UTF-8, such as %C3%A9 for é and %20 for a space"
  ],
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "HEADERS_TOO_LARGE", "The headers exceed 64 KiB"],
  ERR_HTTP_REQUEST_TIMEOUT: tooLate
}

const notHttp: Refusal = ["400 Bad Request", "INVALID_HTTP", "The request is not valid HTTP"]
export const noTunnel: Refusal = ["405 Method Not Allowed", "METHOD_NOT_ALLOWED", "CONNECT is not supported"]
export const noExpectation: Refusal = [
  "417 Expectation Failed",
  "INVALID_HTTP",
  "The only supported value of Expect is 100-continue"
]

/** The common error body as a response. */
export const refusalOf = ([status, code, text]: Refusal) => {
  const request_id = randomUUID()
  const body = JSON.stringify({ error: text, code, message: text, details: null, hint: null, request_id })
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": request_id
  }
  return { status, headers, body }
}

/** Headers in addition to those of every refusal. */
type More = Readonly<Record<string, string>>

/** Responds with the common error body where no request reaches the routes, and closes the connection. */
export const refuse = (socket: Duplex, refusal: Refusal, more: More = {}) => {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { body, headers, status } = refusalOf(refusal)
  const lines = Object.entries({ ...headers, ...more }).map((pair) => pair.join(": "))
  const head = [`HTTP/1.1 ${status}`, "Connection: close", ...lines]
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

interface ClientError extends Error {
  readonly code?: string
}

/** Whether the error is that a request did not arrive in time. */
export const isTimeout = ({ code }: ClientError) => code === "ERR_HTTP_REQUEST_TIMEOUT"

/** Handles `clientError` of Node's HTTP server: bytes that are not a request, or that do not arrive in time. */
export const refuseInvalid = (error: ClientError, socket: Duplex, more: More = {}) => {
  if (error.code === "ECONNRESET") socket.destroy()
  else refuse(socket, refusals[error.code ?? ""] ?? notHttp, more)
}
