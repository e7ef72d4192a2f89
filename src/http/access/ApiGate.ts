import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import {
  type BadGateway,
  Forbidden,
  type GatewayTimeout,
  type InvalidRequest,
  type StepUpRequired,
  type Unauthorized,
  type Unavailable
} from "../../domain/errors.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { browserOf } from "./BrowserRequests.ts"
import { apiKeyOf } from "./Credentials.ts"
import { dashboardTokenOf } from "./cookies/DashboardCookie.ts"
import { isSecure, refuseCrossSite } from "./Origins.ts"
import { hasSessionCookie, relayCookies } from "./cookies/SessionCookies.ts"
import { type KeyOrSession, type ServedRequest } from "./ServedRequest.ts"

/** Set by Access.ts. */
export class CurrentKeyOrSession extends Context.Service<CurrentKeyOrSession, KeyOrSession>()(
  "svc/http/CurrentKeyOrSession"
) {}

export type ApiGateError =
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | StepUpRequired
  | Unavailable
  | BadGateway
  | GatewayTimeout

/** Keeps the credential that admits a request. */
const admit = <A extends KeyOrSession>(request: ServedRequest, credential: A): A => {
  request.credential = credential
  return credential
}

const byKey = (key: LiveKey) => ({ _tag: "Key", key }) satisfies KeyOrSession

export const needsAdmin = new Forbidden({ error: "This needs a service_role key or an administrator's session" })
const needsServiceRole = new Forbidden({ error: "This needs a service_role key" })

/** Whether a credential may use the management API. */
export const administers = (who: KeyOrSession): boolean =>
  who._tag === "Key" ? who.key.type === "service_role" : who.session.admin

/** Admits requests outside `/v1`. */
export class ApiGate extends Context.Service<
  ApiGate,
  {
    /** The session of the request's cookies. Callers refuse cross-site requests first. */
    readonly session: (request: ServedRequest) => Effect.Effect<KeyOrSession, ApiGateError>
    /** Any live key or session. */
    readonly keyOrSession: (request: ServedRequest) => Effect.Effect<KeyOrSession, ApiGateError>
    /** A service_role key or an administrator's session. */
    readonly administrator: (request: ServedRequest) => Effect.Effect<KeyOrSession, ApiGateError>
  }
>()("svc/http/ApiGate") {
  static readonly layer = Layer.effect(
    ApiGate,
    Effect.gen(function* () {
      const keys = yield* Keys
      const sessions = yield* Sessions
      const settings = yield* IdentitySettings
      const idp = yield* IdP
      const dashboard = yield* DashboardSessions

      const byIdentity = Effect.fnUntraced(function* (request: ServedRequest) {
        const { http } = request
        const session = yield* sessions.current(browserOf(http, settings))
        yield* relayCookies(session.credential, session.cookies, isSecure(http, settings)).pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, http)
        )
        return admit(request, { _tag: "Session", session })
      })

      const tokenOf = ({ headers, http }: ServedRequest) => {
        const { cookie } = headers
        return cookie === undefined ? undefined : dashboardTokenOf(cookie, isSecure(http, settings))
      }
      // Cookies with these names belong to another program on this host if there is no identity provider.
      const hasIdentity = ({ headers }: ServedRequest) => idp.configured && hasSessionCookie(headers["cookie"])

      const session = (request: ServedRequest): Effect.Effect<KeyOrSession, ApiGateError> => {
        const token = tokenOf(request)
        const identity = hasIdentity(request) ? byIdentity(request) : undefined
        if (token === undefined) return identity ?? Effect.map(keys.verify(""), byKey)
        const own = Effect.map(dashboard.verify(token), ({ key }) => admit(request, byKey(key)))
        return identity === undefined ? own : Effect.catchTag(own, "Unauthorized", () => identity)
      }

      const keyOrSession = (request: ServedRequest) =>
        Effect.flatMapEager(apiKeyOf(request.headers), (key): Effect.Effect<KeyOrSession, ApiGateError> =>
          key === "" && (hasIdentity(request) || tokenOf(request) !== undefined)
            ? Effect.andThen(refuseCrossSite(request.http, settings), session(request))
            : Effect.mapEager(keys.verify(key), (live) => admit(request, byKey(live)))
        )

      const administrator = (request: ServedRequest) =>
        Effect.filterOrFail(keyOrSession(request), administers, ({ _tag }) =>
          _tag === "Key" ? needsServiceRole : needsAdmin
        )

      return ApiGate.of({ session, keyOrSession, administrator })
    })
  )
}
