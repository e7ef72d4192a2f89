import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { isWithout, SkippedTests } from "./test/support/skips.ts"

const setupFiles = ["test/support/seed.ts"]
const inCi = process.env["CI"] !== undefined
/** Tests with servers wait longer and run again in CI: shared machines stall for longer than some of them can wait. */
const retry = inCi ? 2 : 0
const timeout = inCi ? 180_000 : 60_000
const slow = { testTimeout: timeout, hookTimeout: timeout, retry }
const server = "test/support/postgres/server.ts"

/** Tests that measure waiting or losses under load: after all others, when no browser runs. */
const underLoad = ["test/e2e/**/{bad-days,loss}.test.ts"]

/** Unit tests first: some files wait for half a minute, when other projects have work for the processors. */
const projectOrder = ["unit", "e2e", "http", "pg", "ui", "e2e-alone"]

/** Starts the longest files under load first. Without results of an earlier run, Vitest takes the largest, which these are not. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const place = ({ project }: TestSpecification) => projectOrder.indexOf(project.name)
    const order = [/\/loss\.test/, /\/postgres\/bad-days\.test/, /./]
    const rank = ({ moduleId }: TestSpecification) => order.findIndex((name) => name.test(moduleId))
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b) || rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    // Most tests wait for PostgreSQL, a process or a clock rather than compute.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", new SkippedTests()],
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/{domain,services,layers,structure,dashboard}/**/*.test.ts"],
          setupFiles,
          isolate: false,
          maxWorkers: 4,
          testTimeout: 30_000,
          retry
        }
      },
      {
        test: {
          name: "http",
          include: ["test/http/**/*.test.ts"],
          globalSetup: [server],
          setupFiles,
          isolate: false,
          maxWorkers: 4,
          ...slow
        }
      },
      {
        test: {
          name: "pg",
          include: ["test/pg/**/*.test.ts"],
          globalSetup: [server],
          setupFiles,
          isolate: false,
          maxWorkers: 4,
          ...slow
        }
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: underLoad,
          globalSetup: [server, "test/support/sharedService.ts"],
          setupFiles,
          isolate: false,
          maxWorkers: 4,
          ...slow
        }
      },
      {
        test: {
          name: "ui",
          include: ["test/ui/**/*.test.ts"],
          exclude: isWithout("chromium") ? ["**"] : [],
          globalSetup: [server, "test/support/ui/build.ts", "test/support/sharedService.ts"],
          setupFiles,
          // A worker starts one browser for all of its files.
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          ...slow
        }
      },
      {
        test: {
          name: "e2e-alone",
          include: underLoad,
          globalSetup: [server, "test/support/sharedService.ts"],
          setupFiles,
          isolate: false,
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
          ...slow
        }
      }
    ]
  }
})
