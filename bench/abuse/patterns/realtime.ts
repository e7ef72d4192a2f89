/** Clients of `/realtime`. */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"
import { type Client, request } from "../client.ts"
import { json, type Pattern, type Target } from "../pattern.ts"

const upgrade = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="
}

/** Opens a WebSocket. False if the service has refused it. */
const opened = async (client: Client, { key }: Target, path = "/realtime") =>
  (await client.send(request("GET", path, { apikey: key, ...upgrade })))?.status === 101

/** A text frame (RFC 6455 5.2) with a mask of zeros. */
const frame = (size: number) => {
  const length = size < 126 ? [0x80 | size] : [0x80 | 126, size >> 8, size & 255]
  return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), Buffer.alloc(size, "a")])
}

const flood = (bytes: Uint8Array): Pattern["attack"] => {
  return (target) => async (client) => {
    if (!(await opened(client, target))) return
    while (client.write(bytes)) await (client.unsent > 1_000_000 ? sleep(10) : nextTurn())
  }
}

/** Inserts a row of 10 KB into the table whose changes all clients get. */
const insert = (client: Client, { key }: Target) =>
  client.send(
    request(
      "POST",
      "/v1/db/feed",
      { apikey: key, ...json, prefer: "return=minimal" },
      `{"body":"${"x".repeat(10_000)}"}`
    )
  )

export const realtime: ReadonlyArray<Pattern> = [
  { name: "realtime-messages", title: "messages of 60 KB, which the service ignores", attack: flood(frame(60_000)) },
  {
    name: "realtime-small-messages",
    title: "messages of one byte, 1,000 at a time",
    attack: flood(Buffer.concat(Array.from({ length: 1000 }, () => frame(1))))
  },
  {
    name: "realtime-handshakes",
    title: "WebSockets that are opened and closed",
    attack: (target) => async (client) => {
      await opened(client, target)
      client.close()
      await client.closed
    }
  },
  {
    name: "realtime-unread",
    title: "1,024 WebSockets that read nothing, while eight clients insert rows of 10 KB",
    needs: ["feed"],
    sockets: (usual) => usual * 16,
    attack: (target) => async (client) => {
      if (client.index < 8) return insert(client, target)
      if (!(await client.open())) return undefined
      return client.ignore([request("GET", "/realtime", { apikey: target.key, ...upgrade })])
    }
  },
  {
    name: "realtime-replays",
    title: "WebSockets that ask for all events of 10 KB again and again, while eight clients insert",
    needs: ["feed"],
    attack: (target) => async (client) => {
      if (client.index < 8) return insert(client, target)
      await opened(client, target, "/realtime?since=0")
      await sleep(10)
      client.close()
      return client.closed
    }
  }
]
