import { type Reporter, type TestModule, type Vitest } from "vitest/node"
import { relative } from "node:path"

/**
 * Whether `npm test` could neither find nor fetch a program (scripts/programs.ts), so that the tests that need it are
 * skipped. They fail without it in CI, and when they are run by Vitest itself.
 */
export const isWithout = (program: "chromium" | "deno" | "pgbouncer") =>
  (process.env["SVC_TEST_WITHOUT"] ?? "").split(",").includes(program)

/** Who runs them chooses what their tests need (CONTRIBUTING.md), so that they are not missed in CI. */
const optional: Readonly<Record<string, string>> = {
  "test/e2e/identity/deploy.test.ts": "Ory Kratos and Hydra",
  "test/e2e/oauth2/sessions.test.ts": "Ory Hydra",
  "test/http/identity/admin.test.ts": "Ory Kratos",
  "test/e2e/storage/s3-clients.test.ts": "aws, rclone and s3cmd",
  "test/http/supabase/quickstarts.test.ts": "Go",
  "test/ui/reference.test.ts": "Go",
  "test/layers/storage/Objects.test.ts": "the rights of root",
  "test/e2e/citus/citus.test.ts": "a Citus cluster",
  "test/e2e/flags/external.test.ts": "flagd",
  "test/e2e/upgrade/upgrade.test.ts": "an answer of the npm registry"
}

/** Names all skipped tests in one line at the end, which fails the run in CI if they are not optional. */
export class SkippedTests implements Reporter {
  private vitest: Vitest | undefined

  onInit(vitest: Vitest) {
    this.vitest = vitest
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>) {
    // Of those that a name or `only` leaves out there is nothing to say.
    const isPart = this.vitest?.config.testNamePattern !== undefined
    const skipped = modules.flatMap((module) => {
      const tests = Array.from(module.children.allTests("skipped"))
      const isNarrowed = Array.from(module.children.allTests()).some(({ options }) => options.mode === "only")
      const file = relative(this.vitest?.config.root ?? "", module.moduleId)
      return isPart || isNarrowed || tests.length === 0 ? [] : [{ file, tests }]
    })
    const lines = skipped.map(({ file, tests }) => {
      const needs = optional[file]
      const names = tests.length > 3 ? `${tests.length} tests` : tests.map(({ name }) => `"${name}"`).join(", ")
      return `${file}${needs === undefined ? "" : ` (without ${needs})`}: ${names}`
    })
    if (isWithout("chromium")) lines.push("test/ui (without Chromium): all tests")
    if (lines.length > 0) process.stderr.write(`Skipped: ${lines.join("; ")}\n`)
    if (process.env["CI"] !== undefined && skipped.some(({ file }) => optional[file] === undefined)) {
      process.stderr.write("In CI a skipped test is a failure.\n")
      process.exitCode = 1
    }
  }
}
