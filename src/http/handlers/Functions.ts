import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { FunctionCalls } from "../../services/functions/Calls.ts"
import { FunctionLogs } from "../../services/functions/Logs.ts"
import { FunctionDeployments } from "../../services/functions/Deployments.ts"
import { FunctionSecrets } from "../../services/functions/Secrets.ts"
import { FunctionInvoker } from "../../services/ports/functions/FunctionInvoker.ts"
import { CurrentAuthor } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { Api } from "../Api.ts"
import { filesOfTar } from "../functions/Tar.ts"
import { tried } from "../functions/Trial.ts"
import { success } from "../wire/Body.ts"

export const FunctionsHandlers = HttpApiBuilder.group(
  Api,
  "functions",
  Effect.fn(function* (handlers) {
    const functions = yield* FunctionDeployments
    const calls = yield* FunctionCalls
    const invoker = yield* FunctionInvoker
    const secrets = yield* FunctionSecrets
    const logs = yield* FunctionLogs
    return handlers.handleAll({
      list: () => calls.overview,
      find: ({ params }) => functions.find(params.name),
      deploy: ({ params, payload, query }) =>
        Effect.gen(function* () {
          const { label } = yield* CurrentAuthor
          const { entrypoint, verify_jwt } = query
          const given = "files" in payload ? payload : { files: yield* filesOfTar(payload) }
          const options = {
            ...(entrypoint === undefined ? {} : { entrypoint }),
            ...(verify_jwt === undefined ? {} : { verify_jwt: verify_jwt === "true" })
          }
          return yield* functions.deploy(params.name, { ...options, ...given }, label)
        }),
      remove: ({ params }) => Effect.as(functions.remove(params.name), success),
      versions: ({ params }) => functions.versions(params.name),
      files: ({ params }) => functions.files(params.name, params.version),
      select: ({ params }) => functions.select(params.name, params.version),
      secrets: () => secrets.list,
      setSecrets: ({ payload }) => secrets.set(payload),
      removeSecret: ({ params }) => Effect.as(secrets.remove(params.secret), success),
      call: ({ params, payload }) =>
        Effect.flatMap(CurrentRequest, (request) => tried(invoker, request, params.name, payload)),
      logs: ({ params, query: { follow, ...query } }) =>
        follow === "true"
          ? Effect.succeed(
              HttpServerResponse.stream(
                logs.follow(params.name, query).pipe(
                  Stream.map((lines) => lines.map((line) => `${JSON.stringify(line)}\n`).join("") || "\n"),
                  Stream.encodeText
                ),
                {
                  contentType: "application/x-ndjson",
                  // Proxies such as nginx send each line at once.
                  headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
                }
              )
            )
          : logs.list(params.name, query)
    })
  })
)
