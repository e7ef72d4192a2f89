import { Effect, Layer } from "effect"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Unprocessable } from "../../domain/errors.ts"
import { MigrationFiles } from "../../services/ports/MigrationFiles.ts"
import { MigrationSettings } from "../../services/migrations/Settings.ts"
import {
  UnreadableDirectory,
  checksumOf,
  maxFileSize,
  migrationSourceOf,
  readLayout,
  tooLarge,
  withoutMark
} from "./Layouts.ts"

/** Turns problems of files, as a text from `read` or an error of the file system, into errors. */
const reading = <A extends object>(what: string, read: () => Promise<A | string>): Effect.Effect<A, Unprocessable> =>
  Effect.promise(() =>
    read().catch((cause: unknown) => {
      if (cause instanceof UnreadableDirectory) return cause.message
      const { code } = cause as { readonly code?: unknown }
      if (typeof code !== "string") throw cause
      return `it can't be read (${code})`
    })
  ).pipe(
    Effect.filterOrFail(
      (found): found is A => typeof found !== "string",
      (problem) => new Unprocessable({ error: `${what}: ${String(problem)}`, code: "MIGRATION_UNREADABLE" })
    )
  )

/** The files in MIGRATIONS_DIR. They are not cached, because deployments change them. */
export const layerMigrationDirectory = Layer.effect(
  MigrationFiles,
  Effect.map(MigrationSettings, ({ directory }) => {
    const path = resolve(directory)
    return MigrationFiles.of({
      folder: reading(`${directory} (MIGRATIONS_DIR)`, () => readLayout(path, directory)),
      text: ({ layout }, file) =>
        reading(file.path, async () => {
          if (file.problem !== undefined) return file.problem
          // Resolved again: it may have changed since it was listed.
          const place = await migrationSourceOf(path, join(path, file.path))
          if (place.problem !== undefined) return place.problem
          if (place.size > maxFileSize) return tooLarge
          const bytes = await readFile(place.path)
          const { checksum, problem } = checksumOf(bytes, layout)
          return problem ?? { sql: withoutMark(bytes), checksum }
        })
    })
  })
)
