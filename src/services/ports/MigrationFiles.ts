import { Context, type Effect } from "effect"
import { type Unprocessable } from "../../domain/errors.ts"
import { type MigrationFile, type MigrationFolder } from "../../domain/migrations/Migration.ts"

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
  }
>()("svc/services/MigrationFiles") {}
