import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { RowMethods } from "../../services/rows/Methods.ts"
import { Rows } from "../../services/rows/Rows.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { rowAsking } from "../rows/Ask.ts"
import { rowBody } from "../rows/Body.ts"
import { allowResponse, readResponse, writeResponse } from "../rows/Response.ts"

const path = "/v1/db/:table"

/**
 * `/v1/db/{table}` on the router itself and not through HttpApi: rows are never decoded here, PostgreSQL makes the
 * JSON and it goes out as it is. The contract for readers is http/api/Rows.ts.
 */
export const RowsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const rows = yield* Rows
    const methods = yield* RowMethods
    const settings = yield* RowSettings
    const asking = rowAsking({ db: yield* Db, branches: yield* Branches, settings })

    const incoming = HttpServerRequest.HttpServerRequest

    const get = Effect.flatMap(incoming, (request) =>
      Effect.flatMap(asking(request), (ask) => Effect.map(rows.read(ask), (answer) => readResponse(ask, answer)))
    )

    const written = (doing: "insert" | "upsert" | "update", write: (typeof rows)["insert"]) =>
      Effect.gen(function* () {
        const request = yield* incoming
        const ask = yield* asking(request)
        return writeResponse(ask, yield* write(ask, yield* rowBody(request)), doing, settings)
      })

    const remove = Effect.gen(function* () {
      const ask = yield* asking(yield* incoming)
      return writeResponse(ask, yield* rows.remove(ask), "remove", settings)
    })

    const options = Effect.gen(function* () {
      const { database, schema, table } = yield* asking(yield* incoming)
      return allowResponse(yield* methods.ofTable(database, schema, table))
    })

    yield* router.add("GET", path, get)
    yield* router.add("POST", path, written("insert", rows.insert))
    yield* router.add("PUT", path, written("upsert", rows.upsertOne))
    yield* router.add("PATCH", path, written("update", rows.update))
    yield* router.add("DELETE", path, remove)
    yield* router.add("OPTIONS", path, options)
  })
)
