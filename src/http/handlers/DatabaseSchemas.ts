import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Branches } from "../../services/branches/Branches.ts"
import { DatabaseSchemas } from "../../services/schema/DatabaseSchemas.ts"
import { Db, serviceActor } from "../../services/ports/Db.ts"
import { Api } from "../Api.ts"
import { databaseOf } from "../wire/BranchHeader.ts"
import { jsonAnswer } from "../wire/Body.ts"
import { textResponse } from "../wire/OwnedResponse.ts"
import { unlessSame } from "../wire/Preconditions.ts"

export const DatabaseSchemasHandlers = HttpApiBuilder.group(
  Api,
  "databaseSchemas",
  Effect.fn(function* (handlers) {
    const schemas = yield* DatabaseSchemas
    const db = yield* Db
    const branches = yield* Branches
    return handlers.handleAll({
      describe: ({ query, request }) =>
        databaseOf(request.headers, serviceActor, db.main, branches).pipe(
          Effect.flatMap((database) => schemas.describe(database, query.all === "true")),
          // PostgreSQL produced the JSON, which is sent unchanged.
          Effect.flatMap((body) => unlessSame(request.headers, body, (headers) => jsonAnswer(body, { headers })))
        ),
      types: ({ query, request }) =>
        databaseOf(request.headers, serviceActor, db.main, branches).pipe(
          Effect.flatMap((database) =>
            schemas.types(database, query.schema === undefined || query.schema === "" ? [] : query.schema.split(","))
          ),
          Effect.flatMap((source) =>
            unlessSame(request.headers, source, (headers) =>
              textResponse(source, { headers, contentType: "text/plain; charset=utf-8" })
            )
          )
        )
    })
  })
)
