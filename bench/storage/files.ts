/**
 * What a Node process can do at best with files on this machine now: a bare node:http server that streams bodies to
 * files and files to answers. See bench/remote.ts for how it is asked.
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

/** With `?sync` the answer comes when the bytes are on disk; the directory is not synced. */
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

/** Listens; its address. */
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

/** Brings to disk what was not synced, so that the next one to be measured does not wait for it. */
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
