import { Effect } from "effect"
import { statSync } from "node:fs"
import { access, mkdir, open, readdir, readFile, rename, rm, rmdir } from "node:fs/promises"
import { dirname, join, posix } from "node:path"
import { archiveFile } from "../../../domain/recovery/Archive.ts"
import { syncDirectory } from "../../process/StoredFile.ts"
import { errorCode } from "../../process/StartError.ts"
import { ArchiveTrouble, type ArchiveStore } from "./Store.ts"

/** Ends the name of a file that is being written. */
const partial = ".partial"

/** An archive in a directory, which is created with its first object and readable by the service alone. */
export const directoryStore = (directory: string): ArchiveStore => {
  const attempt = <A>(what: string, run: () => Promise<A>) =>
    Effect.tryPromise({
      try: run,
      catch: (cause) =>
        new ArchiveTrouble({
          reason: `Failed to ${what} in ${directory} (SVC_PITR_DIR): ${errorCode(cause) ?? (cause instanceof Error ? cause.message : String(cause))}`
        })
    })

  /** Folders that are known to be there and durable. */
  const made = new Set<string>()
  const make = async (folder: string) => {
    if (made.has(folder)) return
    if (folder !== directory) {
      await access(join(directory, archiveFile)).catch(() => {
        throw new Error(`${archiveFile} is missing: is its disk mounted?`)
      })
    }
    const first = await mkdir(folder, { recursive: true, mode: 0o700 })
    // Each new folder is an entry of its parent.
    const shortest = first?.length ?? Number.POSITIVE_INFINITY
    for (let at = folder; at.length >= shortest; at = dirname(at)) await syncDirectory(dirname(at))
    made.add(folder)
  }

  const put = (name: string, bytes: Uint8Array) =>
    attempt(`write ${name}`, async () => {
      const file = join(directory, name)
      await make(dirname(file))
      const temporary = `${file}${partial}`
      try {
        const handle = await open(temporary, "w", 0o600)
        try {
          await handle.writeFile(bytes)
          await handle.datasync()
        } finally {
          await handle.close()
        }
        await rename(temporary, file)
      } catch (cause) {
        made.clear()
        await rm(temporary, { force: true }).catch(() => undefined)
        throw cause
      }
      await syncDirectory(dirname(file))
    })

  const get = (name: string) =>
    attempt(`read ${name}`, () =>
      readFile(join(directory, name)).catch((cause: unknown) => {
        if (errorCode(cause) === "ENOENT") return undefined
        throw cause
      })
    )

  const list = (prefix: string) =>
    attempt(`list ${prefix}`, async () => {
      const names: Array<string> = []
      const visit = async (folder: string): Promise<void> => {
        const entries = await readdir(join(directory, folder), { withFileTypes: true }).catch((cause: unknown) => {
          if (errorCode(cause) === "ENOENT") return []
          throw cause
        })
        for (const entry of entries) {
          const name = posix.join(folder, entry.name)
          if (entry.isDirectory()) {
            if (prefix.startsWith(`${name}/`) || `${name}/`.startsWith(prefix)) await visit(name)
          } else if (name.startsWith(prefix) && !name.endsWith(partial)) names.push(name)
        }
      }
      await visit("")
      return names.sort()
    })

  const remove = (names: ReadonlyArray<string>) =>
    attempt("remove objects", async () => {
      for (const name of names) await rm(join(directory, name), { force: true })
      for (const folder of new Set(names.map((name) => dirname(join(directory, name))))) {
        made.delete(folder)
        // A folder with other objects stays.
        await rmdir(folder).catch(() => undefined)
      }
    })

  return { place: directory, lookEvery: 1000, put, get, list, remove }
}

/** The number of the disk that a path is on, or its nearest parent that there is. */
const diskOf = (path: string): number => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined && dirname(path) !== path ? diskOf(dirname(path)) : (found?.dev ?? 0)
}

/** Whether the archive is lost with the disk of the data directory, or of the cluster in it. Null: not known. */
export const sameDisk = (dataDirectory: string, archive: string): boolean | null => {
  try {
    const disk = diskOf(archive)
    return [dataDirectory, join(dataDirectory, "postgres")].some((path) => diskOf(path) === disk)
  } catch {
    return null
  }
}
