import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { ForeignData } from "../../services/foreign/ForeignData.ts"
import { ForeignImports } from "../../services/foreign/Imports.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const ForeignDataHandlers = HttpApiBuilder.group(
  Api,
  "foreignData",
  Effect.fn(function* (handlers) {
    const foreignData = yield* ForeignData
    const imports = yield* ForeignImports
    return handlers.handleAll({
      list: () => foreignData.list,
      createServer: ({ payload }) => foreignData.createServer(payload),
      createMapping: ({ payload }) => foreignData.createMapping(payload),
      removeServer: ({ params, query }) =>
        Effect.as(foreignData.removeServer(params.server, query.cascade === "true"), success),
      removeMapping: ({ params }) => Effect.as(foreignData.removeMapping(params.server, params.local_user), success),
      import: ({ payload }) => imports.run(payload)
    })
  })
)
