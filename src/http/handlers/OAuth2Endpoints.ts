import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { NotFound } from "../../domain/errors.ts"
import { OAuth2Endpoints } from "../../services/oauth2/Endpoints.ts"
import { asOAuthError } from "../front/ErrorBodies.ts"
import { withFailurePage } from "../pages/Pages.ts"
import { viaNode } from "../wire/NodeHandler.ts"

const elsewhere = new NotFound({
  error: "This service has no OAuth 2.0 server of its own",
  hint: "The one of OAUTH2_PUBLIC_URL has these endpoints"
})

/** The endpoints of the embedded OAuth 2.0 server (contract: http/api/OAuth2Endpoints.ts). */
export const OAuth2EndpointsRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const { handler } = yield* OAuth2Endpoints
    const answer = Effect.gen(function* () {
      if (handler === undefined) return yield* elsewhere
      return asOAuthError(yield* viaNode(yield* handler, yield* HttpServerRequest.HttpServerRequest))
    })

    for (const path of ["/oauth2/auth", "/oauth2/auth/:uid", "/oauth2/sessions/logout"] as const) {
      yield* router.add("GET", path, withFailurePage(answer))
    }
    for (const name of ["openid-configuration", "oauth-authorization-server", "jwks.json"] as const) {
      yield* router.add("GET", `/.well-known/${name}`, answer)
    }
    yield* router.add("GET", "/oauth2/userinfo", answer)
    for (const name of ["token", "userinfo", "revoke", "introspect"] as const) {
      yield* router.add("POST", `/oauth2/${name}`, answer)
      yield* router.add("OPTIONS", `/oauth2/${name}`, answer)
    }
  })
)
