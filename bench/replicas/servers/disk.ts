import { execFile } from "node:child_process"
import { mkdir, rm, statfs, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

/** A small disk in memory, which can be made full. */
export interface Disk extends AsyncDisposable {
  readonly path: string
  /** Takes all that is free but a few KiB, again and again as long as it is not freed. */
  readonly fill: () => Promise<void>
  readonly free: () => Promise<void>
}

/** Undefined where this process may not mount one. */
export const mountDisk = async (path: string, mebibytes: number): Promise<Disk | undefined> => {
  await mkdir(path, { recursive: true })
  try {
    await run("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m,mode=0711`, "tmpfs", path])
  } catch {
    return undefined
  }
  let pieces = 0
  const ballast = (piece: number) => join(path, `ballast-${piece}`)
  const fill = async () => {
    const { bavail, bsize } = await statfs(path)
    if (bavail * bsize > 8192)
      await run("fallocate", ["-l", String(bavail * bsize - 4096), ballast(pieces++)]).catch(() => undefined)
    // Whatever is left.
    await writeFile(ballast(pieces++), Buffer.alloc(65_536)).catch(() => undefined)
  }
  const free = async () => {
    for (let piece = 0; piece < pieces; piece++) await rm(ballast(piece), { force: true })
    pieces = 0
  }
  return { path, fill, free, [Symbol.asyncDispose]: async () => void (await run("umount", ["-l", path])) }
}
