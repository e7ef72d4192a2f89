import { Effect, Layer } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { OAuth2 } from "../../services/ports/OAuth2.ts"

const notConfigured = Effect.fail(
  new Unavailable({
    error: "No OAuth 2.0 server is configured (OAUTH2_ADMIN_URL)",
    code: "NOT_CONFIGURED",
    retry_after: 3600
  })
)
const refuse = () => notConfigured

/** Used with SVC_IDENTITY=off and without OAUTH2_ADMIN_URL: every call fails with 503 `NOT_CONFIGURED`. */
export const layerOAuth2None = Layer.succeed(
  OAuth2,
  OAuth2.of({
    configured: false,
    ready: Effect.succeed(false),
    login: refuse,
    acceptLogin: refuse,
    rejectLogin: refuse,
    consent: refuse,
    acceptConsent: refuse,
    rejectConsent: refuse,
    logoutRequest: refuse,
    acceptLogout: refuse,
    rejectLogout: refuse,
    consents: refuse,
    revokeConsents: refuse,
    revokeLogins: refuse,
    clients: refuse,
    client: refuse,
    createClient: refuse,
    mergeClientMetadata: refuse,
    removeClient: refuse,
    rotateSecret: refuse
  })
)
