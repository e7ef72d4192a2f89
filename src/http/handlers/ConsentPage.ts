import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type ClientError, Forbidden } from "../../domain/errors.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { asOtherUser, localesOf } from "../../domain/oauth2/OAuth2.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { type Session, Sessions } from "../../services/identity/Sessions.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { BrandSettings } from "../../services/identity/Brand.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdentitySignatures } from "../../services/access/Signatures.ts"
import { OAuth2Bridge } from "../../services/oauth2/Bridge.ts"
import { defaultRememberFor, OAuth2Consents } from "../../services/oauth2/Consents.ts"
import { IdP } from "../../services/ports/IdP.ts"
import { browserRequestOf } from "../access/BrowserRequests.ts"
import { refuseForeignForm } from "../access/Origins.ts"
import { clearSessionCookies } from "../access/cookies/SessionCookies.ts"
import { consentPage } from "../pages/ConsentPage.ts"
import {
  challengeIn,
  decisionIn,
  formOf,
  queryFields,
  redirectPage,
  redirectTo,
  withFailurePage
} from "../pages/Pages.ts"

/** `/oauth2/consent`: the service's own consent screen, used without a dashboard (contract: http/api/ConsentPage.ts). */
export const ConsentPageRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const bridge = yield* OAuth2Bridge
    const consents = yield* OAuth2Consents
    const sessions = yield* Sessions
    const signatures = yield* IdentitySignatures
    const settings = yield* IdentitySettings
    const idp = yield* IdP
    const { brand, scopeDescriptions } = yield* BrandSettings
    const { scopes: dataScopes } = yield* Tokens

    const signed = (challenge: string, { id }: Session) => `${id} ${challenge}`

    /** Continues with the browser's session; without one the user signs in first and returns through the bridge. */
    const withSession = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      challenge: string,
      use: (
        session: Session
      ) => Effect.Effect<HttpServerResponse.HttpServerResponse, ClientError, HttpServerRequest.HttpServerRequest>
    ) {
      const { baseUrl, credentials } = yield* browserRequestOf(request, settings)
      const returnTo = yield* bridge.returnToConsent(baseUrl, challenge)
      const onward = Effect.map(sessions.optional({ credentials, returnTo }), (session) => ({ session, to: undefined }))
      const { session, to } = yield* Effect.catchTag(onward, "StepUpRequired", ({ redirect_to }) =>
        Effect.succeed({ session: undefined, to: redirect_to ?? undefined })
      )
      if (session !== undefined) return yield* use(session)
      const next = to ?? (yield* idp.loginUrl({ returnTo }))
      // A redirect that answers the form would be blocked by the page's form-action policy.
      return request.method === "POST" ? redirectPage(next, yield* CurrentLanguage) : redirectTo({ redirectTo: next })
    })

    const browserOf = ({ credential }: Session) => ({ credentials: [credential], returnTo: undefined })

    /** Signs the browser out at the identity provider and starts the request again, for another user. */
    const switchUser = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      challenge: string,
      session: Session
    ) {
      const { requestUrl } = yield* consents.find(challenge, browserOf(session))
      yield* idp.logout(session.credential).pipe(Effect.catchTag("Unauthorized", () => Effect.void))
      yield* sessions.invalidate(session.credential)
      const { baseUrl, secure } = yield* browserRequestOf(request, settings)
      yield* clearSessionCookies(secure)
      const returnTo = yield* bridge.returnToConsent(baseUrl, challenge)
      return redirectPage(asOtherUser(requestUrl) ?? (yield* idp.loginUrl({ returnTo })), yield* CurrentLanguage)
    })

    const show = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const challenge = yield* challengeIn(yield* queryFields, "consent_challenge")
      return yield* withSession(
        request,
        challenge,
        Effect.fnUntraced(function* (session) {
          const found = yield* consents.find(challenge, browserOf(session))
          const language = localesOf(found.requestUrl) ?? (yield* CurrentLanguage)
          return consentPage({
            request: found,
            account: accountOf(session.identity),
            scopes: { own: scopeDescriptions, dataScopes },
            look: { brand, language },
            token: yield* signatures.sign("consent", signed(challenge, session))
          })
        })
      )
    })

    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* refuseForeignForm(request, settings)
      const form = yield* formOf(request)
      const challenge = yield* challengeIn(form, "consent_challenge")
      return yield* withSession(
        request,
        challenge,
        Effect.fnUntraced(function* (session) {
          if (!(yield* signatures.verify("consent", signed(challenge, session), form.get("token") ?? ""))) {
            return yield* new Forbidden({
              error: "This form belongs to another session; reload the page",
              code: "CSRF"
            })
          }
          const decision = yield* decisionIn(form, "allow", "deny", "switch")
          if (decision === "switch") return yield* switchUser(request, challenge, session)
          const { redirectTo } = yield* decision === "deny"
            ? consents.reject(challenge, browserOf(session), {
                error: "access_denied",
                errorDescription: "The resource owner denied the request"
              })
            : consents.accept(challenge, browserOf(session), {
                scope: form.getAll("grant_scope"),
                audience: undefined,
                remember: form.get("remember") === "on",
                rememberFor: defaultRememberFor
              })
          return redirectPage(redirectTo, yield* CurrentLanguage)
        })
      )
    })

    yield* router.add("GET", "/oauth2/consent", withFailurePage(show))
    yield* router.add("POST", "/oauth2/consent", withFailurePage(answer))
  })
)
