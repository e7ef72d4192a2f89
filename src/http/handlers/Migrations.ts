import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { describeChange } from "../../services/audit/Change.ts"
import { Migrations } from "../../services/migrations/Migrations.ts"
import { Api } from "../Api.ts"

export const MigrationsHandlers = HttpApiBuilder.group(
  Api,
  "migrations",
  Effect.fn(function* (handlers) {
    const migrations = yield* Migrations
    return handlers.handleAll({
      status: () => migrations.status,
      run: () => Effect.tap(migrations.run, ({ ran }) => describeChange({ subject: "migration", after: { ran } })),
      baseline: ({ payload }) =>
        Effect.tap(migrations.baseline(payload.through), ({ marked }) =>
          describeChange({ subject: "migration", after: { baseline: marked } })
        ),
      resolve: ({ payload }) =>
        Effect.tap(migrations.resolve(payload), () =>
          describeChange({ subject: payload.name, after: { resolved: payload.as } })
        ),
      add: ({ payload }) =>
        Effect.tap(migrations.add(payload), ({ saved }) => describeChange({ subject: "migration", after: { saved } })),
      preview: ({ params }) => migrations.preview(params.migration_name)
    })
  })
)
