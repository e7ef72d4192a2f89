import { createWriteStream } from "node:fs"
import { type Socket, connect, isIP } from "node:net"
import { pipeline } from "node:stream/promises"
import { type ConnectionOptions, connect as connectTls } from "node:tls"
import { Worker, parentPort, workerData } from "node:worker_threads"
import { constants, createZstdCompress } from "node:zlib"
import { type DumpWasmShared, at, chunkBytes, endFrame } from "./Shared.ts"
import type { PgDumpMessage, PgDumpTask } from "./Worker.ts"

/** Address of a server, in a form that can be sent to other threads. */
export interface DumpWasmServer {
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number }
  readonly tls: false | { readonly options: ConnectionOptions; readonly anyName: boolean }
}

const once = (socket: Socket, event: "connect" | "secureConnect") =>
  new Promise<void>((resolve, reject) => {
    socket.once(event, resolve).once("error", reject)
    socket.once("close", () => reject(new Error("The server closed the connection")))
  })

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** The server's response. More than one byte was injected by someone else, as nothing is encrypted yet. */
const sslAnswer = (socket: Socket) =>
  new Promise<string>((resolve, reject) => {
    socket.once("data", (bytes: Buffer) => resolve(bytes.toString("latin1")))
    socket.once("error", reject).once("close", () => reject(new Error("The server closed the connection")))
  })

/** Opens a connection, encrypted if required, on which nothing has been sent yet. */
const connectServer = async ({ address, tls }: DumpWasmServer): Promise<Socket> => {
  const socket = connect(address)
  await once(socket, "connect")
  socket.setNoDelay(true).setKeepAlive(true, 30_000)
  if (tls === false) return socket
  const answer = sslAnswer(socket)
  socket.write(sslRequest)
  if ((await answer) !== "S") throw new Error("The server does not support SSL connections")
  const named = "host" in address && isIP(address.host) === 0 ? { servername: address.host } : {}
  const host = "host" in address ? { host: address.host } : {}
  const anyName = tls.anyName ? { checkServerIdentity: () => undefined } : {}
  const secure = connectTls({ ...host, ...named, ...tls.options, ...anyName, socket })
  await once(secure, "secureConnect")
  return secure
}

// The thread of Wasm.ts between the server, pg_dump and the file. All bytes of a database pass through it, while the
// main thread answers requests.

export interface BridgeTask {
  readonly server: DumpWasmServer
  readonly file: string
  /** Level of zstd. */
  readonly level: number
  readonly pgDump: PgDumpTask
}

export type BridgeMessage =
  /** The file is complete and synced. */
  { readonly _tag: "Done" } | { readonly _tag: "Failed"; readonly reason: string }

/** Writes what the server sends into the ring, and pauses the server while the ring is full. */
const receiving = (socket: Socket, { counters, ring }: DumpWasmShared) => {
  let waiting: Buffer = Buffer.alloc(0)
  const wake = () => {
    Atomics.add(counters, at.event, 1)
    Atomics.notify(counters, at.event)
  }
  const write = () => {
    for (;;) {
      const received = Atomics.load(counters, at.received)
      const from = received & (ring.length - 1)
      const unread = (received - Atomics.load(counters, at.taken)) | 0
      const n = Math.min(waiting.length, ring.length - unread, ring.length - from)
      if (n === 0) break
      ring.set(waiting.subarray(0, n), from)
      waiting = waiting.subarray(n)
      Atomics.store(counters, at.received, (received + n) | 0)
      wake()
    }
  }
  const resume = () => {
    write()
    while (waiting.length > 0) {
      Atomics.store(counters, at.full, 1)
      const unread = (Atomics.load(counters, at.received) - Atomics.load(counters, at.taken)) | 0
      // Otherwise the reader freed space before it saw the flag.
      if (unread > ring.length / 2 || Atomics.exchange(counters, at.full, 0) === 0) return
      write()
    }
    socket.resume()
  }
  socket.on("data", (bytes: Buffer) => {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes])
    write()
    if (waiting.length === 0) return
    socket.pause()
    resume()
  })
  const close = () => {
    Atomics.store(counters, at.closed, 1)
    wake()
  }
  return { resume, close }
}

/** Maximum in characters: a message may quote a statement with all tables. */
const maxReason = 1_000

/** The error that pg_dump printed, without its prefixes. */
const reasonOf = (errors: string) => {
  const lines = errors.split("\n").filter((line) => line !== "")
  const first = lines.findIndex((line) => line.startsWith("pg_dump: error: "))
  return lines
    .slice(Math.max(first, 0))
    .filter((line) => !line.startsWith("pg_dump: detail: Command was: "))
    .map((line) => line.replace(/^pg_dump: (error|detail|hint): (Error message from server: )?/, ""))
    .join("\n")
    .slice(0, maxReason)
}

const run = async (task: BridgeTask, fail: (cause: unknown) => void): Promise<void> => {
  const { shared } = task.pgDump
  const socket = await connectServer(task.server)
  const { close, resume } = receiving(socket, shared)
  let broken: Error | undefined
  socket.on("error", (error) => (broken = error)).on("close", close)
  const params = { [constants.ZSTD_c_compressionLevel]: task.level, [constants.ZSTD_c_checksumFlag]: 1 }
  const zstd = createZstdCompress({ params, chunkSize: 1 << 17 })
  const written = pipeline(zstd, createWriteStream(task.file, { mode: 0o600, flush: true }))
  written.catch(fail)
  const worker = new Worker(new URL("./Worker.ts", import.meta.url), {
    workerData: task.pgDump,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 128 }
  })
  worker.on("error", fail)
  let hasEnded = false
  return new Promise((resolve) => {
    worker.on("exit", () => {
      if (!hasEnded) fail(new Error("The thread of pg_dump ended unexpectedly"))
    })
    worker.on("message", (message: PgDumpMessage) => {
      switch (message._tag) {
        case "ToServer": {
          Atomics.add(shared.counters, at.sent, message.bytes.length)
          socket.write(message.bytes)
          return
        }
        case "Space": {
          resume()
          return
        }
        case "Chunk": {
          const from = message.index * chunkBytes
          zstd.write(shared.chunks.subarray(from, from + message.length), () => {
            Atomics.add(shared.counters, at.freed, 1)
            Atomics.notify(shared.counters, at.freed)
          })
          return
        }
        case "Ended": {
          hasEnded = true
          const { code, errors, isComplete } = message
          if (code === 0 && isComplete) {
            endFrame(zstd)
            written.then(() => resolve(), fail)
          } else if (code === 0) fail(new Error("pg_dump ended before its output was complete"))
          else fail(new Error(reasonOf(errors) || broken?.message || `pg_dump ended with ${code}`))
          return
        }
        case "Broken":
          fail(new Error(message.reason))
      }
    })
  })
}

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")
const post = (message: BridgeMessage) => port.postMessage(message)
const fail = (cause: unknown) =>
  post({ _tag: "Failed", reason: cause instanceof Error ? cause.message : String(cause) })
run(workerData as BridgeTask, fail).then(() => post({ _tag: "Done" }), fail)
