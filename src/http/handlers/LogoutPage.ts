import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { accountOf } from "../../domain/identity/AccountTraits.ts"
import { Forbidden } from "../../domain/errors.ts"
import { IdentityMarks } from "../../services/identity/Marks.ts"
import { IdentitySettings } from "../../services/identity/Settings.ts"
import { OAuth2Logouts } from "../../services/oauth2/Logouts.ts"
import { forBrowsers } from "../pages/BrowserAnswer.ts"
import { logoutPage, stayedPage } from "../pages/LogoutPage.ts"
import { refuseForeignForm } from "../access/Origins.ts"
import { challengeIn, decisionIn, formOf, queryFields } from "../pages/Forms.ts"
import { leavingPage } from "../pages/Pages.ts"
import { signedOut } from "../access/SessionCookies.ts"
import { visitOf } from "../access/Visit.ts"

/** `/oauth2/logout`: asks before a sign-out that no client vouches for (contract: http/api/LogoutPage.ts). */
export const LogoutPageRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const logouts = yield* OAuth2Logouts
    const marks = yield* IdentityMarks
    const settings = yield* IdentitySettings

    /** What is asked for, and who comes about it. */
    const arrival = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, challenge: string) {
      const asked = yield* logouts.request(challenge)
      const { own, secure, visitor } = yield* visitOf(request, settings)
      const returnTo = `${own}/oauth2/logout?logout_challenge=${encodeURIComponent(challenge)}`
      const who = { ...visitor, returnTo }
      const signedIn = yield* logouts.visitor(asked, who)
      return { asked, secure, signedIn, who, tokenText: `${signedIn?.session.id ?? ""} ${challenge}` }
    })

    const show = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const challenge = yield* challengeIn(yield* queryFields, "logout_challenge")
      const { signedIn, tokenText } = yield* arrival(request, challenge)
      return logoutPage({
        challenge,
        account: signedIn && accountOf(signedIn.session.identity),
        token: yield* marks.make("logout", tokenText)
      })
    })

    const answer = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* refuseForeignForm(request, settings)
      const form = yield* formOf(request)
      const challenge = yield* challengeIn(form, "logout_challenge")
      const { asked, secure, tokenText, who } = yield* arrival(request, challenge)
      if (!(yield* marks.check("logout", tokenText, form.get("token") ?? ""))) {
        return yield* new Forbidden({ error: "This form was made for another session", code: "CSRF" })
      }
      if ((yield* decisionIn(form, "leave", "stay")) === "stay") {
        yield* logouts.reject(asked, who)
        return settings.dashboardUrl === undefined ? stayedPage() : leavingPage(settings.dashboardUrl)
      }
      const { ended, redirectTo } = yield* logouts.accept(asked, who)
      if (ended) yield* signedOut(secure)
      return leavingPage(redirectTo)
    })

    yield* router.add("GET", "/oauth2/logout", forBrowsers(show))
    yield* router.add("POST", "/oauth2/logout", forBrowsers(answer))
  })
)
