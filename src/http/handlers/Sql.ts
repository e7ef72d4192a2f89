import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { parseExact } from "../../domain/text/JsonText.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Catalogues } from "../../services/catalogue/Catalogues.ts"
import { type Actor, type Database, Db } from "../../services/ports/Db.ts"
import { type SqlAnswer, type SqlError, SqlRunner } from "../../services/sql/SqlRunner.ts"
import { bodyLimit, jsonAnswer, jsonBody } from "../wire/Body.ts"
import { databaseOf } from "../wire/BranchHeader.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { PageAudit } from "../access/PageAudit.ts"
import { issueLines } from "../wire/RequestErrors.ts"

const Statement = Schema.Struct({ sql: Schema.String, params: Schema.optionalKey(Schema.Array(Schema.Unknown)) })
const options = {
  row_limit: Schema.optionalKey(Schema.Int),
  timeout: Schema.optionalKey(Schema.Int),
  read_only: Schema.optionalKey(Schema.Boolean)
}
const Run = Schema.Struct({ ...Statement.fields, ...options })
const Transaction = Schema.Struct({ statements: Schema.Array(Statement), ...options })

/** Like all management calls: unknown fields are refused. A misspelt `read_only` must not write. */
const strictly = { errors: "all", onExcessProperty: "error" } as const

/** Commands that change no table or function. */
const keepCatalogue = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN", "SHOW", "SET", "FETCH"])

/** Routes of `/v1/sql`, outside HttpApi: the runner's JSON is sent unchanged. The contract is http/api/Sql.ts. */
export const SqlRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const runner = yield* SqlRunner
    const catalogues = yield* Catalogues
    const db = yield* Db
    const branches = yield* Branches
    const audit = yield* PageAudit

    const handle = <A extends { readonly read_only?: boolean | undefined }>(
      decode: (input: unknown) => Effect.Effect<A, Schema.SchemaError>,
      run: (database: Database, actor: Actor, request: A) => Effect.Effect<SqlAnswer, SqlError>,
      action: "run" | "transaction",
      textsOf: (request: A) => ReadonlyArray<string>
    ) =>
      Effect.gen(function* () {
        const { caller } = yield* CurrentRequest
        if (caller === undefined) return yield* noGate
        if (caller.keyType !== "service_role")
          return yield* new Forbidden({ error: "This endpoint requires a service_role key" })
        const incoming = yield* HttpServerRequest.HttpServerRequest
        const database = yield* databaseOf(incoming.headers, caller.actor, db.main, branches)
        const { text } = yield* jsonBody(incoming, bodyLimit)
        const request = yield* Effect.mapError(decode(parseExact(text)), invalid)
        const running = run(database, caller.actor, request)
        const answer = yield* request.read_only === true
          ? running
          : audit.statements(running, action, textsOf(request), ({ counts }) => ({ rows: counts }))
        if (answer.commands.some((command) => !keepCatalogue.has(command))) yield* catalogues.changed(database)
        return jsonAnswer(answer.json)
      })

    const run = handle(Schema.decodeUnknownEffect(Run, strictly), runner.run, "run", ({ sql }) => [sql])
    const transaction = handle(
      Schema.decodeUnknownEffect(Transaction, strictly),
      runner.transaction,
      "transaction",
      ({ statements }) => statements.map(({ sql }) => sql)
    )
    yield* router.add("POST", "/v1/sql", run)
    yield* router.add("POST", "/v1/sql/transaction", transaction)
  })
)

const invalid = (error: Schema.SchemaError) =>
  new InvalidRequest({ error: "Invalid payload", details: issueLines(error.issue) })
