import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { DatabaseError, NotAcceptable } from "../../domain/errors.ts"
import { ApiDescriptions } from "../../services/schema/ApiDescriptions.ts"
import { Branches } from "../../services/branches/Branches.ts"
import { Db } from "../../services/ports/Db.ts"
import { ExposedSchemas } from "../../services/catalogue/ExposedSchemas.ts"
import { databaseOf } from "../wire/BranchHeader.ts"
import { unlessSame } from "../wire/Preconditions.ts"
import { noGate } from "../access/Caller.ts"
import { CurrentRequest } from "../access/ServedRequest.ts"
import { allowResponse } from "../rows/Response.ts"
import { choosesProfile, profileOf } from "../rows/Profile.ts"

const openApi = "application/openapi+json"
const json = "application/json"
const offered: ReadonlySet<string> = new Set([openApi, json, "application/*", "*/*"])
const methods = ["OPTIONS", "GET", "HEAD"]

/** The media type that an `Accept` header prefers; undefined if it accepts neither. */
const mediaOf = (header: string | undefined): string | undefined => {
  const ranges = (header ?? "").split(",").flatMap((element) => {
    const [type = "", ...parameters] = element.split(";").map((part) => part.trim().toLowerCase())
    const weight = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1)
    return type === "" ? [] : [{ type, weight }]
  })
  if (ranges.length === 0) return openApi
  const known = ranges.filter(({ type, weight }) => weight > 0 && offered.has(type))
  const best = known.toSorted((one, other) => other.weight - one.weight)[0]
  return best && (best.type === json ? json : openApi)
}

/** Routes of `/v1/db/` and `/v1/db`, outside HttpApi: the document is sent as text. */
export const ApiDescriptionsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const descriptions = yield* ApiDescriptions
    const db = yield* Db
    const branches = yield* Branches
    const { schemas } = yield* ExposedSchemas

    const describe = Effect.gen(function* () {
      const { caller } = yield* CurrentRequest
      if (caller === undefined) return yield* noGate
      const request = yield* HttpServerRequest.HttpServerRequest
      const schema = yield* Effect.fromResult(profileOf(request, schemas))
      const accept = request.headers["accept"]
      const media = mediaOf(accept)
      if (media === undefined) {
        const error = `None of these media types are available: ${(accept ?? "").slice(0, 1000)}`
        return yield* new NotAcceptable({ error, code: "PGRST107" })
      }
      const database = yield* databaseOf(request.headers, caller.actor, db.main, branches)
      const describe = caller.supabase === undefined ? descriptions.describe : descriptions.describeAsPostgrest
      const document = yield* describe(database, caller.actor, schema)
      const chosen = schemas.length > 1 || choosesProfile(request)
      return yield* unlessSame(request.headers, document, (headers) =>
        HttpServerResponse.uint8Array(document, {
          contentType: `${media}; charset=utf-8`,
          headers: chosen ? { ...headers, "content-profile": schema } : headers
        })
      )
    })

    const options = Effect.succeed(allowResponse(methods))
    const unsupported = Effect.map(HttpServerRequest.HttpServerRequest, ({ method }) => method).pipe(
      Effect.flatMap((method) =>
        Effect.fail(
          new DatabaseError({
            status: 405,
            error: `Unsupported HTTP method: ${method}`,
            code: "PGRST117",
            headers: [["allow", methods.join(",")]]
          })
        )
      )
    )

    for (const path of ["/v1/db", "/v1/db/"] as const) {
      yield* router.add("GET", path, describe)
      yield* router.add("OPTIONS", path, options)
      // Otherwise the router would match them as rows of a table with an empty name.
      for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) yield* router.add(method, path, unsupported)
    }
  })
)
