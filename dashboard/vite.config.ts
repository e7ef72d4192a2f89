import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { build, type Plugin, defineConfig } from "vite"

const packageOf = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//

const own = (path: string) => readFileSync(join(import.meta.dirname, "src/ui", path), "utf8").trim()
const iconsAndFonts = [
  ["Geist", `Geist, Geist Mono (OFL-1.1)\n\n${own("fonts/LICENSE.txt")}`],
  ["Lucide", `Lucide (ISC)\n\n${own("icons-license.txt")}`]
] as const

/** Writes licenses.txt: the packages in the bundle and the others, with the texts that their licences require. */
const licenses = (others: ReadonlyArray<readonly [string, string]>): Plugin => ({
  name: "licenses",
  generateBundle(_options, bundle) {
    const parts = new Map(others)
    for (const output of Object.values(bundle)) {
      for (const id of output.type === "chunk" ? output.moduleIds : []) {
        const [, folder, name] = packageOf.exec(id) ?? []
        if (folder === undefined || name === undefined || parts.has(name)) continue
        const { license, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
        const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
        if (file === undefined && license !== "MIT") this.error(`${name} has no licence text`)
        const text =
          file === undefined ? "Licensed under the MIT License." : readFileSync(join(folder, file), "utf8").trim()
        parts.set(name, `${name} ${version} (${license})\n\n${text}`)
      }
    }
    const sorted = Array.from(parts).toSorted(([one], [other]) => (one < other ? -1 : 1))
    const source = sorted.map(([, text]) => text).join(`\n\n${"-".repeat(72)}\n\n`)
    this.emitFile({ type: "asset", fileName: "licenses.txt", source: `${source}\n` })
  }
})

/** Writes .br and .gz beside every text, so that the service compresses nothing itself. */
const precompress = (): Plugin => ({
  name: "precompress",
  generateBundle: {
    order: "post",
    handler(_options, bundle) {
      for (const [fileName, output] of Object.entries(bundle)) {
        if (!/\.(js|css|svg)$/.test(fileName)) continue
        const source = Buffer.from(output.type === "chunk" ? output.code : output.source)
        if (source.length < 1024) continue
        this.emitFile({ type: "asset", fileName: `${fileName}.gz`, source: gzipSync(source, { level: 9 }) })
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11 }
        this.emitFile({ type: "asset", fileName: `${fileName}.br`, source: brotliCompressSync(source, { params }) })
      }
    }
  }
})

const todo = join(import.meta.dirname, "../examples/todo")

/** Writes the migrations of the example, which the service runs, beside its page, which is served at `/example/`. */
const migrations = (): Plugin => ({
  name: "migrations",
  generateBundle() {
    const directory = join(todo, "supabase/migrations")
    for (const fileName of readdirSync(directory)) {
      this.emitFile({ type: "asset", fileName, source: readFileSync(join(directory, fileName), "utf8") })
    }
  }
})

/** Builds the example into the folder `example` of the dashboard, so that one folder has all pages of the service. */
const example = (): Plugin => ({
  name: "example",
  apply: "build",
  async closeBundle() {
    await build({
      configFile: false,
      root: todo,
      base: "/example/",
      logLevel: "error",
      // The page's own origin and key, instead of constants.
      resolve: { alias: [{ find: "./constants.ts", replacement: join(import.meta.dirname, "example/constants.ts") }] },
      plugins: [licenses([]), precompress(), migrations()],
      build: {
        outDir: join(import.meta.dirname, "dist/example"),
        target: "es2022",
        emptyOutDir: true,
        modulePreload: { polyfill: false },
        assetsInlineLimit: 0,
        reportCompressedSize: false
      }
    })
  }
})

/** The service that `npm run dev:dashboard` uses; start it with DASHBOARD_URL=http://localhost:5173/dashboard. */
const service = "http://127.0.0.1:3000"

// React's development build is five times as large, whatever the environment of the one who installs is.
if (process.argv.includes("build")) process.env["NODE_ENV"] = "production"

export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  plugins: [licenses(iconsAndFonts), precompress(), example()],
  build: {
    target: "es2022",
    emptyOutDir: true,
    // The policy allows neither inline scripts nor data: fonts.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      // Modules of which only types are imported are not bundled: their imports remain as such in TypeScript's output.
      treeshake: { moduleSideEffects: [{ test: /\/src\/domain\//, sideEffects: false }] },
      // "use client", in packages that also run on servers.
      // One file for what every page needs, instead of a dozen small ones: on slow processors each request costs.
      output: {
        codeSplitting: {
          groups: [
            { name: "vendor", test: /node_modules\/(?:react|react-dom|scheduler|use-sync-external-store|@tanstack)\// },
            { name: "common", test: /dashboard\/src\/(?:wire\/[\w.]+$|catalogue\/queries|ui\/[\w.]+$)/ }
          ]
        }
      },
      onwarn: (warning, warn) => (warning.code === "MODULE_LEVEL_DIRECTIVE" ? undefined : warn(warning))
    }
  },
  server: {
    proxy: {
      "/v1": service,
      "/api": service,
      "/oauth2": service,
      "/realtime": { target: service.replace("http", "ws"), ws: true }
    }
  }
})
