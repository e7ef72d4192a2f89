import { spawn } from "node:child_process"
import { createReadStream } from "node:fs"
import { pipeline } from "node:stream"
import { parentPort, workerData } from "node:worker_threads"
import { createZstdDecompress } from "node:zlib"
import { DumpContentsReader } from "../../../domain/dumps/Contents.ts"

// The thread of Contents.ts, which hashes every row of a dump, while the main thread answers requests.

/** A script compressed with zstd, or the output of a program. */
export type ContentsTask =
  | { readonly file: string }
  | { readonly program: string; readonly args: ReadonlyArray<string>; readonly env: Readonly<Record<string, string>> }

export type ContentsMessage =
  | { readonly tables: DumpContentsReader["tables"]; readonly statements: DumpContentsReader["statements"] }
  | { readonly problem: string }

const sourceOf = (task: ContentsTask) => {
  if ("file" in task) {
    const decompressed = createZstdDecompress()
    // The iterator reports the errors of both.
    decompressed.on("error", () => undefined)
    pipeline(createReadStream(task.file), decompressed, () => undefined)
    return { bytes: decompressed, ended: Promise.resolve(0) }
  }
  const child = spawn(task.program, [...task.args], { env: task.env, stdio: ["ignore", "pipe", "ignore"] })
  const ended = new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject))
  ended.catch(() => undefined)
  return { bytes: child.stdout, ended }
}

const run = async (task: ContentsTask): Promise<ContentsMessage> => {
  const reader = new DumpContentsReader()
  const { bytes, ended } = sourceOf(task)
  for await (const chunk of bytes) {
    const problem = reader.read(chunk as Buffer)
    if (problem !== undefined) return { problem }
  }
  const code = await ended
  if (code !== 0) return { problem: `pg_restore ended with ${code}` }
  const problem = reader.end()
  return problem === undefined ? { tables: reader.tables, statements: reader.statements } : { problem }
}

const port = parentPort
if (port === null) throw new Error("This runs as a worker thread")
port.postMessage(await run(workerData as ContentsTask).catch((cause: unknown) => ({ problem: String(cause) })))
