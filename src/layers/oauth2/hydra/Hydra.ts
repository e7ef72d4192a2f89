import { Effect, Layer } from "effect"
import { OAuth2 } from "../../../services/ports/OAuth2.ts"
import { type OAuth2Address } from "../Address.ts"
import { makeHydra, noMeaning } from "./Calls.ts"
import { challengesOn } from "./Challenges.ts"
import { clientChangesOn } from "./ClientChanges.ts"
import { clientsOn } from "./Clients.ts"
import { consentsOn } from "./Consents.ts"

/** How long the server may take to say that it is ready, in ms. */
const readyMillis = 2_000

/** Ory Hydra's admin API (2.x), or one like it. */
export const layerOAuth2Hydra = (address: OAuth2Address) =>
  Layer.effect(
    OAuth2,
    Effect.map(makeHydra(address), (hydra) => {
      const clients = clientsOn(hydra)
      return OAuth2.of({
        configured: true,
        ready: Effect.match(
          hydra.tell({ method: "GET", path: "/health/ready", millis: readyMillis, once: true, quiet: true }, noMeaning),
          { onSuccess: () => true, onFailure: () => false }
        ),
        ...challengesOn(hydra),
        ...consentsOn(hydra),
        ...clients,
        ...clientChangesOn(hydra, clients.client)
      })
    })
  )
