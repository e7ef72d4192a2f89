import { Effect, Layer } from "effect"
import { isUtf8 } from "node:buffer"
import { createHash } from "node:crypto"
import { existsSync } from "node:fs"
import { readdir, readFile, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { isFunctionName, isSourcePath, maxSourceBytes, type SourceFiles } from "../../domain/functions/Function.ts"
import { FunctionFolder } from "../../services/ports/functions/FunctionFolder.ts"
import { FunctionSettings } from "../../services/functions/Settings.ts"

/** The files of a folder by their paths in it. Links are left out, as are dependencies, which the build fetches. */
const pathsBelow = async (folder: string): Promise<ReadonlyArray<string>> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !/(?:^|\/)(?:node_modules|\.git|\.env[^/]*)(?:\/|$)/.test(path) && isSourcePath(path))
    .toSorted()

/** Reads what a function of a folder needs: its own folder, those that begin with `_`, and the files beside them. */
export const functionFiles = async (folder: string, name: string): Promise<SourceFiles> => {
  const wanted = (await pathsBelow(folder)).filter((path) => {
    const [first = "", ...rest] = path.split("/")
    return rest.length === 0 || first === name || first.startsWith("_")
  })
  const files: Record<string, SourceFiles[string]> = {}
  let size = 0
  for (const path of wanted) {
    const bytes = await readFile(join(folder, path))
    size += bytes.length
    if (size > maxSourceBytes) throw new Error(`The files of ${name} exceed 10 MiB`)
    files[path] = isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString("base64") }
  }
  return files
}

export const layerFunctionFolder = Layer.effect(
  FunctionFolder,
  Effect.gen(function* () {
    const { directory } = yield* FunctionSettings
    if (directory === undefined) {
      return FunctionFolder.of({ names: Effect.succeed([]), stamp: Effect.succeed(""), files: () => Effect.undefined })
    }
    const folder = resolve(directory)
    const isFunction = (name: string) => isFunctionName(name) && existsSync(join(folder, name, "index.ts"))
    const names = Effect.promise(async () => (await readdir(folder).catch(() => [])).filter(isFunction).toSorted())
    const stamp = Effect.promise(async () => {
      const hash = createHash("sha256")
      for (const path of await pathsBelow(folder).catch(() => [])) {
        const { mtimeMs, size } = await stat(join(folder, path)).catch(() => ({ mtimeMs: 0, size: -1 }))
        hash.update(`${path}\0${mtimeMs}\0${size}\0`)
      }
      return hash.digest("hex")
    })
    const files = (name: string) =>
      Effect.promise(async () => (isFunction(name) ? functionFiles(folder, name) : undefined))
    return FunctionFolder.of({ names, stamp, files })
  })
)
