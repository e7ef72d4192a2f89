import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { DatabaseError } from "../../domain/errors.ts"
import { type CallBody } from "../../domain/rows/functions/Call.ts"
import { StoredFunctionsApi } from "../api/StoredFunctions.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { Functions } from "../../services/rows/Functions.ts"
import { RowMethods } from "../../services/rows/Methods.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { requestDecoder } from "../rows/Request.ts"
import { callBody } from "../rows/Body.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { allowResponse, callResponse } from "../rows/Response.ts"

const { path } = StoredFunctionsApi.endpoints.call
const nothing: CallBody = { _tag: "None" }

/** `/v1/db/rpc/{function}`: like rows, the result is sent as PostgreSQL built it. */
export const StoredFunctionsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const functions = yield* Functions
    const methods = yield* RowMethods
    const decode = requestDecoder({
      db: yield* Db,
      branches: yield* Branches,
      settings: yield* RowSettings,
      exposed: yield* ExposedSchemas
    })

    const call = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.flatMap(decode(request), (decoded) => {
        const method = request.method === "POST" || request.method === "HEAD" ? request.method : "GET"
        const body = method === "POST" ? callBody(request) : Effect.succeed(nothing)
        return Effect.flatMap(body, (body) =>
          Effect.map(functions.call({ ...decoded, name: decoded.table, method, body }), (answer) =>
            callResponse(decoded, answer)
          )
        )
      })
    )

    const options = Effect.gen(function* () {
      const { database, schema, table } = yield* decode(yield* HttpServerRequest.HttpServerRequest)
      return allowResponse(yield* methods.ofFunction(database, schema, table))
    })

    const refused = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ method }) =>
      Effect.fail(
        new DatabaseError({
          status: 405,
          error: `Cannot use the ${method} method on RPC`,
          code: "PGRST101",
          headers: [["allow", "OPTIONS,GET,HEAD,POST"]]
        })
      )
    )

    yield* addRoutes(router, StoredFunctionsApi, { read: call, call })
    yield* router.add("OPTIONS", path, options)
    yield* router.add("PUT", path, refused)
    yield* router.add("PATCH", path, refused)
    yield* router.add("DELETE", path, refused)
  })
)
