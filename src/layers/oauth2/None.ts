import { Effect, Layer } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { OAuth2 } from "../../services/ports/OAuth2.ts"

const none = Effect.fail(
  new Unavailable({
    error: "No OAuth 2.0 server is configured (OAUTH2_ADMIN_URL)",
    code: "NOT_CONFIGURED",
    retry_after: 3600
  })
)
const never = () => none

/** When OAUTH2_ADMIN_URL is not set: everything answers 503. */
export const layerOAuth2None = Layer.succeed(
  OAuth2,
  OAuth2.of({
    configured: false,
    ready: Effect.succeed(false),
    login: never,
    acceptLogin: never,
    rejectLogin: never,
    consent: never,
    acceptConsent: never,
    rejectConsent: never,
    logoutRequest: never,
    acceptLogout: never,
    rejectLogout: never,
    consents: never,
    revokeConsents: never,
    revokeLogins: never,
    clients: never,
    client: never,
    createClient: never,
    mergeClientMetadata: never,
    removeClient: never,
    rotateSecret: never
  })
)
