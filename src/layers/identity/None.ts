import { Effect, Layer } from "effect"
import { IdP, notConfigured } from "../../services/ports/IdP.ts"

const refuse = () => Effect.fail(notConfigured("IDP_PUBLIC_URL"))

/** Used without IDP_PUBLIC_URL: every call fails with 503 `NOT_CONFIGURED`. */
export const layerIdPNone = Layer.succeed(IdP, {
  configured: false,
  ready: Effect.succeed(false),
  session: refuse,
  sessions: refuse,
  revokeSession: refuse,
  logout: refuse,
  loginUrl: refuse,
  identity: refuse,
  identities: refuse,
  factors: refuse,
  beginTotp: refuse,
  confirmTotp: refuse,
  removeTotp: refuse,
  beginWebAuthn: refuse,
  confirmWebAuthn: refuse,
  removeWebAuthn: refuse,
  beginRecoveryCodes: refuse,
  confirmRecoveryCodes: refuse,
  removeRecoveryCodes: refuse,
  beginPasskeyLogin: Effect.suspend(refuse),
  passkeyLogin: refuse,
  beginRecovery: Effect.suspend(refuse),
  recover: refuse
})
