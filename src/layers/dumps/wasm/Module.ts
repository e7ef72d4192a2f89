import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

// pg_dump 18.3 as WebAssembly, from the package @electric-sql/pglite-tools. The package's pgDump() loses lines of values
// and keeps the whole dump in a string, so this uses the program itself, with the Emscripten script that is only in the
// source map. Both are verified by their checksums.

/** The used part of the program's module (https://emscripten.org/docs/api_reference/module.html). */
export interface PgDumpModule {
  readonly HEAPU8: Uint8Array<ArrayBuffer>
  readonly ENV: Record<string, string>
  readonly FS: {
    readonly makedev: (major: number, minor: number) => number
    readonly registerDevice: (device: number, operations: DeviceOperations) => void
    readonly mkdev: (path: string, mode: number, device: number) => void
  }
  readonly addFunction: (f: (pointer: number, length: number) => number, signature: "iii") => number
  /** Sets the callbacks that read from and write to the server. */
  readonly _pgl_set_rw_cbs: (read: number, write: number) => void
  /** Returns the exit code, unless `onExit` received it. */
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

const checksums = {
  program: "cdbc551ec339cc9867003203bc8f03911858be2be92b3e88376922b09ccdf58c",
  script: "7a30ef1ec52a8ae18a84463c503d86096d3f003a0d7f5e52e29af2855b5dc5f8"
}

const checked = <A extends string | Buffer>(bytes: A, what: keyof typeof checksums): A => {
  if (createHash("sha256").update(bytes).digest("hex") === checksums[what]) return bytes
  throw new Error(
    `The built-in pg_dump is not the verified version (sha256 of its ${what}): reinstall the packages of package-lock.json, or install PostgreSQL's pg_dump`
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
    throw new Error("The built-in pg_dump is not installed: install the packages of package-lock.json", { cause })
  }
}

/** In a release, the two files of the package that are used; else the package. */
const released = fileURLToPath(new URL("../../../../dist/pg_dump", import.meta.url))
const installed = () => {
  if (existsSync(released)) return released
  try {
    return dirname(fileURLToPath(import.meta.resolve("@electric-sql/pglite-tools/pg_dump")))
  } catch {
    return ""
  }
}

/** Loads pg_dump from a directory, by default that of the installed package. */
export const loadPgDump = async (options: PgDumpOptions, directory = installed()): Promise<PgDumpModule> => {
  const files = filesIn(directory)
  const wasmBinary = checked(files.program, "program")
  const script = Buffer.from(checked(files.script, "script")).toString("base64")
  const { default: make } = (await import(`data:text/javascript;base64,${script}`)) as {
    readonly default: (options: PgDumpOptions & Record<string, unknown>) => Promise<PgDumpModule>
  }
  // The default would search next to the script, which is a data URL; the program is given anyway.
  return make({ ...options, wasmBinary, locateFile: (name: string) => name })
}
