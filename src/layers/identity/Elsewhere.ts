import { Effect, Layer } from "effect"
import { NotImplemented } from "../../domain/errors.ts"
import { Accounts } from "../../services/ports/identity/Accounts.ts"
import { notConfigured } from "../../services/ports/IdP.ts"

/** With an identity provider of one's own, accounts are managed there: 501 with its address. */
export const layerAccountsElsewhere = (publicUrl: string) => {
  const elsewhere = Effect.fail(
    new NotImplemented({
      error: `Accounts are kept by the identity provider at ${publicUrl}`,
      code: "USE_IDP",
      hint: `Use the API and the pages of ${publicUrl}`
    })
  )
  return Layer.succeed(Accounts, { calls: elsewhere, admin: elsewhere })
}

/** With SVC_IDENTITY=off there are no accounts: 503. */
export const layerAccountsNone = Layer.succeed(Accounts, {
  calls: Effect.fail(notConfigured("IDP_PUBLIC_URL")),
  admin: Effect.fail(notConfigured("IDP_PUBLIC_URL"))
})
