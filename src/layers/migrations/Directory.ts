import { Effect, Layer } from "effect"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { Unprocessable } from "../../domain/errors.ts"
import { type NewMigrationFile } from "../../domain/migrations/NewFiles.ts"
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

const notWritable = (directory: string, cause: unknown) =>
  new Unprocessable({
    error: `The migration can't be written to ${directory} (MIGRATIONS_DIR): ${(cause as { readonly code?: string }).code ?? "unknown"}`,
    code: "MIGRATION_NOT_WRITABLE",
    hint: "Make the directory writable for the service, or add the file where the migrations are kept, and deploy it"
  })

/** Also removes the folder that was made for it. */
const removeFile = async (path: string, file: NewMigrationFile) => {
  const own = file.path.includes("/") ? dirname(join(path, file.path)) : join(path, file.path)
  await rm(own, { recursive: true, force: true }).catch(() => undefined)
}

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
        }),
      write: (files) =>
        Effect.gen(function* () {
          const written: Array<NewMigrationFile> = []
          const writeAll = async () => {
            for (const file of files) {
              const target = join(path, file.path)
              await mkdir(path, { recursive: true })
              // A folder that exists is another migration's.
              if (dirname(target) !== path) await mkdir(dirname(target))
              await writeFile(target, file.sql, { flag: "wx" })
              written.push(file)
            }
          }
          yield* Effect.tryPromise({ try: writeAll, catch: (cause) => notWritable(directory, cause) }).pipe(
            Effect.onError(() => Effect.promise(() => Promise.all(written.map((file) => removeFile(path, file)))))
          )
        }),
      remove: (files) => Effect.promise(() => Promise.all(files.map((file) => removeFile(path, file))))
    })
  })
)
