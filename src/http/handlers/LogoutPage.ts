import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { Forbidden } from "../../domain/errors.ts"
import { accountOf } from "../../domain/identity/Identity.ts"
import { CurrentLanguage } from "../../services/identity/CurrentLanguage.ts"
import { BrandSettings } from "../../services/identity/Brand.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { IdentitySignatures } from "../../services/access/Signatures.ts"
import { OAuth2Logouts } from "../../services/oauth2/Logouts.ts"
import { browserRequestOf } from "../access/BrowserRequests.ts"
import { refuseForeignForm } from "../access/Origins.ts"
import { clearSessionCookies } from "../access/cookies/SessionCookies.ts"
import { logoutPage, stillSignedInPage } from "../pages/LogoutPage.ts"
import { challengeIn, decisionIn, formOf, queryFields, redirectPage, withFailurePage } from "../pages/Pages.ts"

/** `/oauth2/logout`: confirms sign-outs that no client proved with an ID token (contract: http/api/LogoutPage.ts). */
export const LogoutPageRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const logouts = yield* OAuth2Logouts
    const signatures = yield* IdentitySignatures
    const settings = yield* IdentitySettings
    const { brand } = yield* BrandSettings

    /** The logout request, and the session of the browser that came with it. */
    const load = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, challenge: string) {
      const logout = yield* logouts.request(challenge)
      const { baseUrl, credentials, secure } = yield* browserRequestOf(request, settings)
      const returnTo = `${baseUrl}/oauth2/logout?logout_challenge=${encodeURIComponent(challenge)}`
      const browser = { credentials, returnTo }
      const session = yield* logouts.session(logout, browser)
      return { browser, logout, secure, session, here: returnTo, signed: `${session?.id ?? ""} ${challenge}` }
    })

    const show = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const challenge = yield* challengeIn(yield* queryFields, "logout_challenge")
      const { session, signed } = yield* load(request, challenge)
      return logoutPage({
        look: { brand, language: yield* CurrentLanguage },
        challenge,
        account: session && accountOf(session.identity),
        token: yield* signatures.sign("logout", signed)
      })
    })

    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const language = yield* CurrentLanguage
      yield* refuseForeignForm(request, settings)
      const form = yield* formOf(request)
      const challenge = yield* challengeIn(form, "logout_challenge")
      const { browser, here, logout, secure, session, signed } = yield* load(request, challenge)
      if (!(yield* signatures.verify("logout", signed, form.get("token") ?? ""))) {
        // The session has ended since the page was shown: the page is shown again, without it.
        if (session === undefined) return redirectPage(here, language)
        return yield* new Forbidden({ error: "This form belongs to another session; reload the page", code: "CSRF" })
      }
      if ((yield* decisionIn(form, "leave", "stay")) === "stay") {
        yield* logouts.reject(logout, browser)
        return settings.dashboardUrl === undefined
          ? stillSignedInPage({ brand, language })
          : redirectPage(settings.dashboardUrl, language)
      }
      const { ended, redirectTo } = yield* logouts.accept(logout, browser)
      if (ended) yield* clearSessionCookies(secure)
      return redirectPage(redirectTo, language)
    })

    yield* router.add("GET", "/oauth2/logout", withFailurePage(show))
    yield* router.add("POST", "/oauth2/logout", withFailurePage(answer))
  })
)
