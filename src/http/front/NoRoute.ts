import { HttpServerResponse } from "effect/http"
import { InvalidRequest, NotFound } from "../../domain/errors.ts"
import { errorResponse } from "../wire/ErrorBodies.ts"

/** Hints for paths of other services: where to find the same function here. */
const elsewhere = [
  [
    "/rest/v1",
    "Set SVC_SUPABASE=true (docs/supabase.md). Tables are at /v1/db/<table> too, functions at /v1/db/rpc/<function> (docs/rows.md)"
  ],
  [
    "/auth/v1",
    "Set SVC_SUPABASE=true (docs/supabase.md). Sessions are at /api/auth too (docs/accounts.md); JWTs of your own server are accepted (docs/tour.md)"
  ],
  [
    "/storage/v1",
    "Set SVC_SUPABASE=true (docs/supabase.md). Files are in an S3-compatible store, with presigned URLs from /api/storage (docs/storage.md)"
  ],
  ["/realtime/v1", "The feed is the WebSocket /realtime?apikey=<key>&jwt=<JWT> (docs/realtime.md)"],
  [
    "/functions/v1",
    "Set SVC_SUPABASE=true (docs/supabase.md). Functions are at /v1/functions/<name> too (docs/functions.md), those of the database at /v1/db/rpc/<function>"
  ]
] as const
const hintOf = (path: string) => elsewhere.find(([start]) => path.startsWith(start))?.[1] ?? null

/** The response to a path that no route serves, or not with this method. `methods`: those that it has. */
export const noRoute = (methods: ReadonlyArray<string>, method: string, path: string, requestId: string) => {
  const rows = path.startsWith("/v1/db/")
  if (methods.length === 0) {
    const unknown = rows
      ? new NotFound({ error: "Invalid path specified in request URL", code: "PGRST125" })
      : new NotFound({ error: `No such route: ${path.slice(0, 200)}`, hint: hintOf(path) })
    return errorResponse(unknown, requestId)
  }
  // The router finds no route for a path that it can't decode.
  if (methods.includes(method) && method !== "OPTIONS") {
    return errorResponse(new InvalidRequest({ error: "The URL is not valid percent-encoded UTF-8" }), requestId)
  }
  const allow = methods.join(", ")
  if (method === "OPTIONS") return HttpServerResponse.empty({ status: 204, headers: { allow } })
  const refused = errorResponse(
    rows
      ? new InvalidRequest({ error: `Unsupported HTTP method: ${method}`, code: "PGRST117" })
      : new InvalidRequest({
          error: `${method} is not allowed on ${path.slice(0, 200)}; use ${allow}`,
          code: "METHOD_NOT_ALLOWED"
        }),
    requestId
  )
  return HttpServerResponse.setHeader(HttpServerResponse.setStatus(refused, 405), "allow", allow)
}
