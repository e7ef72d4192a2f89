import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

// pg_dump 18.3 as WebAssembly, of the package @electric-sql/pglite-tools. Its own pgDump() leaves out lines of values
// and keeps the whole dump in a string: what is used here is the program, which is beside it, with the script that
// Emscripten made for it, which is only in the source map. Both are used only if they are the ones that were tried.

/** What of the program's module is used here (https://emscripten.org/docs/api_reference/module.html). */
export interface PgDumpModule {
  readonly HEAPU8: Uint8Array<ArrayBuffer>
  readonly ENV: Record<string, string>
  readonly FS: {
    readonly makedev: (major: number, minor: number) => number
    readonly registerDevice: (device: number, operations: DeviceOperations) => void
    readonly mkdev: (path: string, mode: number, device: number) => void
  }
  readonly addFunction: (f: (pointer: number, length: number) => number, signature: "iii") => number
  /** What reads and writes of the connection to the server become. */
  readonly _pgl_set_rw_cbs: (read: number, write: number) => void
  /** Gives the exit code, or nothing when `onExit` has got it. */
  readonly callMain: (args: ReadonlyArray<string>) => number | undefined
}

interface DeviceOperations {
  readonly open: (stream: { seekable: boolean }) => void
  readonly close: () => void
  readonly fsync: () => void
  readonly write: (stream: unknown, memory: Int8Array, offset: number, length: number) => number
}

export interface PgDumpOptions {
  readonly thisProgram: string
  readonly noExitRuntime: boolean
  readonly print: (line: string) => void
  readonly printErr: (line: string) => void
  readonly onExit: (code: number) => void
}

const tried = {
  program: "cdbc551ec339cc9867003203bc8f03911858be2be92b3e88376922b09ccdf58c",
  script: "7a30ef1ec52a8ae18a84463c503d86096d3f003a0d7f5e52e29af2855b5dc5f8"
}

const checked = <A extends string | Buffer>(bytes: A, what: keyof typeof tried): A => {
  if (createHash("sha256").update(bytes).digest("hex") === tried[what]) return bytes
  throw new Error(
    `pg_dump as WebAssembly is another than the one that was tried (sha256 of its ${what}): install the packages of package-lock.json again, or pg_dump of PostgreSQL`
  )
}

const filesIn = (directory: string) => {
  try {
    const map = JSON.parse(readFileSync(join(directory, "pg_dump.cjs.map"), "utf8")) as {
      readonly sources: ReadonlyArray<string>
      readonly sourcesContent: ReadonlyArray<string>
    }
    const program = readFileSync(join(directory, "pg_dump.wasm"))
    return { program, script: map.sourcesContent[map.sources.indexOf("../release/pg_dump.js")] ?? "" }
  } catch (cause) {
    throw new Error("pg_dump as WebAssembly is not installed: install the packages of package-lock.json", { cause })
  }
}

const installed = () => {
  try {
    return dirname(fileURLToPath(import.meta.resolve("@electric-sql/pglite-tools/pg_dump")))
  } catch {
    return ""
  }
}

/** Loads it; `directory`: where its files are, else the installed package's. */
export const loadPgDump = async (options: PgDumpOptions, directory = installed()): Promise<PgDumpModule> => {
  const files = filesIn(directory)
  const wasmBinary = checked(files.program, "program")
  const script = Buffer.from(checked(files.script, "script")).toString("base64")
  const { default: make } = (await import(`data:text/javascript;base64,${script}`)) as {
    readonly default: (options: PgDumpOptions & Record<string, unknown>) => Promise<PgDumpModule>
  }
  // Where it would look for its program, had it not been given; a data URL is no place to look beside.
  return make({ ...options, wasmBinary, locateFile: (name: string) => name })
}
