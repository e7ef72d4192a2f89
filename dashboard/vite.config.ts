import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { type Plugin, defineConfig } from "vite"

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

/** The service that `npm run dev:dashboard` uses; start it with DASHBOARD_URL=http://localhost:5173/dashboard. */
const service = "http://127.0.0.1:3000"

// React's development build is five times as large, whatever the environment of the one who installs is.
if (process.argv.includes("build")) process.env["NODE_ENV"] = "production"

export default defineConfig({
  root: import.meta.dirname,
  base: "/dashboard/",
  plugins: [precompress()],
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
            { name: "common", test: /dashboard\/src\/(?:wire\/|catalogue\/queries|ui\/[\w.]+$)/ }
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
