import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { parseEnv } from "node:util"
import { isMainThread } from "node:worker_threads"

// Variables of a file `.env` in the working directory, for `node --import` before a program: npm's scripts start the
// service so. A variable of the environment wins. The same as Node's --env-file-if-exists, which, however, says so on
// the terminal when there is no file.

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
  // `node --watch` starts again when the file changes, too, once it is told of it.
  if (process.env["WATCH_REPORT_DEPENDENCIES"] !== undefined) process.send?.({ "watch:require": [path] })
  for (const [name, value] of Object.entries(parseEnv(new TextDecoder("utf-8", { fatal: true }).decode(bytes)))) {
    process.env[name] ??= value
  }
}

// Threads have the variables of the process already.
if (isMainThread) {
  try {
    const bytes = read()
    if (bytes !== undefined) load(bytes)
  } catch (cause) {
    process.stderr.write(`svc: ${path} can't be read: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exit(1)
  }
}
