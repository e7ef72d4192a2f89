import { Context, Effect, Layer } from "effect"
import { SettingError, text } from "../../domain/Settings.ts"
import { AccountSettings, keepsAccounts, loopback } from "../../services/identity/AccountSettings.ts"
import { Mails } from "../../services/identity/Mails.ts"
import { OwnSigningKeys } from "../../services/access/OwnSigningKeys.ts"
import { IdentitySeals } from "../../services/access/Seals.ts"
import { IdentitySignatures } from "../../services/access/Signatures.ts"
import { EncryptionKeys } from "../../services/ports/EncryptionKeys.ts"
import { AuthHooks } from "../../services/identity/accounts/hooks/AuthHooks.ts"
import { hookSettings } from "../../services/identity/HookSettings.ts"
import { type IdPAddress, idpAddress } from "./Address.ts"
import { layerIdentityEmbedded } from "../../services/identity/accounts/Embedded.ts"
import { layerIdPKratos } from "./kratos/Kratos.ts"
import { layerMailDelivery } from "./mail/Delivery.ts"
import { layerAccountsElsewhere, layerAccountsNone, layerIdPNone } from "./None.ts"
import { makeGitHub } from "./providers/GitHub.ts"
import { makeOidc } from "./providers/Oidc.ts"
import { type ProviderSettings, providerSettings } from "./providers/Settings.ts"
import { layerIdentityUpkeep } from "../../services/identity/accounts/Upkeep.ts"

/** The keeper of accounts: the server of IDP_PUBLIC_URL, else this service, unless SVC_IDENTITY is off. */
export class IdPChoice extends Context.Service<
  IdPChoice,
  {
    readonly address: IdPAddress | undefined
    /** Services at which people can sign in to accounts of this service. */
    readonly providers: ReadonlyArray<ProviderSettings>
  }
>()("svc/layers/IdPChoice") {
  static readonly layer = Layer.effect(
    IdPChoice,
    Effect.gen(function* () {
      const address = yield* idpAddress
      const [hook] = Object.keys(yield* hookSettings)
      if (hook !== undefined && (address !== undefined || !(yield* keepsAccounts))) {
        return yield* new SettingError({
          message: `SVC_HOOK_${hook}_URI, or GOTRUE_HOOK_${hook}_URI, requires accounts of this service: without IDP_PUBLIC_URL, and with SVC_IDENTITY=embedded`
        })
      }
      return IdPChoice.of({ address, providers: yield* providerSettings })
    })
  )
}

/** The keys that sign and seal, on the service's own tables. */
export const layerKeys = Layer.unwrap(
  Effect.map(AccountSettings, ({ embedded }) => (embedded ? OwnSigningKeys.layer : OwnSigningKeys.layerNone))
).pipe(Layer.provideMerge(IdentitySeals.layer), Layer.provideMerge(IdentitySignatures.layer))

/** The identity provider, and the accounts that it keeps. */
export const layerPorts = Layer.unwrap(
  Effect.gen(function* () {
    const { address, providers } = yield* IdPChoice
    const { embedded } = yield* AccountSettings
    if (address !== undefined) return Layer.mergeAll(layerIdPKratos(address), layerAccountsElsewhere(address.publicUrl))
    return embedded
      ? layerIdentityEmbedded(providers.map((one) => (one.kind === "github" ? makeGitHub(one) : makeOidc(one))))
      : Layer.mergeAll(layerIdPNone, layerAccountsNone)
  })
).pipe(Layer.provideMerge(Layer.mergeAll(Mails.layer, AuthHooks.layer)))

/** The background work of the embedded identity provider. */
const layerBackground = Layer.unwrap(
  Effect.gen(function* () {
    const { address, providers } = yield* IdPChoice
    const { embedded, ownUrl, publicUrlKnown } = yield* AccountSettings
    if (!embedded || address !== undefined) {
      if (providers.length > 0) {
        yield* Effect.logWarning("SVC_SIGN_IN_WITH has no effect: this service does not keep the accounts")
      }
      return Layer.empty
    }
    if (!publicUrlKnown && !loopback.test(yield* text("HOST", "127.0.0.1"))) {
      yield* Effect.logWarning(`PUBLIC_URL is not set: links to accounts, and passkeys, work at ${ownUrl} only`)
    }
    if ((yield* EncryptionKeys).current === undefined) {
      yield* Effect.logInfo(
        "SVC_ENCRYPTION_KEY is not set: secrets of accounts are encrypted with a key in the database"
      )
    }
    return Layer.mergeAll(layerMailDelivery, layerIdentityUpkeep)
  })
)

/** All of it, for the service. */
export const layer = layerBackground.pipe(Layer.provideMerge(layerPorts))
