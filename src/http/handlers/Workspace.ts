import { Effect } from "effect"
import { type HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type WorkspaceItem } from "../../domain/workspace/Item.ts"
import { WorkspaceItems } from "../../services/workspace/Items.ts"
import { WorkspaceStatements } from "../../services/workspace/Statements.ts"
import { CurrentAuthor } from "../access/Caller.ts"
import { Api } from "../Api.ts"
import { jsonAnswer, success } from "../wire/Body.ts"
import { etagOf, expectedOf, unlessKnown } from "../wire/Preconditions.ts"

const answer = (item: WorkspaceItem, status = 200): HttpServerResponse.HttpServerResponse =>
  jsonAnswer(JSON.stringify(item), { status, headers: { etag: etagOf(item.revision) } })

export const WorkspaceHandlers = HttpApiBuilder.group(
  Api,
  "workspace",
  Effect.fn(function* (handlers) {
    const items = yield* WorkspaceItems
    const statements = yield* WorkspaceStatements
    return handlers.handleAll({
      list: ({ query }) => Effect.flatMap(CurrentAuthor, (author) => items.list(author, query)),
      create: Effect.fnUntraced(function* ({ payload }) {
        return answer(yield* items.create(yield* CurrentAuthor, payload), 201)
      }),
      find: Effect.fnUntraced(function* ({ headers, params }) {
        const item = yield* items.find(yield* CurrentAuthor, params.id)
        return yield* unlessKnown(headers, item.revision, () => answer(item))
      }),
      update: Effect.fnUntraced(function* ({ headers, params, payload }) {
        return answer(yield* items.update(yield* CurrentAuthor, params.id, payload, yield* expectedOf(headers)))
      }),
      remove: Effect.fnUntraced(function* ({ headers, params }) {
        yield* items.remove(yield* CurrentAuthor, params.id, yield* expectedOf(headers))
        return success
      }),
      history: () => Effect.flatMap(CurrentAuthor, statements.list),
      addHistory: Effect.fnUntraced(function* ({ payload }) {
        yield* statements.add(yield* CurrentAuthor, payload.statements)
        return success
      }),
      clearHistory: Effect.fnUntraced(function* () {
        yield* statements.clear(yield* CurrentAuthor)
        return success
      })
    })
  })
)
