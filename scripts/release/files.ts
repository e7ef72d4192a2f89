/** Files of releases: the same bytes for the same content, wherever and whenever they are made. */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { createReadStream, createWriteStream } from "node:fs"
import { readdir, readFile, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { promisify } from "node:util"
import { constants, createZstdCompress } from "node:zlib"
import { packTar, type TarSource } from "modern-tar/fs"

export const root = resolve(import.meta.dirname, "../..")

export const execute = promisify(execFile)

/** Runs npm: the one that runs this script, else that of PATH. Its settings must not come from the repository. */
export const npm = async (args: ReadonlyArray<string>, cwd: string): Promise<string> => {
  const { npm_execpath: own, ...env } = process.env
  const quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
  const given = Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^npm_(?:config|package|lifecycle)_/.test(name))
  )
  const [program, ...first] = own?.endsWith(".js") === true ? [process.execPath, own] : ["npm"]
  const { stdout } = await execute(program ?? "npm", [...first, ...args, ...quiet], {
    cwd,
    env: given,
    maxBuffer: 1 << 26
  })
  return stdout
}

/** Packs and compresses with zstd. Everything belongs to root, and has the time of the commit. */
export const packZstd = async (
  sources: ReadonlyArray<TarSource>,
  file: string,
  level: number,
  time: Date
): Promise<void> => {
  const tar = packTar(sources, {
    map: (header) => ({ ...header, uid: 0, gid: 0, uname: "root", gname: "root", mtime: time })
  })
  const params = {
    [constants.ZSTD_c_compressionLevel]: level,
    [constants.ZSTD_c_checksumFlag]: 1,
    // The Node binary repeats itself over more than the default window.
    ...(level > 9 && { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_enableLongDistanceMatching]: 1 })
  }
  await pipeline(tar, createZstdCompress({ params }), createWriteStream(file))
}

/** In hexadecimal. */
export const sha256 = async (file: string): Promise<string> => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(file), hash)
  return hash.digest("hex")
}

/** Files and bytes under a directory; links count as files of no bytes. */
export const sizeOf = async (directory: string): Promise<{ readonly files: number; readonly bytes: number }> => {
  const entries = (await readdir(directory, { recursive: true, withFileTypes: true })).filter(
    (one) => !one.isDirectory()
  )
  const sizes = await Promise.all(
    entries.map(async (one) => (one.isFile() ? (await stat(join(one.parentPath, one.name))).size : 0))
  )
  return { files: entries.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

export const readJson = async <A>(...path: ReadonlyArray<string>): Promise<A> =>
  JSON.parse(await readFile(join(...path), "utf8")) as A
