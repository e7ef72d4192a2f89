import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { NotFound } from "../../../domain/errors.ts"
import { redirectOf } from "../../../domain/supabase/Redirects.ts"
import { baseUrlOf, isSecure } from "../../access/Origins.ts"
import { providerSecretOf, takeProviderSecret } from "../../access/cookies/ProviderCookie.ts"
import { type Call, challengeOf, empty, json, makeAuthRoutes } from "./Access.ts"
import { failedUrl, leaveTo, provenUrl } from "./Verify.ts"

const noSso = new NotFound({ error: "No SSO provider assigned for this domain", code: "sso_provider_not_found" })

/** `/auth/v1/authorize`, `callback` and `user/identities`: signing in at other services, and linking accounts there. */
export const AuthProviderRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { identity, on, settings } = yield* makeAuthRoutes(router)

    const attemptOf = ({ query, redirectTo }: Call) =>
      Effect.map(
        challengeOf({
          code_challenge: query.get("code_challenge"),
          code_challenge_method: query.get("code_challenge_method")
        }),
        (challenge) => ({ provider: query.get("provider") ?? "", redirectTo, challenge })
      )

    yield* on("GET", "/authorize", "everybody", (call) =>
      Effect.gen(function* () {
        const { calls, query, request } = call
        const ticket = query.get("ticket")
        const url = yield* calls.authorize({
          callback: `${yield* baseUrlOf(request, identity)}/auth/v1/callback`,
          browser: yield* takeProviderSecret(request, isSecure(request, identity)),
          attempt: ticket === null ? yield* attemptOf(call) : { ticket }
        })
        return leaveTo(url)
      })
    )

    yield* on("GET", "/callback", "everybody", (call) =>
      Effect.gen(function* () {
        const { calls, query, request } = call
        const begun = yield* Effect.result(
          calls.callback({ query, browser: providerSecretOf(request, isSecure(request, identity)) })
        )
        if (begun._tag === "Failure") return leaveTo(failedUrl(settings.site, begun.failure))
        // The settings may have changed since.
        const to = redirectOf(begun.success.redirectTo, settings.site, settings.redirects)
        return yield* begun.success.outcome.pipe(
          Effect.match({ onSuccess: (proven) => provenUrl(to, proven), onFailure: (error) => failedUrl(to, error) }),
          Effect.map(leaveTo)
        )
      })
    )

    yield* on("GET", "/user/identities/authorize", "key", (call) =>
      Effect.gen(function* () {
        const ticket = yield* call.calls.linkTicket(yield* call.session, yield* attemptOf(call))
        const url = `${yield* baseUrlOf(call.request, identity)}/auth/v1/authorize?ticket=${ticket}`
        return call.query.get("skip_http_redirect") === "true" ? json({ url }) : leaveTo(url)
      })
    )
    yield* on("DELETE", "/user/identities/:id", "key", (call) =>
      Effect.gen(function* () {
        const { id = "" } = yield* HttpRouter.params
        yield* call.calls.unlink(yield* call.session, id)
        return empty
      })
    )
    yield* on("POST", "/sso", "key", () => Effect.fail(noSso))
  })
)
