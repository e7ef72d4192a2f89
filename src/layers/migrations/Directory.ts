import { Effect, Layer } from "effect"
import { readFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Unprocessable } from "../../domain/errors.ts"
import { MigrationFiles } from "../../services/ports/MigrationFiles.ts"
import { MigrationSettings } from "../../services/migrations/Settings.ts"
import { checksumOf, largestFile, placeOf, tooLarge, withoutMark } from "./Content.ts"
import { readLayout, UnreadableDirectory } from "./Layouts.ts"

/** Reads; what is wrong with the files themselves comes as a text, from `read` or as an error of the file system. */
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

/** The files in MIGRATIONS_DIR, read anew each time: they come and go with deployments. */
export const layerMigrationDirectory = Layer.effect(
  MigrationFiles,
  Effect.map(MigrationSettings, ({ directory }) => {
    const path = resolve(directory)
    return MigrationFiles.of({
      folder: reading(`${directory} (MIGRATIONS_DIR)`, () => readLayout(path, directory)),
      text: ({ layout }, file) =>
        reading(file.path, async () => {
          if (file.problem !== undefined) return file.problem
          // Anew: since it was listed it may have become something else.
          const place = await placeOf(path, join(path, file.path))
          if (place.problem !== undefined) return place.problem
          if (place.size > largestFile) return tooLarge
          const bytes = await readFile(place.path)
          const { checksum, problem } = checksumOf(bytes, layout)
          return problem ?? { sql: withoutMark(bytes), checksum }
        })
    })
  })
)
