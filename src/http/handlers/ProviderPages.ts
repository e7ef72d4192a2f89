import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { type ClientError } from "../../domain/errors.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { providerSecretOf, takeProviderSecret } from "../access/ProviderCookie.ts"
import { setSignInCookies } from "../access/SessionCookies.ts"
import { providerFailurePage } from "../pages/accounts/ProviderPages.ts"
import { field, leave, makeVisits, returningTo, toPage } from "../pages/accounts/Visit.ts"
import { redirectPage, withFailurePage } from "../pages/Pages.ts"

/** `/auth/with` and `/auth/callback/{provider}`: signing in at another service, and returning from there. */
export const ProviderPagesRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions
    const visits = yield* makeVisits

    yield* router.add(
      "POST",
      "/auth/with",
      withFailurePage(
        visits((visit) =>
          Effect.gen(function* () {
            const { providers } = yield* accounts.calls
            const request = yield* HttpServerRequest.HttpServerRequest
            const provider = field(visit, "provider", 30)
            const { baseUrl, secure } = visit.browser
            const url = yield* providers.begin({
              provider,
              callback: `${baseUrl}/auth/callback/${provider}`,
              returnTo: visit.returnTo,
              browser: yield* takeProviderSecret(request, secure),
              again: field(visit, "again") === "yes"
            })
            // Not a redirect: the policy of the page's form applies to where it would lead.
            return redirectPage(url, visit.look.language)
          }).pipe(
            Effect.catchTag("BadGateway", (error) =>
              Effect.flatMap(accounts.calls, ({ providers }) => {
                const label = providers.list.find(({ id }) => id === field(visit, "provider", 30))?.label ?? ""
                return Effect.succeed(providerFailurePage(visit, label, false, error))
              })
            )
          )
        )
      )
    )

    yield* router.add(
      "GET",
      "/auth/callback/:provider",
      withFailurePage(
        visits((given) =>
          Effect.gen(function* () {
            const { providers } = yield* accounts.calls
            const request = yield* HttpServerRequest.HttpServerRequest
            const { provider: id = "" } = yield* HttpRouter.params
            const label = providers.list.find((one) => one.id === id)?.label
            const { credentials } = given.browser
            const begun = yield* Effect.result(
              providers.finish({ provider: id, query: given.fields, browser: providerSecretOf(request), credentials })
            )
            if (begun._tag === "Failure") {
              if (label === undefined) return yield* Effect.fail<ClientError>(begun.failure)
              return providerFailurePage(given, label, false, begun.failure)
            }
            const { linking, outcome, provider, returnTo } = begun.success
            const visit = returningTo(given, returnTo)
            const result = yield* Effect.result(outcome)
            if (result._tag === "Failure") return providerFailurePage(visit, provider.label, linking, result.failure)
            for (const before of credentials) yield* sessions.invalidate(before)
            const signedIn = result.success
            if (signedIn === undefined) return leave(visit)
            yield* setSignInCookies(signedIn.cookies, visit.browser.secure)
            return signedIn.stepUp === null ? leave(visit) : toPage(visit, `factor${visit.query}`)
          })
        )
      )
    )
  })
)
