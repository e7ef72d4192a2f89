import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { RowsApi } from "../api/Rows.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { RowMethods } from "../../services/rows/Methods.ts"
import { Rows } from "../../services/rows/Rows.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { requestDecoder } from "../rows/Request.ts"
import { rowBody } from "../rows/Body.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { allowResponse, readResponse, writeResponse } from "../rows/Response.ts"

/**
 * `/v1/db/{table}` on the router itself and not through HttpApi: rows are never decoded. PostgreSQL builds the JSON, and
 * it is sent unchanged.
 */
export const RowsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const rows = yield* Rows
    const methods = yield* RowMethods
    const settings = yield* RowSettings
    const decode = requestDecoder({ db: yield* Db, branches: yield* Branches, settings })

    const incoming = HttpServerRequest.HttpServerRequest

    const read = Effect.flatMap(incoming, (request) =>
      Effect.flatMap(decode(request), (decoded) =>
        Effect.map(rows.read(decoded), (answer) => readResponse(decoded, answer))
      )
    )

    const write = (operation: "insert" | "upsert" | "update", change: (typeof rows)["insert"]) =>
      Effect.gen(function* () {
        const request = yield* incoming
        const decoded = yield* decode(request)
        return writeResponse(decoded, yield* change(decoded, yield* rowBody(request)), operation, settings)
      })

    const remove = Effect.gen(function* () {
      const decoded = yield* decode(yield* incoming)
      return writeResponse(decoded, yield* rows.remove(decoded), "remove", settings)
    })

    const options = Effect.gen(function* () {
      const { database, schema, table } = yield* decode(yield* incoming)
      return allowResponse(yield* methods.ofTable(database, schema, table))
    })

    yield* addRoutes(router, RowsApi, {
      read,
      insert: write("insert", rows.insert),
      upsert: write("upsert", rows.upsertOne),
      update: write("update", rows.update),
      remove
    })
    yield* router.add("OPTIONS", RowsApi.endpoints.read.path, options)
  })
)
