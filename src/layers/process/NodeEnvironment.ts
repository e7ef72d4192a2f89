import { lstatSync, mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { isMainThread } from "node:worker_threads"

/** Node's directory for compiled modules, which halves the time of a start; undefined if others could write there. */
const compileCache = (): string | undefined => {
  const path = join(tmpdir(), `svc-compile-cache-${process.getuid?.() ?? "user"}`)
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const { mode, uid } = lstatSync(path)
    return process.getuid === undefined || (uid === process.getuid() && (mode & 0o777) === 0o700) ? path : undefined
  } catch {
    return undefined
  }
}

/**
 * Makes glibc return memory that threads of V8 have freed, 30 MB or more after a start, which it keeps by default. Other
 * allocators ignore it.
 */
const allocator: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072"
}

/** Variables that Node and its allocator read only when a process starts; those that are set already take precedence. */
export const nodeEnvironment = (): Readonly<Record<string, string>> => {
  const directory = process.env["NODE_COMPILE_CACHE"] ?? compileCache()
  return Object.fromEntries(
    Object.entries({ ...allocator, ...(directory !== undefined && { NODE_COMPILE_CACHE: directory }) }).map(
      ([name, value]) => [name, process.env[name] ?? value]
    )
  )
}

/** Whether to run the program again in this process with the variables: the allocator has not read them. */
export const replacesProcess = (): boolean =>
  isMainThread &&
  process.platform === "linux" &&
  process.execve !== undefined &&
  // A channel to the parent would be lost.
  process.send === undefined &&
  Object.keys(allocator).some((name) => process.env[name] === undefined)

/** Removes what only this process needs: PostgreSQL allocates and frees larger blocks, which would become slow. */
export const leaveAllocator = () => {
  for (const [name, value] of Object.entries(allocator)) {
    if (process.env[name] === value) delete process.env[name]
  }
}
