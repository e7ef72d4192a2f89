import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { shownServer } from "../../domain/audit/Shown.ts"
import { describeChange } from "../../services/audit/Change.ts"
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
      createServer: ({ payload }) =>
        Effect.tap(foreignData.createServer(payload), () =>
          describeChange({ subject: `foreign:${payload.name}`, after: shownServer(payload) })
        ),
      createMapping: ({ payload }) =>
        Effect.tap(foreignData.createMapping(payload), () =>
          describeChange({
            subject: `foreign:${payload.server}`,
            after: { local_user: payload.local_user, remote_user: payload.remote_user }
          })
        ),
      removeServer: ({ params, query }) =>
        Effect.as(foreignData.removeServer(params.server, query.cascade === "true"), success),
      removeMapping: ({ params }) => Effect.as(foreignData.removeMapping(params.server, params.local_user), success),
      import: ({ payload }) =>
        Effect.tap(imports.run(payload), () =>
          describeChange({
            subject: `foreign:${payload.server}`,
            after: { remote_schema: payload.remote_schema, local_schema: payload.local_schema }
          })
        )
    })
  })
)
