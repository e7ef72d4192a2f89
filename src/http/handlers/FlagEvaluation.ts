import { Effect, Result } from "effect"
import { HttpRouter, type HttpServerRequest } from "effect/http"
import { type FlagEnvironment, flagEnvironments } from "../../domain/flags/Environment.ts"
import { contextProblems } from "../../domain/flags/Json.ts"
import { type FlagProblem, problemLines } from "../../domain/flags/Problem.ts"
import { type FlagContext, bulkContextBytes, contextBounds, contextBytes } from "../../domain/flags/Evaluation.ts"
import { type ClientError, InvalidRequest } from "../../domain/errors.ts"
import { isJsonObject, type JsonObject } from "../../domain/text/JsonObject.ts"
import { FlagEvaluations } from "../../services/flags/Evaluations.ts"
import { jsonAnswer, jsonBody } from "../wire/Body.ts"
import { ApiGate } from "../access/ApiGate.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { queryOf } from "../wire/Paths.ts"

/** Maximum number of flags of a bulk request. */
const maxKeys = 1000

const invalid = (details: ReadonlyArray<string>) => new InvalidRequest({ error: "Invalid payload", details })

const environmentsText = flagEnvironments.map((name) => `"${name}"`).join(" | ")

interface Input {
  readonly context: FlagContext
  readonly environment: FlagEnvironment | undefined
}

/**
 * `/api/flags/evaluate` and `…/bulk`. An evaluation costs so little that decoding by schema would dominate, so the routes
 * parse their input by hand. The contract is http/api/FlagEvaluation.ts.
 */
export const FlagEvaluationRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const apiGate = yield* ApiGate
    const evaluations = yield* FlagEvaluations

    const handle = (limit: number, run: (body: JsonObject, input: Input) => Effect.Effect<unknown, ClientError>) =>
      Effect.flatMap(CurrentRequest, (request) =>
        Effect.flatMapEager(apiGate.keyOrSession(request), () =>
          Effect.flatMap(bodyOf(request.http, limit), (body) => {
            const input = inputOf(body, request.http.url)
            if (Result.isFailure(input)) return Effect.fail(invalid(input.failure))
            return Effect.mapEager(run(body, input.success), (answer) => jsonAnswer(JSON.stringify(answer)))
          })
        )
      )

    const one = handle(contextBytes, ({ flagKey }, { context, environment }) =>
      typeof flagKey === "string"
        ? evaluations.one(flagKey, context, environment)
        : Effect.fail(invalid(["flagKey: Expected string"]))
    )
    const many = handle(bulkContextBytes, ({ flagKeys }, { context, environment }) =>
      isKeys(flagKeys)
        ? evaluations.many(flagKeys, context, environment)
        : Effect.fail(invalid([`flagKeys: Expected an array of 1 to ${maxKeys} strings`]))
    )
    yield* router.add("POST", "/api/flags/evaluate", one)
    yield* router.add("POST", "/api/flags/evaluate/bulk", many)
  })
)

const isKeys = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.length >= 1 && value.length <= maxKeys && value.every((key) => typeof key === "string")

const bodyOf = (request: HttpServerRequest.HttpServerRequest, limit: number) =>
  Effect.flatMap(jsonBody(request, limit, contextBounds), ({ value }) =>
    isJsonObject(value) ? Effect.succeed(value) : Effect.fail(invalid(["Expected object"]))
  )

/** The input that both routes share, or a line for each invalid field. */
const inputOf = (body: JsonObject, url: string): Result.Result<Input, ReadonlyArray<string>> => {
  const problems: Array<FlagProblem> = []
  const { context = {} } = body
  if (!isJsonObject(context)) problems.push({ path: ["context"], problem: "Expected object" })
  else for (const { path, problem } of contextProblems(context)) problems.push({ path: ["context", ...path], problem })
  const fromUrl = url.includes("?") ? new URLSearchParams(queryOf(url)).getAll("environment") : []
  const named = [...fromUrl, ...(body["environment"] === undefined ? [] : [body["environment"]])]
  const environment = flagEnvironments.find((name) => name === named[0])
  if (named.length > 0 && environment === undefined) {
    problems.push({ path: ["environment"], problem: `Expected ${environmentsText}` })
  } else if (named.some((name) => name !== environment)) {
    problems.push({ path: ["environment"], problem: "Expected one environment" })
  }
  return problems.length > 0
    ? Result.fail(problemLines(problems))
    : Result.succeed({ context: context as FlagContext, environment })
}
