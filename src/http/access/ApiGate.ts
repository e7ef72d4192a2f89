import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { type Author } from "../../domain/Author.ts"
import {
  type BadGateway,
  Forbidden,
  type GatewayTimeout,
  type InvalidRequest,
  type StepUpRequired,
  type Unauthorized,
  type Unavailable
} from "../../domain/errors.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { DashboardSessions } from "../../services/dashboard/Sessions.ts"
import { type Session, Sessions } from "../../services/identity/Sessions.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { remember } from "./Admitted.ts"
import { browserOf } from "./BrowserRequests.ts"
import { apiKeyOf } from "./Credentials.ts"
import { headersOf } from "../wire/Headers.ts"
import { dashboardTokenOf } from "./cookies/DashboardCookie.ts"
import { isSecure, refuseCrossSite } from "./Origins.ts"
import { hasSessionCookie, relayCookies } from "./cookies/SessionCookies.ts"

type Request = HttpServerRequest.HttpServerRequest

/**
 * The credential that admitted a request: an API key (sent, or of the dashboard's session), or a session of the
 * identity provider.
 */
export type KeyOrSession =
  | { readonly _tag: "Key"; readonly key: LiveKey }
  | { readonly _tag: "Session"; readonly session: Session }

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

const byKey = (key: LiveKey) => ({ _tag: "Key", key }) satisfies KeyOrSession

export const needsAdmin = new Forbidden({ error: "This needs a service_role key or an administrator's session" })
const needsServiceRole = new Forbidden({ error: "This needs a service_role key" })

/** The author for histories, if the key or session may administer; otherwise it fails. */
export const authorOf = (caller: KeyOrSession): Effect.Effect<Author, Forbidden> => {
  if (caller._tag === "Key") {
    const { id, label, type } = caller.key
    return type === "service_role" ? Effect.succeed({ type: "key", id, label }) : Effect.fail(needsServiceRole)
  }
  const { admin, identity } = caller.session
  return admin
    ? Effect.succeed({ type: "identity", id: identity.id, label: accountOf(identity) })
    : Effect.fail(needsAdmin)
}

/** Admits requests outside `/v1`. */
export class ApiGate extends Context.Service<
  ApiGate,
  {
    /** The session of the request's cookies. Callers refuse cross-site requests first. */
    readonly session: (request: Request) => Effect.Effect<KeyOrSession, ApiGateError>
    /** Any live key or session. */
    readonly keyOrSession: (request: Request) => Effect.Effect<KeyOrSession, ApiGateError>
    /** A service_role key or an administrator's session; returns the author for histories. */
    readonly management: (request: Request) => Effect.Effect<Author, ApiGateError>
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

      const byIdentity = Effect.fnUntraced(function* (request: Request) {
        const session = yield* sessions.current(browserOf(request, settings))
        yield* relayCookies(session.credential, session.cookies, isSecure(request, settings)).pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, request)
        )
        return { _tag: "Session" as const, session }
      })

      const cookieOf = (request: Request) => headersOf(request)["cookie"]
      const tokenOf = (request: Request) => {
        const cookie = cookieOf(request)
        return cookie === undefined ? undefined : dashboardTokenOf(cookie, isSecure(request, settings))
      }
      // Cookies with these names belong to another program on this host if there is no identity provider.
      const hasIdentity = (request: Request) => idp.configured && hasSessionCookie(cookieOf(request))

      const session = (request: Request): Effect.Effect<KeyOrSession, ApiGateError> => {
        const token = tokenOf(request)
        const identity = hasIdentity(request)
          ? Effect.map(byIdentity(request), (who) => remember(request, who))
          : undefined
        if (token === undefined) return identity ?? Effect.map(keys.verify(""), byKey)
        const own = Effect.map(dashboard.verify(token), ({ key }) => remember(request, byKey(key)))
        return identity === undefined ? own : Effect.catchTag(own, "Unauthorized", () => identity)
      }

      const keyOrSession = (request: Request) =>
        Effect.flatMapEager(apiKeyOf(headersOf(request)), (key): Effect.Effect<KeyOrSession, ApiGateError> =>
          key === "" && (hasIdentity(request) || tokenOf(request) !== undefined)
            ? Effect.andThen(refuseCrossSite(request, settings), session(request))
            : Effect.mapEager(keys.verify(key), (live) => remember(request, byKey(live)))
        )

      return ApiGate.of({
        session,
        keyOrSession,
        management: (request) => Effect.flatMap(keyOrSession(request), authorOf)
      })
    })
  )
}
