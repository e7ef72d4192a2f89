import { defineConfig } from "vitest/config"

const setupFiles = ["test/support/seed.ts"]

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "test/domain/**/*.test.ts",
            "test/services/**/*.test.ts",
            "test/http/**/*.test.ts",
            "test/layers/**/*.test.ts"
          ],
          setupFiles
        }
      },
      {
        test: {
          name: "pg",
          include: ["test/pg/**/*.test.ts"],
          globalSetup: ["test/support/postgres/server.ts"],
          setupFiles,
          testTimeout: 30_000,
          hookTimeout: 60_000
        }
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/support/postgres/server.ts", "test/support/sharedService.ts"],
          setupFiles,
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false
        }
      }
    ]
  }
})
