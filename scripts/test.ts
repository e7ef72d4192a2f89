/**
 * `npm test`: finds or fetches the programs that tests need, and runs the tests. Those whose programs can't be had are
 * skipped, and named at the end (test/support/skips.ts); in CI that is a failure. Arguments are those of Vitest; `--fetch`
 * only fetches.
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
  if (missing.length > 0) process.stderr.write(`Not found, and not to be fetched: ${lacking}\n`)
  const env = { ...process.env, PATH: programPath, SVC_TEST_WITHOUT: missing.map(({ id }) => id).join(",") }
  process.exitCode = spawnSync(process.execPath, [vitest, "run", ...args], { env, stdio: "inherit" }).status ?? 1
}
