// Makes one file of the service's modules and Effect's, `dist/main.mjs`: a start that reads one file instead of a
// thousand takes half the processor time, and 70 MB less memory. Does nothing if that file is newer than all sources.
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"

const root = join(import.meta.dirname, "..")
const [src, dist] = [join(root, "src"), join(root, "dist")]
const main = join(dist, "main.mjs")

const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
const sources = [
  import.meta.filename,
  join(root, "node_modules/.package-lock.json"),
  ...readdirSync(src, { recursive: true }).map((name) => join(src, name))
]

/** A module's URL stays that of its own file: worker threads start from the sources. */
const ownUrls = {
  name: "own-urls",
  transform: {
    filter: { code: "import.meta.url" },
    handler: (code, id) => {
      const own = relative(dist, id).replaceAll("\\", "/")
      return code.replaceAll("import.meta.url", `new URL(${JSON.stringify(own)}, import.meta.url).href`)
    }
  }
}

const build = async () => {
  const { rolldown } = await import("rolldown").catch(() => ({ rolldown: undefined }))
  if (rolldown === undefined) {
    process.stdout.write("service left unbuilt: development dependencies are not installed\n")
    mkdirSync(dist, { recursive: true })
    return writeFileSync(main, 'import { start } from "../src/main.ts"\n\nstart()\n')
  }
  const bundle = await rolldown({
    input: join(src, "main.ts"),
    platform: "node",
    // Other packages have code that does not survive this, or are loaded when first needed.
    external: (id) => /^(?![./]|effect(?:\/|$)|@effect\/)/.test(id) && !id.startsWith(root),
    plugins: [ownUrls],
    logLevel: "warn"
  })
  const { output } = await bundle.write({
    dir: dist,
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
    comments: false
  })
  const written = new Set(output.map(({ fileName }) => fileName))
  for (const name of readdirSync(dist)) if (!written.has(name)) rmSync(join(dist, name))
}

const built = changedAt(main)
if (sources.some((path) => changedAt(path) > built)) await build()
