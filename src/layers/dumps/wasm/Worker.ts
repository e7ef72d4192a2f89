import { parentPort, workerData } from "node:worker_threads"
import { DumpWasmInbox } from "./Inbox.ts"
import { type PgDumpModule, loadPgDump } from "./Module.ts"
import { DumpWasmProgress, type DumpWasmTables } from "./Progress.ts"
import { type DumpWasmShared, at, chunkBytes, chunks } from "./Shared.ts"

const trailer = "-- PostgreSQL database dump complete\n"
const trailerWithin = 512

/** The output of pg_dump, in its thread. Writing blocks while earlier chunks wait for compression. */
class DumpWasmOutbox {
  readonly #shared: DumpWasmShared
  readonly #post: (index: number, length: number) => void
  #posted = 0
  #used = 0
  #end = ""

  /** `post` passes a chunk on. */
  constructor(shared: DumpWasmShared, post: (index: number, length: number) => void) {
    this.#shared = shared
    this.#post = post
  }

  write(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const n = Math.min(bytes.length - from, chunkBytes - this.#used)
      this.#shared.chunks.set(bytes.subarray(from, from + n), this.#start + this.#used)
      this.#used += n
      from += n
      if (this.#used === chunkBytes) this.flush()
    }
  }

  /** Passes on an incomplete chunk too. */
  flush(): void {
    if (this.#used === 0) return
    const end = this.#shared.chunks.slice(this.#start, this.#start + this.#used).subarray(-trailerWithin)
    this.#end = (this.#end + Buffer.from(end).toString("latin1")).slice(-trailerWithin)
    this.#post(this.#posted % chunks, this.#used)
    this.#posted++
    this.#used = 0
    const { counters } = this.#shared
    for (let freed; this.#posted - (freed = Atomics.load(counters, at.freed)) >= chunks;) {
      Atomics.wait(counters, at.freed, freed)
    }
  }

  /** Whether the output ends with pg_dump's trailer. */
  get isComplete(): boolean {
    return this.#end.includes(trailer)
  }

  get #start(): number {
    return (this.#posted % chunks) * chunkBytes
  }
}

// A thread of Bridge.ts, which runs pg_dump. It is blocked most of the time, so it can send messages but not receive
// any; its input is in shared memory.

export interface PgDumpTask {
  readonly shared: DumpWasmShared
  readonly encrypted: boolean
  /** Connection parameters of libpq. */
  readonly connection: Readonly<Record<string, string>>
  /** Encoding of the file, by default that of the database. */
  readonly encoding: string | undefined
  /** Longest wait for a locked table, in ms. */
  readonly lockWait: number
  readonly tables: DumpWasmTables
  readonly directory: string | undefined
}

export type PgDumpMessage =
  | { readonly _tag: "ToServer"; readonly bytes: Uint8Array }
  /** The ring has space again. */
  | { readonly _tag: "Space" }
  | { readonly _tag: "Chunk"; readonly index: number; readonly length: number }
  /** `errors`: what pg_dump printed. */
  | { readonly _tag: "Ended"; readonly code: number; readonly isComplete: boolean; readonly errors: string }
  /** It failed to run. */
  | { readonly _tag: "Broken"; readonly reason: string }

const output = "/dev/dump"
/** Characters of pg_dump's output that are kept: the end, with its error. */
const maxErrors = 16_384

const quote = (value: string) => `'${value.replaceAll(/[\\']/g, "\\$&")}'`

const args = ({ connection, encoding, lockWait }: PgDumpTask) => [
  // Environment variables would break passwords that are not ASCII.
  `--dbname=${Object.entries(connection)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(" ")}`,
  "--no-password",
  "--format=plain",
  `--file=${output}`,
  "--no-sync",
  `--lock-wait-timeout=${lockWait}`,
  ...(encoding === undefined ? [] : [`--encoding=${encoding}`])
]

const connect = (module: PgDumpModule, task: PgDumpTask, post: (message: PgDumpMessage) => void) => {
  const inbox = new DumpWasmInbox(task.shared, task.encrypted)
  const progress = new DumpWasmProgress(task.tables)
  const { counters } = task.shared
  const onSpace = () => post({ _tag: "Space" })
  const read = (pointer: number, length: number) => {
    const n = inbox.read(module.HEAPU8.subarray(pointer, pointer + length), onSpace)
    Atomics.store(counters, at.progress, Math.floor(progress.fraction(inbox.rows, inbox.bytes) * 1e6))
    return n
  }
  const write = (pointer: number, length: number) => {
    const bytes = module.HEAPU8.slice(pointer, pointer + length)
    progress.sent(Buffer.from(bytes.buffer), inbox.rows, inbox.bytes)
    inbox.expectResponse()
    post({ _tag: "ToServer", bytes })
    return length
  }
  module._pgl_set_rw_cbs(module.addFunction(read, "iii"), module.addFunction(write, "iii"))
}

const openOutput = ({ FS }: PgDumpModule, outbox: DumpWasmOutbox) => {
  const device = FS.makedev(200, 0)
  FS.registerDevice(device, {
    open: (stream) => {
      stream.seekable = false
    },
    close: () => undefined,
    fsync: () => undefined,
    write: (_, memory, offset, length) => {
      outbox.write(new Uint8Array(memory.buffer, memory.byteOffset + offset, length))
      return length
    }
  })
  FS.mkdev(output, 0o666, device)
}

const run = async (task: PgDumpTask, post: (message: PgDumpMessage) => void) => {
  let errors = ""
  let code: number | undefined
  const collect = (line: string) => {
    errors = `${errors}${line}\n`.slice(-maxErrors)
  }
  const onExit = (exitCode: number) => {
    code ??= exitCode
  }
  const options = { thisProgram: "pg_dump", noExitRuntime: false, print: collect, printErr: collect, onExit }
  const module = await loadPgDump(options, task.directory)
  const outbox = new DumpWasmOutbox(task.shared, (index, length) => post({ _tag: "Chunk", index, length }))
  connect(module, task, post)
  openOutput(module, outbox)
  try {
    const returned = module.callMain(args(task))
    outbox.flush()
    post({ _tag: "Ended", code: code ?? returned ?? 1, isComplete: outbox.isComplete, errors })
  } catch (cause) {
    post({ _tag: "Ended", code: 1, isComplete: false, errors: `${errors}pg_dump: error: ${String(cause)}\n` })
  }
}

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")
const post = (message: PgDumpMessage) => port.postMessage(message)
await run(workerData as PgDumpTask, post).catch((cause: unknown) =>
  post({ _tag: "Broken", reason: cause instanceof Error ? cause.message : String(cause) })
)
