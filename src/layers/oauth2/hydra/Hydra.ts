import { Effect, Layer } from "effect"
import { OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type OAuth2Address } from "../Address.ts"
import { makeHydra, noMeaning } from "./Calls.ts"
import { hydraChallengesOn } from "./Challenges.ts"
import { clientChangesOn } from "./ClientChanges.ts"
import { hydraClientsOn } from "./Clients.ts"
import { hydraConsentsOn } from "./Consents.ts"

/** Time limit of the readiness check, in ms. */
const readyMillis = 2_000

/** The admin API of Ory Hydra (2.x), or of a compatible server. */
export const layerOAuth2Hydra = (address: OAuth2Address) =>
  Layer.effect(
    OAuth2,
    Effect.map(makeHydra(address), (hydra) => {
      const clients = hydraClientsOn(hydra)
      return OAuth2.of({
        configured: true,
        ready: Effect.match(
          hydra.send({ method: "GET", path: "/health/ready", millis: readyMillis, once: true, quiet: true }, noMeaning),
          { onSuccess: () => true, onFailure: () => false }
        ),
        ...hydraChallengesOn(hydra),
        ...hydraConsentsOn(hydra),
        ...clients,
        ...clientChangesOn(hydra, clients.client)
      })
    })
  )
