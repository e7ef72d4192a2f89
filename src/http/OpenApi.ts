import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "./Api.ts"
import { FunctionsApi } from "./api/Functions.ts"
import { RowsApi } from "./api/Rows.ts"
import { SqlApi } from "./api/Sql.ts"

/** The whole contract, for readers and generators: what HttpApi serves and what the router itself does. */
class Contract extends HttpApi.make("svc")
  .addHttpApi(Api)
  .add(SqlApi)
  .add(RowsApi)
  .add(FunctionsApi)
  .annotateMerge(
    OpenApi.annotations({
      title: "Backend platform",
      version: "0.1.0",
      description: "Client API under /v1, management API under /api. Send an API key in the header `apikey`."
    })
  ) {}

export const document = OpenApi.fromApi(Contract)

const templates = Object.entries(document.paths).map(([path, operations]) => ({
  matches: new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
  methods: methodsOfOperations(Object.keys(operations))
}))

function methodsOfOperations(names: ReadonlyArray<string>) {
  const methods = names.map((name) => name.toUpperCase())
  return ["OPTIONS", ...methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))]
}

/** The methods that a path of ours knows; none for a path that is not ours. */
export const methodsOf = (path: string): ReadonlyArray<string> =>
  templates.find((template) => template.matches.test(path))?.methods ?? []

/** `GET /openapi.json` (OpenAPI 3.1) and `GET /docs`. */
export const DocsRoutes = Layer.mergeAll(
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      yield* router.add("GET", "/openapi.json", HttpServerResponse.jsonUnsafe(document))
    })
  ),
  HttpApiScalar.layer(Contract, { path: "/docs" })
)
