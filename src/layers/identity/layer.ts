import { Effect, Layer } from "effect"
import { AccountSettings } from "../../services/identity/AccountSettings.ts"
import { OwnSigningKeys } from "../../services/identity/OwnSigningKeys.ts"
import { IdentitySeals } from "../../services/identity/Seals.ts"
import { IdentitySignatures } from "../../services/identity/Signatures.ts"
import { idpAddress } from "./Address.ts"
import { layerIdPKratos } from "./kratos/Kratos.ts"
import { layerIdPNone } from "./None.ts"

/** The identity provider of IDP_PUBLIC_URL, or none. */
export const layer = Layer.unwrap(
  Effect.map(idpAddress, (address) => (address === undefined ? layerIdPNone : layerIdPKratos(address)))
)

/** What signs and seals, on the service's own tables. */
export const layerKeys = Layer.unwrap(
  Effect.map(AccountSettings, ({ embedded }) => (embedded ? OwnSigningKeys.layer : OwnSigningKeys.layerNone))
).pipe(Layer.provideMerge(IdentitySeals.layer), Layer.provideMerge(IdentitySignatures.layer))
