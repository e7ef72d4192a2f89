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
import { type Session, Sessions } from "../../services/identity/Sessions.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { browserOf } from "./BrowserRequests.ts"
import { apiKeyOf, headersOf } from "./Credentials.ts"
import { isSecure, refuseCrossSite } from "./Origins.ts"
import { hasSessionCookie, relayCookies } from "./SessionCookies.ts"

type Request = HttpServerRequest.HttpServerRequest

/** What admitted a request outside `/v1`: an API key if it has one, else a session. */
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

const needsAdmin = new Forbidden({ error: "This needs a service_role key or an administrator's session" })
const needsServiceRole = new Forbidden({ error: "This needs a service_role key" })

/** Admits requests outside `/v1`. */
export class ApiGate extends Context.Service<
  ApiGate,
  {
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

      const bySession = Effect.fnUntraced(function* (request: Request) {
        yield* refuseCrossSite(request, settings)
        const session = yield* sessions.current(browserOf(request, settings))
        yield* relayCookies(session.credential, session.cookies, isSecure(request, settings)).pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, request)
        )
        return { _tag: "Session" as const, session }
      })

      const keyOrSession = (request: Request) => {
        const headers = headersOf(request)
        return Effect.flatMapEager(apiKeyOf(headers), (key): Effect.Effect<KeyOrSession, ApiGateError> =>
          // Without an identity provider, session cookies belong to something else on this host.
          key === "" && idp.configured && hasSessionCookie(headers["cookie"])
            ? bySession(request)
            : Effect.mapEager(keys.verify(key), (live) => ({ _tag: "Key", key: live }))
        )
      }

      const authorOf = (caller: KeyOrSession): Effect.Effect<Author, Forbidden> => {
        if (caller._tag === "Key") {
          const { id, label, type } = caller.key
          return type === "service_role" ? Effect.succeed({ type: "key", id, label }) : Effect.fail(needsServiceRole)
        }
        const { admin, identity } = caller.session
        return admin
          ? Effect.succeed({ type: "identity", id: identity.id, label: accountOf(identity) })
          : Effect.fail(needsAdmin)
      }

      return ApiGate.of({ keyOrSession, management: (request) => Effect.flatMap(keyOrSession(request), authorOf) })
    })
  )
}
