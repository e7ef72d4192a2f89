import { enableCompileCache } from "node:module"
import { compileCache } from "./CompileCache.ts"

// This runs before the modules of the service are loaded. NODE_COMPILE_CACHE has already chosen a directory.
const directory = compileCache()
if (process.env["NODE_COMPILE_CACHE"] === undefined && directory !== undefined) enableCompileCache(directory)
await import("./dotEnv.ts")
