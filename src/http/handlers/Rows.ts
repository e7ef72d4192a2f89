import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { RowsApi } from "../api/Rows.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { RowMethods } from "../../services/rows/Methods.ts"
import { Rows } from "../../services/rows/Rows.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { rowAsking } from "../rows/Ask.ts"
import { rowBody } from "../rows/Body.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { allowResponse, readResponse, writeResponse } from "../rows/Response.ts"

/**
 * `/v1/db/{table}` on the router itself and not through HttpApi: rows are never decoded here, PostgreSQL makes the
 * JSON and it goes out as it is.
 */
export const RowsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const rows = yield* Rows
    const methods = yield* RowMethods
    const settings = yield* RowSettings
    const asking = rowAsking({ db: yield* Db, branches: yield* Branches, settings })

    const incoming = HttpServerRequest.HttpServerRequest

    const read = Effect.flatMap(incoming, (request) =>
      Effect.flatMap(asking(request), (ask) => Effect.map(rows.read(ask), (answer) => readResponse(ask, answer)))
    )

    const write = (doing: "insert" | "upsert" | "update", change: (typeof rows)["insert"]) =>
      Effect.gen(function* () {
        const request = yield* incoming
        const ask = yield* asking(request)
        return writeResponse(ask, yield* change(ask, yield* rowBody(request)), doing, settings)
      })

    const remove = Effect.gen(function* () {
      const ask = yield* asking(yield* incoming)
      return writeResponse(ask, yield* rows.remove(ask), "remove", settings)
    })

    const options = Effect.gen(function* () {
      const { database, schema, table } = yield* asking(yield* incoming)
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
