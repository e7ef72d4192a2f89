import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { accountOf } from "../../domain/identity/AccountTraits.ts"
import { type ClientError, Forbidden } from "../../domain/errors.ts"
import { IdentityMarks } from "../../services/identity/Marks.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { OAuth2Consents, rememberedByDefault } from "../../services/oauth2/Consents.ts"
import { Sessions, type SignedIn } from "../../services/identity/Sessions.ts"
import { forBrowsers, sentOn } from "../pages/BrowserAnswer.ts"
import { consentPage } from "../pages/ConsentPage.ts"
import { refuseForeignForm } from "../access/Origins.ts"
import { challengeIn, decisionIn, formOf, queryFields } from "../pages/Forms.ts"
import { leavingPage } from "../pages/Pages.ts"
import { visitOf } from "../access/Visit.ts"

/** `/oauth2/consent`: our own consent screen, for where there is no dashboard (contract: http/api/ConsentPage.ts). */
export const ConsentPageRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const consents = yield* OAuth2Consents
    const sessions = yield* Sessions
    const marks = yield* IdentityMarks
    const settings = yield* IdentitySettings
    const idp = yield* IdP

    const tokenText = (challenge: string, { session }: SignedIn) => `${session.id} ${challenge}`

    /** Goes on as who is signed in; who is not signs in first, and comes back by way of the bridge. */
    const signedIn = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      challenge: string,
      use: (signedIn: SignedIn) => Effect.Effect<HttpServerResponse.HttpServerResponse, ClientError>
    ) {
      const { own, visitor } = yield* visitOf(request, settings)
      const returnTo = `${own}/api/oauth2/bridge/consent?consent_challenge=${encodeURIComponent(challenge)}`
      const visit = yield* sessions.optional({ ...visitor, returnTo })
      return visit === undefined ? sentOn({ redirectTo: yield* idp.loginUrl({ returnTo }) }) : yield* use(visit)
    })

    const visitorOf = ({ credential }: SignedIn) => ({ credentials: [credential], returnTo: undefined })

    const show = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const challenge = yield* challengeIn(yield* queryFields, "consent_challenge")
      return yield* signedIn(
        request,
        challenge,
        Effect.fnUntraced(function* (visit) {
          const asked = yield* consents.find(challenge, visitorOf(visit))
          return consentPage({
            request: asked,
            account: accountOf(visit.session.identity),
            token: yield* marks.make("consent", tokenText(challenge, visit))
          })
        })
      )
    })

    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* refuseForeignForm(request, settings)
      const form = yield* formOf(request)
      const challenge = yield* challengeIn(form, "consent_challenge")
      return yield* signedIn(
        request,
        challenge,
        Effect.fnUntraced(function* (visit) {
          if (!(yield* marks.check("consent", tokenText(challenge, visit), form.get("token") ?? ""))) {
            return yield* new Forbidden({ error: "This form was made for another session", code: "CSRF" })
          }
          const { redirectTo } = yield* (yield* decisionIn(form, "allow", "deny")) === "deny"
            ? consents.reject(challenge, visitorOf(visit), {
                error: "access_denied",
                errorDescription: "The resource owner denied the request"
              })
            : consents.accept(challenge, visitorOf(visit), {
                scope: form.getAll("grant_scope"),
                audience: undefined,
                remember: form.get("remember") === "on",
                rememberFor: rememberedByDefault
              })
          return leavingPage(redirectTo)
        })
      )
    })

    yield* router.add("GET", "/oauth2/consent", forBrowsers(show))
    yield* router.add("POST", "/oauth2/consent", forBrowsers(answer))
  })
)
