import { isUtf8 } from "node:buffer"
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"
import { type SourceFiles } from "../../domain/functions/Function.ts"

/** Bytes of a bundle's files: those of a function, and those that it imports. */
const maxBundleBytes = 200 * 1024 * 1024

class BundleTooLarge extends Error {}

/** Lists what Deno needs at run time. What it keeps for files is for paths of the build, and so of no use elsewhere. */
const filesOf = async (directory: string) => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .filter((path) => !path.startsWith("deno/gen/file/") && !/^deno\/[^/]*(?:sqlite|_cache_|latest)/.test(path))
}

/** All files of a directory in one: gzip of a length, a list of paths and sizes as JSON, and the bytes. Links are left out. */
export const packed = async (directory: string): Promise<Buffer> => {
  const files: Array<readonly [path: string, size: number]> = []
  const bytes: Array<Buffer> = []
  let total = 0
  for (const path of (await filesOf(directory)).toSorted()) {
    const content = await readFile(join(directory, path))
    total += content.length
    if (total > maxBundleBytes) throw new BundleTooLarge()
    files.push([path, content.length])
    bytes.push(content)
  }
  const list = Buffer.from(JSON.stringify(files))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(list.length)
  return promisify(gzip)(Buffer.concat([length, list, ...bytes]))
}

const filesIn = async (bundle: Uint8Array) => {
  const all = await promisify(gunzip)(bundle, { maxOutputLength: maxBundleBytes * 2 })
  const start = 4 + all.readUInt32BE(0)
  const list = JSON.parse(all.subarray(4, start).toString()) as ReadonlyArray<readonly [string, number]>
  let at = start
  return list.map(([path, size]) => {
    at += size
    return [path, all.subarray(at - size, at)] as const
  })
}

/** The files of a bundle that its author has written. */
export const sourceOf = async (bundle: Uint8Array): Promise<SourceFiles> =>
  Object.fromEntries(
    (await filesIn(bundle)).flatMap(([path, bytes]) =>
      path.startsWith("src/")
        ? [[path.slice(4), isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString("base64") }]]
        : []
    )
  )

/** Writes the files of a bundle, readable for everyone and writable for none but the owner. */
export const unpack = async (bundle: Uint8Array, directory: string): Promise<void> => {
  const made = new Set<string>()
  for (const [path, bytes] of await filesIn(bundle)) {
    const file = join(directory, path)
    if (!file.startsWith(`${directory}/`)) throw new Error("A path of the bundle leads out of it")
    const folder = dirname(file)
    if (!made.has(folder)) await mkdir(folder, { recursive: true, mode: 0o755 })
    made.add(folder)
    await writeFile(file, bytes, { mode: 0o644 })
  }
}
