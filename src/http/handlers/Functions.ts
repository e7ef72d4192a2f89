import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { FunctionLogs } from "../../services/functions/Logs.ts"
import { FunctionDeployments } from "../../services/functions/Deployments.ts"
import { FunctionSecrets } from "../../services/functions/Secrets.ts"
import { CurrentAuthor } from "../access/Caller.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const FunctionsHandlers = HttpApiBuilder.group(
  Api,
  "functions",
  Effect.fn(function* (handlers) {
    const functions = yield* FunctionDeployments
    const secrets = yield* FunctionSecrets
    const logs = yield* FunctionLogs
    return handlers.handleAll({
      list: () => functions.list,
      find: ({ params }) => functions.find(params.name),
      deploy: ({ params, payload }) =>
        Effect.flatMap(CurrentAuthor, ({ label }) => functions.deploy(params.name, payload, label)),
      remove: ({ params }) => Effect.as(functions.remove(params.name), success),
      versions: ({ params }) => functions.versions(params.name),
      files: ({ params }) => functions.files(params.name, params.version),
      select: ({ params }) => functions.select(params.name, params.version),
      secrets: () => secrets.list,
      setSecrets: ({ payload }) => secrets.set(payload),
      removeSecret: ({ params }) => Effect.as(secrets.remove(params.secret), success),
      logs: ({ params, query }) => logs.list(params.name, query)
    })
  })
)
