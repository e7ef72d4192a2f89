import { Effect, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Forbidden, InvalidRequest } from "../../domain/errors.ts"
import { parseExact } from "../../domain/JsonText.ts"
import { Catalogues } from "../../services/Catalogues.ts"
import { type Actor, Db } from "../../services/Db.ts"
import { type SqlAnswer, type SqlError, SqlRunner } from "../../services/SqlRunner.ts"
import { bodyLimit, jsonBody } from "../Body.ts"
import { CurrentCaller, noGate } from "../Caller.ts"
import { issueLines } from "../Issues.ts"
import { jsonAnswer } from "../JsonAnswer.ts"

const Statement = Schema.Struct({ sql: Schema.String, params: Schema.optional(Schema.Array(Schema.Unknown)) })
const Run = Schema.Struct({ ...Statement.fields, row_limit: Schema.optional(Schema.Int) })
const Transaction = Schema.Struct({ statements: Schema.Array(Statement) })

/** Commands after which every table and function is what it was. */
const keepCatalogue = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "EXPLAIN", "SHOW", "SET", "FETCH"])

/** `/v1/sql`: the result goes out as the runner made it. The contract for readers is http/api/Sql.ts. */
export const SqlRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const runner = yield* SqlRunner
    const catalogues = yield* Catalogues
    const db = yield* Db

    const handle = <A>(
      decode: (input: unknown) => Effect.Effect<A, Schema.SchemaError>,
      run: (actor: Actor, request: A) => Effect.Effect<SqlAnswer, SqlError>
    ) =>
      Effect.gen(function* () {
        const caller = yield* CurrentCaller
        if (caller === undefined) return yield* noGate
        if (caller.keyType !== "service_role") return yield* new Forbidden({ error: "This needs a service_role key" })
        const { text } = yield* jsonBody(yield* HttpServerRequest.HttpServerRequest, bodyLimit)
        const request = yield* Effect.mapError(decode(parseExact(text)), invalid)
        const answer = yield* run(caller.actor, request)
        if (answer.commands.some((command) => !keepCatalogue.has(command))) yield* catalogues.changed(db.main)
        return jsonAnswer(answer.json)
      })

    const run = handle(Schema.decodeUnknownEffect(Run), (actor, request) => runner.run(db.main, actor, request))
    const transaction = handle(Schema.decodeUnknownEffect(Transaction), (actor, request) =>
      runner.transaction(db.main, actor, request)
    )
    yield* router.add("POST", "/v1/sql", run)
    yield* router.add("POST", "/v1/sql/transaction", transaction)
  })
)

const invalid = (error: Schema.SchemaError) =>
  new InvalidRequest({ error: "Invalid payload", details: issueLines(error.issue) })
