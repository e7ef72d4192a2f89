import { assert } from "vitest"
import { connect } from "node:net"
import { type Address } from "./service.ts"

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body, if it is JSON. */
  readonly json: unknown
}

export interface Request {
  /** Sent as `apikey`. */
  readonly key?: string | undefined
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** One request, `"GET /v1/db/notes?id=eq.1"`. */
export const ask = async ({ url }: Pick<Address, "url">, line: string, request: Request = {}): Promise<Reply> => {
  const [method = "", path = ""] = line.split(" ", 2)
  const { body, key, token } = request
  const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === undefined ? {} : { apikey: key }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...request.headers
    },
    body: raw ? ((body ?? null) as Exclude<RequestInit["body"], undefined>) : JSON.stringify(body),
    ...(request.signal === undefined ? {} : { signal: request.signal })
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parsed(text) }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Runs one statement as the service role; returns its rows. */
export const sql = async (
  service: Pick<Address, "url" | "service_role">,
  text: string,
  params: Array<unknown> = []
) => {
  const reply = await ask(service, "POST /v1/sql", { key: service.service_role, body: { sql: text, params } })
  assert.strictEqual(reply.status, 200, reply.text)
  return (reply.json as { rows: Array<Record<string, unknown>> }).rows
}

/** Asserts that a response is an error of the service, with this status and code and without internals. */
export const assertRefused = (reply: Reply, status: number, code?: string) => {
  const about = `${reply.status} ${reply.text.slice(0, 500)}`
  assert.strictEqual(reply.status, status, about)
  assert.match(reply.headers.get("content-type") ?? "", /^application\/json/, about)
  const body = reply.json as Record<string, unknown>
  for (const name of ["error", "code", "message", "request_id"]) assert.isString(body[name], about)
  for (const name of ["details", "hint"]) assert.property(body, name, about)
  assert.strictEqual(body["message"], body["error"])
  if (code !== undefined) assert.strictEqual(body["code"], code, about)
  assert.notMatch(reply.text, /node_modules|\.ts:\d+|\bat [\w.]+ \(/, "contains a stack trace")
  return body
}

/** Sends bytes on a new socket; returns everything received until the other side closes. */
export const talk = ({ url }: Pick<Address, "url">, ...pieces: ReadonlyArray<string | Uint8Array>): Promise<string> =>
  new Promise((done, failed) => {
    const { hostname, port } = new URL(url)
    let received = ""
    const socket = connect(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece)
    })
    socket.setEncoding("latin1").on("data", (text: string) => (received += text))
    socket.setTimeout(30_000, () => socket.destroy(new Error(`Nothing received for 30 s after: ${received}`)))
    socket.once("close", () => done(received))
    socket.once("error", (cause) => {
      // Closed while still sending: the response before that counts.
      if (received === "" && !/ECONNRESET|EPIPE/.test(cause.message)) failed(cause)
    })
  })

/** A raw response, parsed to the form that `ask` returns. */
export const replyOf = (raw: string): Reply => {
  const [head = "", text = ""] = raw.split(/\r\n\r\n/, 2)
  const [status = "", ...fields] = head.split("\r\n")
  const headers = new Headers(fields.map((field) => field.split(/: */, 2) as [string, string]))
  return { status: Number(status.split(" ")[1]), headers, text, json: parsed(text) }
}
