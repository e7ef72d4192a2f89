import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { providerSecretOf, takeProviderSecret } from "../../access/cookies/ProviderCookie.ts"
import { providerFailurePage } from "../../pages/accounts/ProviderPages.ts"
import { field, leave, returningTo } from "../../pages/accounts/Visit.ts"
import { redirectPage } from "../../pages/Pages.ts"
import { makePages } from "./Visits.ts"

/** `/auth/with` and `/auth/callback/{provider}`: signing in at another service, and returning from there. */
export const ProviderRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { entered, on } = yield* makePages(router)

    yield* on("POST", "with", (visit, { providers }) =>
      Effect.gen(function* () {
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
        // A redirect would be blocked: the form-action policy applies to its target too.
        return redirectPage(url, visit.look.language)
      }).pipe(
        Effect.catchTag("BadGateway", (error) => {
          const label = providers.list.find(({ id }) => id === field(visit, "provider", 30))?.label ?? ""
          return Effect.succeed(providerFailurePage(visit, label, false, error))
        })
      )
    )

    yield* on("GET", "callback/:provider", (given, { providers }) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { provider: id = "" } = yield* HttpRouter.params
        const label = providers.list.find((one) => one.id === id)?.label
        const { credentials, secure } = given.browser
        const begun = yield* Effect.result(
          providers.finish({
            provider: id,
            query: given.fields,
            browser: providerSecretOf(request, secure),
            credentials
          })
        )
        if (begun._tag === "Failure") {
          if (label === undefined) return yield* begun.failure
          return providerFailurePage(given, label, false, begun.failure)
        }
        const { linking, outcome, provider, returnTo } = begun.success
        const visit = returningTo(given, returnTo)
        const result = yield* Effect.result(outcome)
        if (result._tag === "Failure") return providerFailurePage(visit, provider.label, linking, result.failure)
        return result.success === undefined ? leave(visit) : yield* entered(visit, result.success)
      })
    )
  })
)
