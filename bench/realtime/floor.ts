/**
 * The baseline of the feed: a bare `ws` server that forwards the notifications of a channel to every client (see
 * bench/support/remote.ts).
 */
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import { Client } from "pg"
import { WebSocketServer } from "ws"
import { serve } from "../support/remote.ts"

/** Starts the server; returns its URL. */
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
