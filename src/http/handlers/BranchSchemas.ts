import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { describeChange } from "../../services/audit/Change.ts"
import { BranchSchemas } from "../../services/branches/schema/BranchSchemas.ts"
import { Api } from "../Api.ts"

export const BranchSchemasHandlers = HttpApiBuilder.group(
  Api,
  "branchSchemas",
  Effect.fn(function* (handlers) {
    const schemas = yield* BranchSchemas
    return handlers.handleAll({
      schemaChanges: ({ params, query }) => schemas.difference(params.id, query.to ?? "main"),
      applyChanges: ({ params, payload }) =>
        Effect.tap(schemas.run(params.id, payload), ({ ran }) =>
          describeChange({ subject: `branch:${params.id}`, after: { ran } })
        )
    })
  })
)
