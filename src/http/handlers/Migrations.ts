import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Migrations } from "../../services/migrations/Migrations.ts"
import { Api } from "../Api.ts"

export const MigrationsHandlers = HttpApiBuilder.group(
  Api,
  "migrations",
  Effect.fn(function* (handlers) {
    const migrations = yield* Migrations
    return handlers.handleAll({
      status: () => migrations.status,
      run: () => migrations.run,
      preview: ({ params }) => migrations.preview(params.migration_name)
    })
  })
)
