/**
 * What a WebSocket server can do at best on this machine now: a bare `ws` server that tells everybody what PostgreSQL
 * notifies on a channel, as it is. See bench/remote.ts for how it is asked.
 */
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import { Client } from "pg"
import { WebSocketServer } from "ws"
import { serve } from "../support/remote.ts"

/** Listens; the address of the WebSocket server. */
const start = async ({ channel, databaseUrl }: { channel: string; databaseUrl: string }) => {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
  await once(server, "listening")
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  client.on("notification", ({ payload = "" }) => {
    for (const socket of server.clients) socket.send(payload)
  })
  await client.query(`listen "${channel}"`)
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const calls = { start }
export type RealtimeFloor = typeof calls

if (import.meta.main) serve(calls)
