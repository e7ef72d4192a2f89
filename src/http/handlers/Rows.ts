import { Effect, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { InvalidRequest, type NotAcceptable } from "../../domain/errors.ts"
import { type Returning } from "../../domain/RowSql.ts"
import { queryPairs } from "../../domain/RowText.ts"
import { Branches, type BranchRefusal } from "../../services/Branches.ts"
import { type Database, Db } from "../../services/Db.ts"
import { type RowRequest, Rows, type RowsAnswer } from "../../services/Rows.ts"
import { RowSettings } from "../../services/RowSettings.ts"
import { jsonBody, rowBodyLimit } from "../Body.ts"
import { branchHeader, branchOf } from "../BranchHeader.ts"
import { CurrentCaller, noGate } from "../Caller.ts"
import { jsonAnswer } from "../JsonAnswer.ts"
import { lastSegment, queryOf } from "../Paths.ts"
import { parsePrefer } from "../Prefer.ts"
import { profileOf } from "../Profile.ts"

const path = "/v1/db/:table"

/**
 * `/v1/db/{table}` on the router itself and not through HttpApi: rows are never decoded here, PostgreSQL makes the
 * JSON and it goes out as it is. The contract for readers is http/api/Rows.ts.
 */
export const RowsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const rows = yield* Rows
    const db = yield* Db
    const branches = yield* Branches
    const settings = yield* RowSettings

    const requestOf = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.withFiber<RowRequest, InvalidRequest | NotAcceptable | BranchRefusal>((fiber) => {
        const caller = fiber.getRef(CurrentCaller)
        if (caller === undefined) return Effect.fail(noGate)
        const query = queryPairs(queryOf(request.url))
        const table = lastSegment(request.url)
        if (query === undefined || table === undefined) {
          return Effect.fail(new InvalidRequest({ error: "The URL is not valid percent-encoded UTF-8" }))
        }
        const schema = profileOf(request, settings.schemas)
        if (Result.isFailure(schema)) return Effect.fail(schema.failure)
        const on = (database: Database) => ({ database, actor: caller.actor, schema: schema.success, table, query })
        const branch = request.headers[branchHeader]
        return branch === undefined ? Effect.succeed(on(db.main)) : Effect.map(branchOf(branch, branches), on)
      })

    const returningOf = (request: HttpServerRequest.HttpServerRequest) => {
      const asked = parsePrefer(request.headers["prefer"]).return
      const returning: Returning =
        asked === undefined ? settings.defaultReturn : asked === "representation" ? asked : "minimal"
      const applied: Record<string, string> = asked === undefined ? {} : { "preference-applied": `return=${asked}` }
      return { returning, applied }
    }

    const answered = (answer: RowsAnswer, status: number, returning: Returning, headers: Record<string, string>) =>
      returning === "minimal"
        ? HttpServerResponse.empty(
            status === 200 ? { status: 204, headers } : { status, headers: { ...headers, "content-length": "0" } }
          )
        : jsonAnswer(answer.body, { status, headers })

    const get = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Effect.flatMap(requestOf(request), (asked) =>
        Effect.map(rows.read(asked), (answer) =>
          jsonAnswer(answer.body, { headers: { "content-range": contentRange(answer) } })
        )
      )
    )

    const post = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const asked = yield* requestOf(request)
      const { returning, applied } = returningOf(request)
      const answer = yield* rows.insert(asked, yield* jsonBody(request, rowBodyLimit), returning)
      return answered(answer, 201, returning, applied)
    })

    const patch = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const asked = yield* requestOf(request)
      const { returning, applied } = returningOf(request)
      const answer = yield* rows.update(asked, yield* jsonBody(request, rowBodyLimit), returning)
      return answered(answer, 200, returning, { ...applied, "content-range": contentRange(answer) })
    })

    const remove = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const asked = yield* requestOf(request)
      const { returning, applied } = returningOf(request)
      const answer = yield* rows.remove(asked, returning)
      return answered(answer, 200, returning, { ...applied, "content-range": contentRange(answer) })
    })

    yield* router.add("GET", path, get)
    yield* router.add("POST", path, post)
    yield* router.add("PATCH", path, patch)
    yield* router.add("DELETE", path, remove)
  })
)

/** RFC 9110 14.4 with unit `items` left out, as PostgREST writes it: `0-24/*`, or an asterisk for no rows. */
const contentRange = ({ count, offset }: RowsAnswer) => `${count === 0 ? "*" : `${offset}-${offset + count - 1}`}/*`
