import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RowsApi } from "../api/Rows.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { type ImportConflict, Imports } from "../../services/rows/Imports.ts"
import { RowMethods } from "../../services/rows/Methods.ts"
import { Rows, type RowsAnswer } from "../../services/rows/Rows.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { RowSettings } from "../../services/rows/Settings.ts"
import { PageAudit } from "../access/PageAudit.ts"
import { type DecodedRequest, requestDecoder } from "../rows/Request.ts"
import { csvStream, hasTexts, rowBody, withCsvHint } from "../rows/Body.ts"
import { withoutTimeLimit } from "../wire/Body.ts"
import { importedTable } from "../wire/Paths.ts"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { RowCursor } from "../../domain/rows/parse/Cursor.ts"
import { readNames } from "../../domain/rows/parse/Order.ts"
import { parseError } from "../../domain/rows/parse/ParserError.ts"
import { shorten } from "../../domain/text/Shorten.ts"
import { addRoutes } from "../wire/ContractRoutes.ts"
import { allowResponse, readResponse, writeResponse } from "../rows/Response.ts"

const needsServiceRole = new Forbidden({ error: "This endpoint requires a service_role key" })

const unknownParameter = (name: string) =>
  new InvalidRequest({
    error: `An import has no parameter ${shorten(name)}`,
    hint: "Its parameters are null, on_conflict and resolution"
  })

const nameOf = ({ schema, table }: DecodedRequest) => `${schema}.${table}`
const rowsIn = ({ count }: Pick<RowsAnswer, "count">) => ({ rows: count })

const importParameters = new Set(["null", "on_conflict", "resolution"])
const resolutions: Readonly<Record<string, ImportConflict["resolution"]>> = {
  "merge-duplicates": "merge",
  "ignore-duplicates": "ignore"
}

/** How an import handles rows whose key exists. */
const conflictOf = (query: ReadonlyArray<readonly [string, string]>) => {
  const [columns, named] = ["on_conflict", "resolution"].map((name) => query.find(([key]) => key === name)?.[1])
  if (columns === undefined) {
    return named === undefined
      ? Effect.undefined
      : Effect.fail(
          new InvalidRequest({ error: "An import with resolution needs on_conflict, the columns of the key" })
        )
  }
  const resolution = resolutions[named ?? "merge-duplicates"]
  if (resolution === undefined) {
    const error = `resolution is merge-duplicates or ignore-duplicates, not ${shorten(named ?? "")}`
    return Effect.fail(new InvalidRequest({ error }))
  }
  const cursor = new RowCursor(columns)
  const names = readNames(cursor)
  return names === undefined
    ? Effect.fail(parseError("on_conflict parameter", cursor))
    : Effect.succeed<ImportConflict>({ columns: names, resolution })
}

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
      const { actor, database, query, schema, searchPath } = yield* decode(request)
      if (actor.role !== "service_role") return yield* needsServiceRole
      const table = importedTable(request.url)
      const other = query.find(([name]) => !importParameters.has(name))
      if (table === undefined || other !== undefined) return yield* unknownParameter(other?.[0] ?? "")
      const nullText = query.find(([name]) => name === "null")?.[1]
      const conflict = yield* conflictOf(query)
      const bytes = yield* csvStream(request)
      withoutTimeLimit(request)
      const given = { database, actor, schema, searchPath, table, nullText, conflict }
      const loading = audit.rows(imports.load(given, bytes), "import", `${schema}.${table}`, (imported) => ({
        ...imported
      }))
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
