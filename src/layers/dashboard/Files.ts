import { Effect, Layer } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { type DashboardFile, DashboardFiles } from "../../services/ports/DashboardFiles.ts"
import { DashboardSettings } from "../../services/dashboard/Settings.ts"

/** The output directory of `npm run build:dashboard`. Its folder `example` is the page of the example. */
export const dashboardOutput = fileURLToPath(new URL("../../../dashboard/dist", import.meta.url))

/** The files of a directory by their path, in the encodings that the build has made; without those of its folder `except`. */
export const readBuilt = async (directory: string, except?: string): Promise<ReadonlyMap<string, DashboardFile>> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const read = await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const))
  const bytes = new Map(read.map(([path, content]) => [relative(directory, path).replaceAll(sep, "/"), content]))
  const whole = Array.from(bytes).filter(
    ([name]) => !/\.(?:gz|br)$/.test(name) && (except === undefined || !name.startsWith(`${except}/`))
  )
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
    const files = yield* Effect.promise(() => readBuilt(dashboardOutput, "example").catch(() => undefined))
    return DashboardFiles.of({ files: files?.has("index.html") === true ? files : undefined })
  })
)
