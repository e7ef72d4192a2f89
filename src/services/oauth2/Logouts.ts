import { Context, Effect, Layer } from "effect"
import { type Browser } from "../../domain/identity/Identity.ts"
import { type LogoutRequest } from "../../domain/oauth2/OAuth2.ts"
import { type Session, Sessions } from "../identity/Sessions.ts"
import { type ChallengeError, OAuth2, type Redirect } from "../ports/OAuth2.ts"
import { type ConsentError, OAuth2Consents } from "./Consents.ts"

/** The browser's next URL. `ended`: whether its session at the identity provider was ended. */
export type LogoutRedirect = Redirect & { readonly ended: boolean }

/** Sign-out from the OAuth 2.0 server and the identity provider (OpenID Connect RP-Initiated Logout 1.0). */
export class OAuth2Logouts extends Context.Service<
  OAuth2Logouts,
  {
    readonly request: (challenge: string) => Effect.Effect<LogoutRequest, ChallengeError>
    /** The browser's session, if any; 403 `CHALLENGE_FORBIDDEN` when it is not the request's subject's. */
    readonly session: (request: LogoutRequest, browser: Browser) => Effect.Effect<Session | undefined, ConsentError>
    readonly accept: (request: LogoutRequest, browser: Browser) => Effect.Effect<LogoutRedirect, ConsentError>
    /** Leaves the user signed in. */
    readonly reject: (request: LogoutRequest, browser: Browser) => Effect.Effect<void, ConsentError>
  }
>()("svc/services/OAuth2Logouts") {
  static readonly layer = Layer.effect(
    OAuth2Logouts,
    Effect.gen(function* () {
      const oauth2 = yield* OAuth2
      const sessions = yield* Sessions
      const consents = yield* OAuth2Consents

      const sessionOf = ({ subject }: LogoutRequest, browser: Browser) => consents.sessionOf(subject, browser)

      /**
       * Ends a browser's session if it is the subject's; otherwise the next sign-in would succeed without credentials.
       * A session that still needs a step-up can't be ended, and does not reveal its owner.
       */
      const endOf = Effect.fnUntraced(function* (request: LogoutRequest, browser: Browser) {
        const session = yield* sessionOf(request, browser).pipe(
          Effect.catchTags({ Forbidden: () => Effect.undefined, StepUpRequired: () => Effect.undefined })
        )
        if (session === undefined) return false
        yield* sessions.end(session.credential)
        return true
      })

      return OAuth2Logouts.of({
        request: oauth2.logoutRequest,
        session: sessionOf,
        accept: Effect.fn("OAuth2Logouts.accept")(function* (request, browser) {
          yield* sessionOf(request, browser)
          const redirect = yield* oauth2.acceptLogout(request.challenge)
          const ended = yield* Effect.forEach(browser.credentials, (credential) =>
            endOf(request, { credentials: [credential], returnTo: undefined })
          )
          return { ...redirect, ended: ended.includes(true) }
        }),
        reject: Effect.fn("OAuth2Logouts.reject")(function* (request, browser) {
          yield* sessionOf(request, browser)
          yield* oauth2.rejectLogout(request.challenge)
        })
      })
    })
  )
}
