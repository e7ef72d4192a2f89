import { Effect, Layer } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { DashboardSettings } from "../../services/dashboard/Settings.ts"

/** The output directory of `npm run build:dashboard`. */
const dist = fileURLToPath(new URL("../../../dashboard/dist", import.meta.url))

const readAll = async (directory: string) => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const read = await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const))
  const bytes = new Map(read.map(([path, content]) => [relative(directory, path).replaceAll(sep, "/"), content]))
  const whole = Array.from(bytes).filter(([name]) => !/\.(?:gz|br)$/.test(name))
  return new Map(
    whole.map(([name, plain]) => [name, { plain, gzip: bytes.get(`${name}.gz`), br: bytes.get(`${name}.br`) }])
  )
}

/** Reads the dashboard into memory, about 2 MB, at the start: requests touch no file. */
export const layerDashboardFiles = Layer.effect(
  DashboardFiles,
  Effect.gen(function* () {
    const { enabled } = yield* DashboardSettings
    if (!enabled) return DashboardFiles.of({ files: undefined })
    const files = yield* Effect.promise(() => readAll(dist).catch(() => undefined))
    return DashboardFiles.of({ files: files?.has("index.html") === true ? files : undefined })
  })
)
