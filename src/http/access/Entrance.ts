import { Context, Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { accountOf } from "../../domain/identity/AccountTraits.ts"
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
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { Keys, type LiveKey } from "../../services/access/Keys.ts"
import { Sessions, type SignedIn } from "../../services/identity/Sessions.ts"
import { apiKeyOf } from "./Credentials.ts"
import { isSecure, refuseCrossSite } from "./Origins.ts"
import { hasSessionCookie, relay } from "./SessionCookies.ts"
import { visitorOf } from "./Visit.ts"

type Request = HttpServerRequest.HttpServerRequest

/** Who came in: by a key if there is one, else by a session. */
export type Entered =
  | { readonly _tag: "Key"; readonly key: LiveKey }
  | { readonly _tag: "Session"; readonly signedIn: SignedIn }

/** Put there by middleware/Access.ts. */
export class CurrentEntry extends Context.Service<CurrentEntry, Entered>()("svc/http/CurrentEntry") {}

export type EntryTrouble =
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | StepUpRequired
  | Unavailable
  | BadGateway
  | GatewayTimeout

const needsAdmin = new Forbidden({ error: "This needs a service_role key, or a session of an administrator" })
const needsServiceRole = new Forbidden({ error: "This needs a service_role key" })

/** Lets requests outside `/v1` in. */
export class Entrance extends Context.Service<
  Entrance,
  {
    /** Anybody with a live key or a session. */
    readonly anybody: (request: Request) => Effect.Effect<Entered, EntryTrouble>
    /** A service_role key or an administrator's session: who it is, for a history. */
    readonly management: (request: Request) => Effect.Effect<Author, EntryTrouble>
  }
>()("svc/http/Entrance") {
  static readonly layer = Layer.effect(
    Entrance,
    Effect.gen(function* () {
      const keys = yield* Keys
      const sessions = yield* Sessions
      const settings = yield* IdentitySettings
      const idp = yield* IdP

      const bySession = Effect.fnUntraced(function* (request: Request) {
        yield* refuseCrossSite(request, settings)
        const signedIn = yield* sessions.current(visitorOf(request, settings))
        yield* relay(signedIn.credential, signedIn.cookies, isSecure(request, settings)).pipe(
          Effect.provideService(HttpServerRequest.HttpServerRequest, request)
        )
        return { _tag: "Session" as const, signedIn }
      })

      const anybody = (request: Request) =>
        Effect.flatMap(apiKeyOf(request.headers), (key): Effect.Effect<Entered, EntryTrouble> =>
          // Cookies of an idp that we don't know are somebody else's.
          key === "" && idp.configured && hasSessionCookie(request.headers["cookie"])
            ? bySession(request)
            : Effect.map(keys.verify(key), (live) => ({ _tag: "Key", key: live }))
        )

      const authorOf = (entered: Entered): Effect.Effect<Author, Forbidden> => {
        if (entered._tag === "Key") {
          const { id, label, type } = entered.key
          return type === "service_role" ? Effect.succeed({ type: "key", id, label }) : Effect.fail(needsServiceRole)
        }
        const { admin, session } = entered.signedIn
        return admin
          ? Effect.succeed({ type: "identity", id: session.identity.id, label: accountOf(session.identity) })
          : Effect.fail(needsAdmin)
      }

      return Entrance.of({ anybody, management: (request) => Effect.flatMap(anybody(request), authorOf) })
    })
  )
}
