import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo } from "node:net"

/** A request with its whole body. */
export interface FakeRequest {
  readonly method: string
  /** Not percent-decoded. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage["headers"]
  readonly text: string
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | ReadonlyArray<string>>>
  readonly body?: string
}

export type Handler = (request: FakeRequest) => Reply | Promise<Reply>

/** Thrown by handlers: an error in the format of OAuth 2.0 (RFC 6749 5.2), which this server uses everywhere. */
export class OAuth2Error extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, description = "") {
    super(description)
    this.status = status
    this.code = code
  }
}

export const json = (status: number, value: unknown, headers: Reply["headers"] = {}): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...headers },
  body: JSON.stringify(value)
})

export const empty: Reply = { status: 204 }

/** 302 between pages, 303 to a client with the result of its request. */
export const redirect = (url: string, cookies: ReadonlyArray<string> = [], status: 302 | 303 = 302): Reply => ({
  status,
  headers: { location: url, ...(cookies.length === 0 ? {} : { "set-cookie": cookies }) }
})

export const withQuery = (url: string, added: Readonly<Record<string, string>>) => {
  const to = new URL(url)
  for (const [name, value] of Object.entries(added)) to.searchParams.set(name, value)
  return to.href
}

export const formOf = ({ text }: FakeRequest) => new URLSearchParams(text)

/** The body as a JSON object; the error names `what` otherwise. */
export const objectOf = ({ text }: FakeRequest, code = "invalid_request") => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new OAuth2Error(400, code, "The body is not JSON")
  }
  return value as Readonly<Record<string, unknown>>
}

export const cookieOf = ({ headers }: FakeRequest, name: string) =>
  (headers.cookie ?? "")
    .split("; ")
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1)

/** Without `seconds` it is a session cookie; 0 removes it. */
export const cookie = (name: string, value: string, seconds?: number) =>
  `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${seconds === undefined ? "" : `; Max-Age=${seconds}`}`

const refusal = (cause: unknown): Reply =>
  cause instanceof OAuth2Error
    ? json(cause.status, { error: cause.code, error_description: cause.message })
    : json(500, { error: "error", error_description: cause instanceof Error ? cause.message : String(cause) })

const readText = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

const answer = async (request: IncomingMessage, response: ServerResponse, handler: Handler) => {
  const url = new URL(request.url ?? "/", "http://_")
  const text = await readText(request)
  const received = {
    method: request.method ?? "GET",
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    text
  }
  let reply: Reply
  try {
    reply = await handler(received)
  } catch (cause) {
    reply = refusal(cause)
  }
  for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value)
  response.writeHead(reply.status)
  response.end(reply.body)
}

/** An HTTP server on a free port of loopback. */
export const listen = async (handler: Handler) => {
  const server = createServer((request, response) => {
    answer(request, response, handler).catch(() => response.destroy())
  })
  await new Promise<void>((done, failed) => {
    server.once("error", failed)
    server.listen(0, "127.0.0.1", done)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    }
  }
}
