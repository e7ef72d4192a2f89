import { assert } from "vitest"
import { WebSocket } from "ws"
import { ask, type Reply } from "../client.ts"
import { type Address, until } from "../service.ts"

export interface FeedEvent {
  readonly id: number
  readonly schema: string
  readonly table: string
  readonly operation: string
  readonly row: Readonly<Record<string, unknown>> | null
  readonly old_row: Readonly<Record<string, unknown>> | null
  /** Set for gaps. */
  readonly gap?: true
  readonly since?: number
  readonly oldest?: number
}

export interface FeedOptions {
  /** Sent in the query. */
  readonly key?: string
  readonly since?: number | string
  /** Further parameters of the query. */
  readonly query?: Readonly<Record<string, string>>
  /** Sent as `Authorization: Bearer`. */
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of `/realtime`. */
export interface Feed {
  readonly socket: WebSocket
  /** Messages not taken yet, oldest first. */
  readonly messages: Array<FeedEvent>
  /** Waits for a message and takes all messages up to it. */
  readonly upTo: (good: (event: FeedEvent) => boolean, millis?: number) => Promise<ReadonlyArray<FeedEvent>>
  /** Resolves with the close code and reason: `"1001 The service is shutting down"`. */
  readonly closed: Promise<string>
}

const addressOf = ({ url }: Pick<Address, "url">, { key, query: further, since }: FeedOptions) => {
  const query = new URLSearchParams(further)
  if (key !== undefined) query.set("apikey", key)
  if (since !== undefined) query.set("since", String(since))
  return `${url.replace("http", "ws")}/realtime?${query}`
}

const started = new Set<WebSocket>()
/** Terminates all feeds that were opened. */
export const endFeeds = () => {
  for (const socket of started) socket.terminate()
  started.clear()
}

const start = (service: Pick<Address, "url">, options: FeedOptions) => {
  const token = options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }
  const socket = new WebSocket(addressOf(service, options), { headers: { ...options.headers, ...token } })
  started.add(socket)
  return socket
}

/** Opens a feed and waits until it is connected. */
export const openFeed = async (service: Pick<Address, "url">, options: FeedOptions): Promise<Feed> => {
  const socket = start(service, options)
  const messages: Array<FeedEvent> = []
  socket.on("message", (data, binary) => {
    assert.isFalse(binary)
    messages.push(JSON.parse(String(data)) as FeedEvent)
  })
  const closed = new Promise<string>((done) => {
    socket.once("close", (code, reason) => done(`${code} ${String(reason)}`.trim()))
  })
  await new Promise<void>((open, failed) => {
    socket.once("open", open).once("error", failed)
  })
  socket.on("error", () => undefined)
  const upTo = async (good: (event: FeedEvent) => boolean, millis?: number) => {
    const at = await until(
      async () => messages.findIndex(good),
      (at) => at >= 0,
      millis
    )
    assert.isAtLeast(at, 0, `not received; last messages: ${JSON.stringify(messages.slice(-5)).slice(0, 1000)}`)
    return messages.splice(0, at + 1)
  }
  return { socket, messages, upTo, closed }
}

/** The response to a rejected connection. */
export const refusedFeed = (service: Pick<Address, "url">, options: FeedOptions): Promise<Reply> =>
  new Promise((done, failed) => {
    const socket = start(service, options)
    socket.once("open", () => {
      socket.terminate()
      failed(new Error("The connection was accepted"))
    })
    socket.on("error", failed)
    socket.once("unexpected-response", (_, response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.once("end", () => {
        const headers = new Headers(response.headers as Record<string, string>)
        done({ status: response.statusCode ?? 0, headers, text, json: JSON.parse(text) as unknown })
      })
    })
  })

/** Subscribes as the service role; returns the subscription. */
export const subscribe = async (service: Pick<Address, "url" | "service_role">, table: string, schema = "public") => {
  const reply = await ask(service, "POST /api/realtime/subscribe", {
    key: service.service_role,
    body: { schema, table }
  })
  assert.oneOf(reply.status, [200, 201], reply.text)
  return reply.json as Readonly<Record<string, unknown>>
}

/** GET `/api/realtime/…` as the service role. */
export const getRealtime = async (service: Pick<Address, "url" | "service_role">, path: string) => {
  const reply = await ask(service, `GET /api/realtime/${path}`, { key: service.service_role })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply.json
}
export const statusOf = async (service: Pick<Address, "url" | "service_role">) =>
  (await getRealtime(service, "status")) as {
    readonly listener_connected: boolean
    readonly listener_since: string
    readonly active_channels: ReadonlyArray<string>
    readonly connected_clients: number
    readonly event_log_size: number
  }
