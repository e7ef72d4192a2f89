/**
 * The baseline of deliveries: a Node process that posts the same bodies with node:http over 50 connections (see
 * bench/support/remote.ts).
 */
import { Agent, request } from "node:http"
import { serve } from "../support/remote.ts"

const concurrency = 50
const agent = new Agent({ keepAlive: true, maxSockets: concurrency })

const post = (url: string, body: string) =>
  new Promise<void>((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    request(url, { method: "POST", agent, headers }, (response) => {
      response.resume().on("end", resolve).on("error", reject)
    })
      .on("error", reject)
      .end(body)
  })

const bodyOf = (n: number) => {
  const row = { id: n, n, title: `Task number ${n}`, done: false }
  const timestamp = new Date().toISOString()
  return JSON.stringify({ event: "INSERT", schema: "public", table: "bench_hook", row, old_row: null, timestamp })
}

const run = async ({ count, first, url }: { count: number; first: number; url: string }) => {
  let next = first
  const loop = async () => {
    while (next < first + count) await post(url, bodyOf(next++))
  }
  await Promise.all(Array.from({ length: concurrency }, loop))
}

const calls = { run }
export type Poster = typeof calls

if (import.meta.main) serve(calls)
