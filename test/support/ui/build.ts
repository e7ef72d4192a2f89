import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { root } from "../service.ts"

/** Builds the dashboard as it is in this tree, so that no test sees an older one. */
export default async function setup() {
  await promisify(execFile)(
    process.execPath,
    ["node_modules/vite/bin/vite.js", "build", "dashboard", "--logLevel", "error"],
    {
      cwd: root
    }
  )
}
