import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest } from "../../domain/errors.ts"
import { Branches } from "../../services/Branches.ts"
import { Db } from "../../services/Db.ts"
import { Functions } from "../../services/Functions.ts"
import { RowSettings } from "../../services/RowSettings.ts"
import { jsonBody, rowBodyLimit } from "../Body.ts"
import { databaseOf } from "../BranchHeader.ts"
import { CurrentCaller, noGate } from "../Caller.ts"
import { profileOf } from "../Profile.ts"
import { jsonAnswer } from "../JsonAnswer.ts"
import { lastSegment } from "../Paths.ts"

const noArguments = { text: "{}", value: {} }

/** `/v1/db/rpc/{function}`: like rows, the result goes out as PostgreSQL made it. */
export const FunctionsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const functions = yield* Functions
    const db = yield* Db
    const branches = yield* Branches
    const { schemas } = yield* RowSettings

    const call = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const caller = yield* CurrentCaller
      const name = lastSegment(request.url)
      if (caller === undefined) return yield* noGate
      if (name === undefined) return yield* new InvalidRequest({ error: "The URL is not valid percent-encoded UTF-8" })
      const schema = yield* Effect.fromResult(profileOf(request, schemas))
      const body = yield* jsonBody(request, rowBodyLimit, noArguments)
      const database = yield* databaseOf(request.headers, db.main, branches)
      const result = yield* functions.call({ database, actor: caller.actor, schema, name, ...body })
      return result === undefined ? HttpServerResponse.empty({ status: 204 }) : jsonAnswer(result)
    })

    yield* router.add("POST", "/v1/db/rpc/:function", call)
  })
)
