import { open, readFile, rename } from "node:fs/promises"
import { dirname } from "node:path"
import { type FileOwner } from "./FileLock.ts"
import { attempt, errorCode } from "./StartError.ts"

/** The JSON of a file; undefined if there is none. */
export const readStored = <A>(file: string) =>
  attempt(`Failed to read ${file}`, async (): Promise<A | undefined> => {
    const content = await readFile(file, "utf8").catch((cause: unknown) => {
      if (!["ENOENT", "ENOTDIR"].includes(errorCode(cause) ?? "")) throw cause
    })
    return content === undefined ? undefined : JSON.parse(content)
  })

/** Replaces a file (mode 0600) atomically, also in case of a power failure: a new file is synced and renamed. */
export const writeStoredText = (file: string, content: string, owner: FileOwner | undefined) =>
  attempt(`Failed to write ${file}`, async () => {
    const temporary = `${file}.${process.pid}.tmp`
    const handle = await open(temporary, "w", 0o600)
    try {
      await handle.chmod(0o600)
      if (owner !== undefined) await handle.chown(owner.uid, owner.gid)
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
    await syncDirectory(dirname(file))
  })

export const writeStored = (file: string, content: object, owner: FileOwner | undefined) =>
  writeStoredText(file, `${JSON.stringify(content, null, 2)}\n`, owner)

/** Makes a rename durable. Windows cannot open directories, and does not need it. */
export const syncDirectory = async (path: string) => {
  if (process.platform === "win32") return
  const handle = await open(path, "r")
  await handle.sync().finally(() => handle.close())
}
