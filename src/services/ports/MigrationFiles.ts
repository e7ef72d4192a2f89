import { Context, type Effect } from "effect"
import { type Unprocessable } from "../../domain/errors.ts"
import { type MigrationFile, type MigrationFolder } from "../../domain/migrations/Migration.ts"
import { type NewMigrationFile } from "../../domain/migrations/NewFiles.ts"

/** Port: the user's migration files. Real layer: layers/migrations/Directory.ts, on MIGRATIONS_DIR. */
export class MigrationFiles extends Context.Service<
  MigrationFiles,
  {
    /** The current contents. 422 `MIGRATION_UNREADABLE` when the directory, or Drizzle's journal in it, can't be read. */
    readonly folder: Effect.Effect<MigrationFolder, Unprocessable>
    /** The text without its byte order mark, and its checksum. 422 `MIGRATION_UNREADABLE`. */
    readonly text: (
      folder: MigrationFolder,
      file: MigrationFile
    ) => Effect.Effect<{ readonly sql: string; readonly checksum: string }, Unprocessable>
    /** Writes new files, all or none. 422 `MIGRATION_NOT_WRITABLE`. */
    readonly write: (files: ReadonlyArray<NewMigrationFile>) => Effect.Effect<void, Unprocessable>
    /** Removes files that were written and not applied. */
    readonly remove: (files: ReadonlyArray<NewMigrationFile>) => Effect.Effect<void>
  }
>()("svc/services/MigrationFiles") {}
