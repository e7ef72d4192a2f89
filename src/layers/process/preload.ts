import { enableCompileCache } from "node:module"
import { nodeEnvironment, replacesProcess } from "./NodeEnvironment.ts"

// This runs before the modules of the service are loaded, in each of its threads.
const variables = nodeEnvironment()
if (replacesProcess() && process.env["WATCH_REPORT_DEPENDENCIES"] === undefined) {
  process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
    ...process.env,
    ...variables
  })
}
const directory = variables["NODE_COMPILE_CACHE"]
if (process.env["NODE_COMPILE_CACHE"] === undefined && directory !== undefined) enableCompileCache(directory)
await import("./dotEnv.ts")
