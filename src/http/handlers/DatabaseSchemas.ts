import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { DatabaseSchemas } from "../../services/DatabaseSchemas.ts"
import { Api } from "../Api.ts"
import { jsonAnswer } from "../JsonAnswer.ts"

export const DatabaseSchemasHandlers = HttpApiBuilder.group(
  Api,
  "databaseSchemas",
  Effect.fn(function* (handlers) {
    const schemas = yield* DatabaseSchemas
    return handlers.handleAll({
      describe: () =>
        schemas.describe.pipe(
          // PostgreSQL made the JSON: it goes out as it is.
          Effect.map((body) => jsonAnswer(body)),
          Effect.catchTag("DatabaseError", Effect.die)
        )
    })
  })
)
