import { Effect, Layer } from "effect"
import { oauth2Address } from "./Address.ts"
import { layerOAuth2Hydra } from "./hydra/Hydra.ts"
import { layerOAuth2None } from "./None.ts"

/** The OAuth 2.0 server of OAUTH2_ADMIN_URL, or none. */
export const layer = Layer.unwrap(
  Effect.map(oauth2Address, (address) => (address === undefined ? layerOAuth2None : layerOAuth2Hydra(address)))
)
