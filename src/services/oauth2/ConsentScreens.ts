import { Context, Effect, Layer } from "effect"
import { Forbidden, type InvalidRequest, type StepUpRequired, type Unavailable } from "../../domain/errors.ts"
import { type Browser } from "../../domain/identity/Identity.ts"
import { asOtherUser, type ConsentRequest } from "../../domain/oauth2/OAuth2.ts"
import { IdentitySignatures } from "../access/Signatures.ts"
import { type Session, Sessions } from "../identity/Sessions.ts"
import { IdP, type IdPError } from "../ports/IdP.ts"
import { type Redirect } from "../ports/OAuth2.ts"
import { OAuth2Bridge } from "./Bridge.ts"
import { type ConsentError, OAuth2Consents } from "./Consents.ts"

/** A browser at the screen, and the URL at which it reaches the service, without a trailing slash. */
interface ScreenVisit {
  readonly challenge: string
  readonly credentials: Browser["credentials"]
  readonly baseUrl: string
}

/** A challenge, and the session of the person who is asked. */
interface Asked {
  readonly challenge: string
  readonly session: Session
}

/** What a person answers. `scope`: the granted part of what was requested. */
export type ConsentDecision =
  | { readonly decision: "allow"; readonly scope: ReadonlyArray<string>; readonly remember: boolean }
  | { readonly decision: "deny" }
  | { readonly decision: "switch" }

/** The service's own consent screen: who is asked, which forms are valid, and what an answer does. */
export class ConsentScreens extends Context.Service<
  ConsentScreens,
  {
    /** The browser's session, or the URL at which the user signs in first and returns through the bridge. */
    readonly enter: (
      visit: ScreenVisit
    ) => Effect.Effect<
      { readonly session: Session } | (Redirect & { readonly session?: undefined }),
      IdPError | Unavailable
    >
    /** The request, and the token of a form that answers it in this session. */
    readonly ask: (
      asked: Asked
    ) => Effect.Effect<{ readonly request: ConsentRequest; readonly token: string }, ConsentError>
    /** 403 `CSRF` unless `token` is that of the form, which is read only then. `ended`: whether the session was ended, to sign in as another user. */
    readonly answer: (
      asked: Asked & { readonly baseUrl: string; readonly token: string },
      given: Effect.Effect<ConsentDecision, InvalidRequest>
    ) => Effect.Effect<Redirect & { readonly ended: boolean }, ConsentError | InvalidRequest | StepUpRequired>
  }
>()("svc/services/ConsentScreens") {
  static readonly layer = Layer.effect(
    ConsentScreens,
    Effect.gen(function* () {
      const bridge = yield* OAuth2Bridge
      const consents = yield* OAuth2Consents
      const sessions = yield* Sessions
      const signatures = yield* IdentitySignatures
      const idp = yield* IdP
      const signed = ({ challenge, session }: Asked) => `${session.id} ${challenge}`
      const browserOf = ({ session }: Asked) => ({ credentials: [session.credential], returnTo: undefined })

      /** Signs the browser out at the identity provider, and starts the request again for another user. */
      const switchUser = Effect.fnUntraced(function* (asked: Asked, baseUrl: string) {
        const { requestUrl } = yield* consents.find(asked.challenge, browserOf(asked))
        yield* sessions.end(asked.session.credential)
        const returnTo = yield* bridge.returnToConsent(baseUrl, asked.challenge)
        return { redirectTo: asOtherUser(requestUrl) ?? (yield* idp.loginUrl({ returnTo })), ended: true }
      })

      return ConsentScreens.of({
        enter: Effect.fn("ConsentScreens.enter")(function* ({ baseUrl, challenge, credentials }) {
          const returnTo = yield* bridge.returnToConsent(baseUrl, challenge)
          const found = sessions.optional({ credentials, returnTo }).pipe(
            Effect.map((session) => ({ session, stepUp: null })),
            Effect.catchTag("StepUpRequired", ({ redirect_to }) =>
              Effect.succeed({ session: undefined, stepUp: redirect_to })
            )
          )
          const { session, stepUp } = yield* found
          return session !== undefined ? { session } : { redirectTo: stepUp ?? (yield* idp.loginUrl({ returnTo })) }
        }),
        ask: Effect.fn("ConsentScreens.ask")(function* (asked) {
          const request = yield* consents.find(asked.challenge, browserOf(asked))
          return { request, token: yield* signatures.sign("consent", signed(asked)) }
        }),
        answer: Effect.fn("ConsentScreens.answer")(function* ({ baseUrl, token, ...asked }, given) {
          if (!(yield* signatures.verify("consent", signed(asked), token))) {
            return yield* new Forbidden({
              error: "This form belongs to another session; reload the page",
              code: "CSRF"
            })
          }
          const answer = yield* given
          if (answer.decision === "switch") return yield* switchUser(asked, baseUrl)
          const { redirectTo } = yield* answer.decision === "deny"
            ? consents.reject(asked.challenge, browserOf(asked), {
                error: "access_denied",
                errorDescription: "The resource owner denied the request"
              })
            : consents.accept(asked.challenge, browserOf(asked), {
                scope: answer.scope,
                audience: undefined,
                remember: answer.remember
              })
          return { redirectTo, ended: false }
        })
      })
    })
  )
}
