import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { parseEnv } from "node:util"
import { isMainThread } from "node:worker_threads"

// Loads variables from the file `.env` in the working directory; npm's scripts preload it with `node --import`.
// Existing environment variables take precedence. Unlike Node's --env-file-if-exists, it prints nothing without a file.

const path = resolve(".env")

const read = () => {
  try {
    return readFileSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return
    throw cause
  }
}

const load = (bytes: Buffer) => {
  // Makes `node --watch` also restart when this file changes.
  if (process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined) process.send?.({ "watch:require": [path] })
  for (const [name, value] of Object.entries(parseEnv(new TextDecoder("utf-8", { fatal: true }).decode(bytes)))) {
    process.env[name] ??= value
  }
}

// Worker threads inherit the variables of the process.
if (isMainThread) {
  try {
    const bytes = read()
    if (bytes !== undefined) load(bytes)
  } catch (cause) {
    process.stderr.write(`svc: Failed to read ${path}: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exit(1)
  }
}
