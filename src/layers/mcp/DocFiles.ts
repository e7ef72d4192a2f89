import { Effect, Layer } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { DocFiles } from "../../services/ports/DocFiles.ts"

const directory = fileURLToPath(new URL("../../../docs", import.meta.url))

const readAll = async () => {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".md"))
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(directory, name), "utf8")] as const))
  )
}

/** The documentation next to the service's sources, which its image contains too. */
export const layerDocFiles = Layer.succeed(DocFiles, {
  read: Effect.promise(() => readAll().catch(() => new Map<string, string>()))
})
