/**
 * The baseline on this machine: a bare node:http server that streams request bodies to files and files to responses, in
 * a process called through bench/support/remote.ts.
 */
import { createReadStream, createWriteStream } from "node:fs"
import { mkdir, open, rm, stat } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { once } from "node:events"
import { type AddressInfo } from "node:net"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { serve } from "../support/remote.ts"

const files = new Map<string, string>()
const unsynced = new Set<string>()
let directory = ""
let made = 0

/** With `?sync` it responds when the bytes are on disk; the directory is not synced. */
const put = async (request: IncomingMessage, response: ServerResponse, name: string, sync: boolean) => {
  const file = join(directory, String(made++))
  await pipeline(request, createWriteStream(file, { flush: sync }))
  if (!sync) unsynced.add(file)
  const old = files.get(name)
  files.set(name, file)
  response.writeHead(200, { "Content-Length": 0 }).end()
  if (old === undefined) return
  unsynced.delete(old)
  await rm(old)
}

const get = async (response: ServerResponse, name: string) => {
  const file = files.get(name) ?? ""
  const { size } = await stat(file)
  response.writeHead(200, { "Content-Length": size })
  await pipeline(createReadStream(file), response)
}

/** Listens and returns the URL. */
const start = async (given: string) => {
  directory = given
  await mkdir(directory)
  const server = createServer((request, response) => {
    const [name = "", query] = request.url?.split("?") ?? []
    const done = request.method === "PUT" ? put(request, response, name, query === "sync") : get(response, name)
    done.catch((cause: unknown) => response.destroy(cause as Error))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Syncs all unsynced files, so that the next measurement does not wait for them. */
const settle = async () => {
  for (const file of unsynced) {
    const handle = await open(file)
    await handle.sync()
    await handle.close()
  }
  unsynced.clear()
}

const calls = { start, settle }
export type StorageFiles = typeof calls

if (import.meta.main) serve(calls)
