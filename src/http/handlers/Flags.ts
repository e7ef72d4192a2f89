import { Effect } from "effect"
import { type HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type FlagEnvironment } from "../../domain/flags/Environment.ts"
import { InvalidRequest } from "../../domain/errors.ts"
import { type JsonRecord } from "../../domain/Revision.ts"
import { FlagEngine } from "../../services/ports/FlagEngine.ts"
import { FlagHistory } from "../../services/flags/History.ts"
import { Flags } from "../../services/flags/Flags.ts"
import { FlagSegments } from "../../services/flags/Segments.ts"
import { FlagSets } from "../../services/flags/Sets.ts"
import { Api } from "../Api.ts"
import { CurrentAuthor } from "../access/Caller.ts"
import { jsonAnswer, success } from "../wire/Body.ts"
import { etagOf, expectedOf, unlessKnown } from "../wire/Preconditions.ts"

/** Default number of entries in a page. */
const pageLimit = 50

/** Sends the record as PostgreSQL wrote it, which keeps the text of stored documents. */
const answer =
  (status = 200) =>
  ({ json, revision }: JsonRecord) =>
    jsonAnswer(json, { status, headers: { etag: etagOf(revision) } })
const jsonList = (text: string): HttpServerResponse.HttpServerResponse => jsonAnswer(text)

const twoEnvironments = new InvalidRequest({
  error: "The environments in the body and in the query differ",
  details: ["environment: Expected one"]
})

/** The environment of a write, from its query or its body. */
const selectedOf = (inQuery: FlagEnvironment | undefined, inBody: FlagEnvironment | undefined) =>
  inQuery === undefined || inBody === undefined || inQuery === inBody
    ? Effect.succeed(inQuery ?? inBody)
    : Effect.fail(twoEnvironments)

export const FlagsHandlers = HttpApiBuilder.group(
  Api,
  "flags",
  Effect.fn(function* (handlers) {
    const flags = yield* Flags
    const segments = yield* FlagSegments
    const history = yield* FlagHistory
    const engine = yield* FlagEngine
    const sets = yield* FlagSets
    return handlers.handleAll({
      list: ({ query }) => Effect.map(flags.list(query.environment), jsonList),
      status: () => Effect.map(engine.status, (status) => ({ ...status, revision: sets.revision() })),
      segments: () => Effect.map(segments.list, jsonList),
      segment: ({ headers, params }) =>
        Effect.flatMap(segments.find(params.key), (found) =>
          unlessKnown(headers, found.revision, () => answer()(found))
        ),
      segmentHistory: ({ params, query: { before, limit = pageLimit } }) =>
        Effect.map(history.page("segment", params.key, limit, before), jsonList),
      find: ({ headers, params, query }) =>
        Effect.flatMap(flags.find(params.key, query.environment), (found) =>
          unlessKnown(headers, found.revision, () => answer()(found))
        ),
      history: ({ params, query: { before, limit = pageLimit } }) =>
        Effect.map(history.page("flag", params.key, limit, before), jsonList)
    })
  })
)

export const FlagChangesHandlers = HttpApiBuilder.group(
  Api,
  "flagChanges",
  Effect.fn(function* (handlers) {
    const flags = yield* Flags
    const segments = yield* FlagSegments
    return handlers.handleAll({
      create: Effect.fnUntraced(function* ({ payload, query }) {
        const selected = yield* selectedOf(query.environment, payload.environment)
        return answer(201)(yield* flags.create(yield* CurrentAuthor, payload, selected))
      }),
      update: Effect.fnUntraced(function* ({ headers, params, payload, query }) {
        const selected = yield* selectedOf(query.environment, payload.environment)
        const expected = yield* expectedOf(headers)
        return answer()(yield* flags.update(yield* CurrentAuthor, params.key, payload, selected, expected))
      }),
      toggle: Effect.fnUntraced(function* ({ headers, params, payload, query }) {
        const selected = yield* selectedOf(query.environment, payload?.environment)
        return answer()(yield* flags.toggle(yield* CurrentAuthor, params.key, selected, yield* expectedOf(headers)))
      }),
      promote: Effect.fnUntraced(function* ({ headers, params, payload }) {
        return answer()(yield* flags.promote(yield* CurrentAuthor, params.key, payload, yield* expectedOf(headers)))
      }),
      remove: Effect.fnUntraced(function* ({ headers, params }) {
        yield* flags.remove(yield* CurrentAuthor, params.key, yield* expectedOf(headers))
        return success
      }),
      createSegment: Effect.fnUntraced(function* ({ payload }) {
        return answer(201)(yield* segments.create(yield* CurrentAuthor, payload))
      }),
      updateSegment: Effect.fnUntraced(function* ({ headers, params, payload }) {
        const expected = yield* expectedOf(headers)
        return answer()(yield* segments.update(yield* CurrentAuthor, params.key, payload, expected))
      }),
      removeSegment: Effect.fnUntraced(function* ({ headers, params }) {
        yield* segments.remove(yield* CurrentAuthor, params.key, yield* expectedOf(headers))
        return success
      })
    })
  })
)
