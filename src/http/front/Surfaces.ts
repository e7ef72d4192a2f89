import { Context, Effect, Layer } from "effect"
import { type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { url } from "../../domain/Settings.ts"
import { type Caller } from "../access/Caller.ts"
import { type ServedRequest } from "../access/ServedRequest.ts"
import { withErrorDetails } from "../wire/ErrorBodies.ts"
import { isByPage, makeAuthentication } from "./Authentication.ts"
import { corsHeaders } from "./Cors.ts"

type Response = HttpServerResponse.HttpServerResponse

/** The paths of one API: who may enter them, which pages may read the answers, and the form of errors. */
export interface Surface {
  /** The URL or path whose routes serve one of these. Absent: the same. */
  readonly routed?: (url: string) => string
  readonly cors: (path: string, origin: string | undefined) => Readonly<Record<string, string>> | undefined
  /** Admits the caller before a route runs. Absent: the routes do. */
  readonly enter?: (request: ServedRequest) => Effect.Effect<Caller, ClientError>
  /** Whether pages of the dashboard call these paths by their session. */
  readonly forPages?: boolean
  /** Whether bodies are passed on as they arrive, and so take no memory. */
  readonly streams?: boolean
  /** Whether the routes make the bodies of errors themselves. */
  readonly ownErrors?: boolean
  /** The form in which clients read an error. */
  readonly error?: (response: Response, request: ServedRequest) => Response
  /** The error of a path without a route. Absent: 404, 405, or what else NoRoute.ts finds. */
  readonly noRoute?: (request: ServedRequest) => ClientError
  /** The `WWW-Authenticate` of a 401, made from the challenge of the error. */
  readonly challenge?: (challenge: string) => string
}

type Find = (path: string) => Surface | undefined

/** The surfaces by path: those of the service, and those that other APIs add at the start. */
export class Surfaces extends Context.Service<
  Surfaces,
  {
    readonly of: (path: string) => Surface
    /** The surface of paths that no other has. */
    readonly rest: Surface
    readonly add: (find: Find) => void
  }
>()("svc/http/Surfaces") {
  static readonly layer = Layer.effect(
    Surfaces,
    Effect.gen(function* () {
      const { byKey, byKeyOrSession, byPage } = yield* makeAuthentication
      const dashboard = (yield* url("DASHBOARD_URL"))?.origin
      const cors: Surface["cors"] = (path, origin) => corsHeaders(path, origin, dashboard)

      const client: Surface = {
        cors,
        enter: (request) => (isByPage(request) ? byPage(request) : byKey(request)),
        forPages: true
      }
      const ofrep: Surface = {
        cors,
        enter: byKeyOrSession,
        forPages: true,
        ownErrors: true,
        error: withErrorDetails
      }
      const rest: Surface = { cors }
      const added: Array<Find> = []

      const of = (path: string): Surface => {
        if (path.startsWith("/v1/") || path === "/v1") return client
        if (path.startsWith("/ofrep/")) return ofrep
        for (const find of added) {
          const surface = find(path)
          if (surface !== undefined) return surface
        }
        return rest
      }
      return Surfaces.of({ of, rest, add: (find) => void added.push(find) })
    })
  )
}
