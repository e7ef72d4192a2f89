import { Effect, Layer } from "effect"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { layerMigrationDirectory } from "../../../src/layers/migrations/Directory.ts"
import { Migrations } from "../../../src/services/migrations/Migrations.ts"
import { MigrationSettings } from "../../../src/services/migrations/Settings.ts"

type Contents = Readonly<Record<string, string | Uint8Array>>

/** Writes files under a directory, and creates their folders. */
export const writeFiles = async (directory: string, files: Contents): Promise<void> => {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), content)
  }
}

/** A directory with these files, until the scope closes. */
export const filesDirectory = (files: Contents) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const directory = await mkdtemp(join(tmpdir(), "svc-migrations-"))
      await writeFiles(directory, files)
      return directory
    }),
    (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
  )

interface Options {
  readonly tool?: "auto" | "drizzle" | "prisma" | "own"
  /** ms */
  readonly timeout?: number
}

/** The migrations of a directory, on the database in the context. */
export const layerMigrations = (directory: string, { timeout = 20_000, tool = "auto" }: Options = {}) =>
  Migrations.layer.pipe(
    Layer.provide(layerMigrationDirectory),
    Layer.provide(Layer.succeed(MigrationSettings, { directory, tool, timeout }))
  )
