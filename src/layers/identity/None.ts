import { Effect, Layer } from "effect"
import { NotImplemented } from "../../domain/errors.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { IdP, notConfigured } from "../../services/ports/IdP.ts"
import { SupabaseAuth } from "../../services/ports/supabase/AuthCalls.ts"

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

/** Accounts with SVC_IDENTITY=off: every call fails with 503. */
export const layerAccountsNone = Layer.mergeAll(
  Layer.succeed(Accounts, { calls: Effect.suspend(refuse), admin: Effect.suspend(refuse) }),
  Layer.succeed(SupabaseAuth, { calls: Effect.suspend(refuse) })
)

/** Accounts that another identity provider manages: every call fails with 501 and its address. */
export const layerAccountsElsewhere = (publicUrl: string) => {
  const elsewhere = Effect.fail(
    new NotImplemented({
      error: `Accounts are kept by the identity provider at ${publicUrl}`,
      code: "USE_IDP",
      hint: `Use the API and the pages of ${publicUrl}`
    })
  )
  return Layer.mergeAll(
    Layer.succeed(Accounts, { calls: elsewhere, admin: elsewhere }),
    Layer.succeed(SupabaseAuth, { calls: elsewhere })
  )
}
