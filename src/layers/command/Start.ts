import { realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { nodeEnvironment } from "../process/NodeEnvironment.ts"

/** Options of Node that bound memory, and how often it is collected (docs/performance.md). */
const options = ["--max-semi-space-size=12", "--no-allocation-site-pretenuring", "--heap-growing-percent=100"]

/** The service next to this command: built in one file, or its source. */
const entry = () => {
  const program = realpathSync(process.argv[1] ?? "")
  return program.endsWith(".mjs") ? join(dirname(program), "main.mjs") : join(dirname(program), "../../main.ts")
}

/**
 * Runs the service in place of this command, in the process whose id a supervisor knows. Where the system can't replace the
 * program of a process, the service is loaded into this one. `example`: an example that it makes and serves.
 */
export const startService = async (example?: "todo"): Promise<void> => {
  if (example !== undefined) {
    process.env["SVC_EXAMPLE"] = example
    // The example is an app of Supabase's client.
    process.env["SVC_SUPABASE"] ||= "true"
  }
  const main = entry()
  const missing = options.filter((option) => !process.execArgv.includes(option))
  // A channel to the parent would be lost.
  const replaces = process.execve !== undefined && process.platform !== "win32" && process.send === undefined
  if (missing.length > 0 && replaces) {
    process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...missing, main], {
      ...process.env,
      ...nodeEnvironment()
    })
  }
  process.argv[1] = main
  const { start } = (await import(pathToFileURL(main).href)) as { readonly start: () => void }
  start()
}
