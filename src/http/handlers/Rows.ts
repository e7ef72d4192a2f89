import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RowsApi } from "../api/Rows.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { Imports } from "../../services/rows/Imports.ts"
import { RowMethods } from "../../services/rows/Methods.ts"
import { Rows, type RowsAnswer } from "../../services/rows/Rows.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { PageAudit } from "../access/PageAudit.ts"
import { type DecodedRequest, requestDecoder } from "../rows/Request.ts"
import { importRequest } from "../rows/ImportRequest.ts"
import { csvStream, hasTexts, rowBody, withCsvHint } from "../rows/Body.ts"
import { withoutTimeLimit } from "../wire/Body.ts"
import { Forbidden } from "../../domain/errors.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { allowResponse, readResponse, writeResponse } from "../rows/Response.ts"

const needsServiceRole = new Forbidden({ error: "This endpoint requires a service_role key" })

const nameOf = ({ schema, table }: Pick<DecodedRequest, "schema" | "table">) => `${schema}.${table}`
const rowsIn = ({ count }: Pick<RowsAnswer, "count">) => ({ rows: count })

/**
 * `/v1/db/{table}` on the router itself and not through HttpApi: rows are never decoded. PostgreSQL builds the JSON, and
 * it is sent unchanged.
 */
export const RowsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const rows = yield* Rows
    const imports = yield* Imports
    const methods = yield* RowMethods
    const settings = yield* RowSettings
    const audit = yield* PageAudit
    const decode = requestDecoder({
      db: yield* Db,
      branches: yield* Branches,
      settings,
      exposed: yield* ExposedSchemas
    })

    const incoming = HttpServerRequest.HttpServerRequest

    const read = Effect.flatMap(incoming, (request) =>
      Effect.flatMap(decode(request), (decoded) =>
        Effect.map(rows.read(decoded), (answer) => readResponse(decoded, answer))
      )
    )

    const write = (operation: "insert" | "upsert" | "update", change: (typeof rows)["insert"]) =>
      Effect.flatMap(incoming, (request) =>
        Effect.flatMap(decode(request), (decoded) =>
          Effect.flatMap(rowBody(request), (body) =>
            Effect.map(
              audit.rows(
                withCsvHint(request, change(decoded, body, hasTexts(request))),
                operation,
                nameOf(decoded),
                rowsIn
              ),
              (answer) => writeResponse(decoded, answer, operation, settings)
            )
          )
        )
      )

    const load = Effect.gen(function* () {
      const request = yield* incoming
      const decoded = yield* decode(request)
      if (decoded.actor.role !== "service_role") return yield* needsServiceRole
      const given = yield* importRequest(request.url, decoded)
      const bytes = yield* csvStream(request)
      withoutTimeLimit(request)
      const loading = audit.rows(imports.load(given, bytes), "import", nameOf(given), (imported) => ({ ...imported }))
      return HttpServerResponse.jsonUnsafe(yield* loading, { status: 201 })
    })

    const remove = Effect.gen(function* () {
      const decoded = yield* decode(yield* incoming)
      const removing = audit.rows(rows.remove(decoded), "remove", nameOf(decoded), rowsIn)
      return writeResponse(decoded, yield* removing, "remove", settings)
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
      load,
      remove
    })
    yield* router.add("OPTIONS", RowsApi.endpoints.read.path, options)
  })
)
