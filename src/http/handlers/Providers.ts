import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { type Credential } from "../../domain/identity/Identity.ts"
import { Sessions } from "../../services/identity/Sessions.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { CurrentBrowser } from "../access/BrowserRequests.ts"
import { takeProviderSecret } from "../access/cookies/ProviderCookie.ts"
import { Api } from "../Api.ts"
import { success } from "../wire/Body.ts"

export const ProvidersHandlers = HttpApiBuilder.group(
  Api,
  "providers",
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions

    const begin = Effect.fnUntraced(function* (provider: string, credential?: Credential) {
      const { baseUrl, returnTo, secure } = yield* CurrentBrowser
      const { providers } = yield* accounts.calls
      const request = yield* HttpServerRequest.HttpServerRequest
      const redirect_to = yield* providers.begin({
        provider,
        callback: `${baseUrl}/auth/callback/${provider}`,
        returnTo,
        browser: yield* takeProviderSecret(request, secure),
        ...(credential === undefined ? {} : { credential })
      })
      return { redirect_to }
    })

    return handlers.handleAll({
      begin: ({ params }) => begin(params.provider),
      links: Effect.fnUntraced(function* () {
        const browser = yield* CurrentBrowser
        const { providers } = yield* accounts.calls
        const { value } = yield* sessions.withSession(browser, ({ credential }) => providers.links(credential))
        return value
      }),
      link: Effect.fnUntraced(function* ({ params }) {
        const { session } = yield* sessions.withSession(yield* CurrentBrowser, Effect.succeed)
        return yield* begin(params.provider, session.credential)
      }),
      unlink: Effect.fnUntraced(function* ({ params }) {
        const browser = yield* CurrentBrowser
        const { providers } = yield* accounts.calls
        yield* sessions.change(browser, (credential) => providers.unlink(credential, params.provider))
        return success
      })
    })
  })
)
