import { Effect, Layer } from "effect"
import { idpAddress } from "./Address.ts"
import { layerIdPKratos } from "./kratos/Kratos.ts"
import { layerIdPNone } from "./None.ts"

/** The identity provider of IDP_PUBLIC_URL, or none. */
export const layer = Layer.unwrap(
  Effect.map(idpAddress, (address) => (address === undefined ? layerIdPNone : layerIdPKratos(address)))
)
