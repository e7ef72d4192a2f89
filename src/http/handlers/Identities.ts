import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { IdP } from "../../services/ports/IdP.ts"
import { Api } from "../Api.ts"

export const IdentitiesHandlers = HttpApiBuilder.group(
  Api,
  "identities",
  Effect.fn(function* (handlers) {
    const idp = yield* IdP
    return handlers.handleAll({
      list: ({ query: { identifier, page_size, page_token } }) =>
        Effect.map(
          idp.identities({
            pageSize: page_size ?? 50,
            ...(page_token === undefined ? {} : { pageToken: page_token }),
            ...(identifier === undefined ? {} : { identifier })
          }),
          ({ identities, next }) => ({ identities, next_page_token: next })
        )
    })
  })
)
