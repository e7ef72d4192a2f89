import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { localesOf } from "../../domain/oauth2/OAuth2.ts"
import { Tokens } from "../../services/access/Tokens.ts"
import { type Session } from "../../services/identity/Sessions.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { BrandSettings } from "../../services/identity/Brand.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { ConsentScreens } from "../../services/oauth2/ConsentScreens.ts"
import { type BrowserRequest, browserRequestOf } from "../access/BrowserRequests.ts"
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
    const screens = yield* ConsentScreens
    const settings = yield* IdentitySettings
    const { brand, scopeDescriptions } = yield* BrandSettings
    const { scopes: dataScopes } = yield* Tokens

    /** Continues with the browser's session, or redirects it to sign in. */
    const withSession = Effect.fnUntraced(function* (
      request: HttpServerRequest.HttpServerRequest,
      challenge: string,
      use: (
        session: Session,
        browser: BrowserRequest
      ) => Effect.Effect<HttpServerResponse.HttpServerResponse, ClientError, HttpServerRequest.HttpServerRequest>
    ) {
      const browser = yield* browserRequestOf(request, settings)
      const entered = yield* screens.enter({ challenge, ...browser })
      if (entered.session !== undefined) return yield* use(entered.session, browser)
      // A redirect that answers the form would be blocked by the page's form-action policy.
      return request.method === "POST" ? redirectPage(entered.redirectTo, yield* CurrentLanguage) : redirectTo(entered)
    })

    const show = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const challenge = yield* challengeIn(yield* queryFields, "consent_challenge")
      return yield* withSession(
        request,
        challenge,
        Effect.fnUntraced(function* (session) {
          const asked = yield* screens.ask({ challenge, session })
          const language = localesOf(asked.request.requestUrl) ?? (yield* CurrentLanguage)
          return consentPage({
            ...asked,
            account: accountOf(session.identity),
            scopes: { own: scopeDescriptions, dataScopes },
            look: { brand, language }
          })
        })
      )
    })

    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* refuseForeignForm(request, settings)
      const form = yield* formOf(request)
      const challenge = yield* challengeIn(form, "consent_challenge")
      const given = Effect.map(decisionIn(form, "allow", "deny", "switch"), (decision) =>
        decision === "allow"
          ? { decision, scope: form.getAll("grant_scope"), remember: form.get("remember") === "on" }
          : { decision }
      )
      return yield* withSession(
        request,
        challenge,
        Effect.fnUntraced(function* (session, { baseUrl, secure }) {
          const token = form.get("token") ?? ""
          const { ended, redirectTo } = yield* screens.answer({ challenge, session, baseUrl, token }, given)
          if (ended) yield* clearSessionCookies(secure)
          return redirectPage(redirectTo, yield* CurrentLanguage)
        })
      )
    })

    yield* router.add("GET", "/oauth2/consent", withFailurePage(show))
    yield* router.add("POST", "/oauth2/consent", withFailurePage(answer))
  })
)
