import { Context, Effect, Layer } from "effect"
import { type LogoutRequest } from "../../domain/oauth2/OAuth2.ts"
import { type Visitor } from "../../domain/identity/Visitor.ts"
import { IdP } from "../ports/IdP.ts"
import { type ChallengeTrouble, OAuth2, type Onward } from "../ports/OAuth2.ts"
import { type ConsentTrouble, OAuth2Consents } from "./Consents.ts"
import { Sessions, type SignedIn } from "../identity/Sessions.ts"

/** Where a browser goes on to. `ended`: its session at the idp is over. */
export type Leaving = Onward & { readonly ended: boolean }

/** Signing out of the OAuth 2.0 server, and of the idp with it (OpenID Connect RP-Initiated Logout 1.0). */
export class OAuth2Logouts extends Context.Service<
  OAuth2Logouts,
  {
    readonly request: (challenge: string) => Effect.Effect<LogoutRequest, ChallengeTrouble>
    /** Who is signed in at the idp, if anybody; 403 `CHALLENGE_FORBIDDEN` when that is not the request's subject. */
    readonly visitor: (request: LogoutRequest, visitor: Visitor) => Effect.Effect<SignedIn | undefined, ConsentTrouble>
    readonly accept: (request: LogoutRequest, visitor: Visitor) => Effect.Effect<Leaving, ConsentTrouble>
    /** Nothing ends. */
    readonly reject: (request: LogoutRequest, visitor: Visitor) => Effect.Effect<void, ConsentTrouble>
  }
>()("svc/services/OAuth2Logouts") {
  static readonly layer = Layer.effect(
    OAuth2Logouts,
    Effect.gen(function* () {
      const oauth2 = yield* OAuth2
      const idp = yield* IdP
      const sessions = yield* Sessions
      const consents = yield* OAuth2Consents

      const visitorOf = ({ subject }: LogoutRequest, visitor: Visitor) => consents.visitorIs(subject, visitor)

      return OAuth2Logouts.of({
        request: oauth2.logoutRequest,
        visitor: visitorOf,
        accept: Effect.fn("OAuth2Logouts.accept")(function* (request, visitor) {
          const signedIn = yield* visitorOf(request, visitor)
          const onward = yield* oauth2.acceptLogout(request.challenge)
          if (signedIn === undefined) return { ...onward, ended: false }
          // Else the next sign-in would succeed without a question.
          yield* idp.logout(signedIn.credential).pipe(Effect.catchTag("Unauthorized", () => Effect.void))
          yield* sessions.forget(signedIn.credential)
          return { ...onward, ended: true }
        }),
        reject: Effect.fn("OAuth2Logouts.reject")(function* (request, visitor) {
          yield* visitorOf(request, visitor)
          yield* oauth2.rejectLogout(request.challenge)
        })
      })
    })
  )
}
