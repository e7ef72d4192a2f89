/**
 * `npm test`: finds or fetches the programs that tests need, and runs the tests. Those whose programs can't be had are
 * skipped, and named at the end; in CI that is a failure. Arguments are those of Vitest; `--fetch` only fetches.
 */
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { programPath, testPrograms } from "./programs.ts"

const args = process.argv.slice(2)
const found = await Promise.all(testPrograms.map(({ find }) => find()))
const missing = testPrograms.filter((_, n) => found[n] !== true)
const lacking = missing.map(({ name, tests }) => `without ${name}, ${tests}`).join("; ")

if (missing.length > 0 && process.env["CI"] !== undefined) {
  process.stderr.write(`In CI no test is skipped, but some programs could not be found or fetched: ${lacking}\n`)
  process.exitCode = 1
} else if (args[0] !== "--fetch") {
  const vitest = resolve(import.meta.dirname, "../node_modules/vitest/vitest.mjs")
  const env = { ...process.env, PATH: programPath, SVC_TEST_WITHOUT: missing.map(({ id }) => id).join(",") }
  process.exitCode = spawnSync(process.execPath, [vitest, "run", ...args], { env, stdio: "inherit" }).status ?? 1
  if (missing.length > 0) {
    const remedy = "Programs that are on the PATH are used; as root, npm test installs them by apt-get."
    process.stderr.write(`Skipped: ${lacking}. ${remedy}\n`)
  }
}
