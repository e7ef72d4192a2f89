import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Conflict, Forbidden, InvalidRequest, NotFound, Unavailable, Unprocessable } from "../../domain/errors.ts"
import {
  MigrationBaseline,
  MigrationMark,
  MigrationResolution,
  MigrationRun,
  MigrationStatus,
  MigrationText,
  NewMigration,
  SavedMigration
} from "../../domain/migrations/Migration.ts"
import { Management } from "../access/Access.ts"
import { Utf8Bodies } from "../wire/Body.ts"

const refused = [Conflict, Forbidden, Unprocessable, Unavailable] as const

/** The user's migration files (spec: migrations). */
export class MigrationsApi extends HttpApiGroup.make("migrations")
  .add(
    HttpApiEndpoint.get("status", "/idempotent/status", { success: MigrationStatus, error: refused }).annotateMerge(
      OpenApi.annotations({
        summary: "Compare the migration files with the history",
        description: "The history is that of Drizzle or Prisma if the database has one, else the service's own."
      })
    ),
    HttpApiEndpoint.post("run", "/idempotent/run", { success: MigrationRun, error: refused }).annotateMerge(
      OpenApi.annotations({
        summary: "Run the pending migrations, in order, as the tool of the history would",
        description: "A second call runs nothing. A run continues when the caller hangs up."
      })
    ),
    HttpApiEndpoint.post("baseline", "/baseline", {
      payload: MigrationBaseline,
      success: MigrationMark,
      error: [...refused, NotFound]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Mark the pending migrations up to one as applied, without running them",
        description: "For a database that has what they make. `marked` has their names."
      })
    ),
    HttpApiEndpoint.post("resolve", "/resolve", {
      payload: MigrationResolution,
      success: MigrationMark,
      error: [...refused, NotFound]
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Say how a migration ended that is unfinished",
        description:
          "`applied`: the rest of it was done by hand. `rolled_back`: what it began was undone, and the next run applies it again."
      })
    ),
    HttpApiEndpoint.post("add", "/", {
      payload: NewMigration,
      success: SavedMigration.pipe(HttpApiSchema.status(201)),
      error: refused
    }).annotateMerge(
      OpenApi.annotations({
        summary: "Write a migration file, without running it",
        description:
          "It comes after all others, with a number or time before its name. A line `-- svc: new transaction` begins another file. Files of Drizzle are written by Drizzle (409 `MIGRATION_LAYOUT`)."
      })
    ),
    HttpApiEndpoint.get("preview", "/preview/:migration_name", {
      params: { migration_name: Schema.String },
      success: MigrationText,
      error: [InvalidRequest, NotFound, Unprocessable]
    }).annotateMerge(OpenApi.annotations({ summary: "Show the SQL of a migration" }))
  )
  .middleware(Utf8Bodies)
  .middleware(Management)
  .prefix("/api/migrations")
  .annotateMerge(OpenApi.annotations({ title: "Migrations", description: "SQL files that run once each" })) {}
