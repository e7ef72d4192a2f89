import { Layer } from "effect"
import { OAuth2Bridge } from "./Bridge.ts"
import { OAuth2Claims } from "./Claims.ts"
import { ConsentScreens } from "./ConsentScreens.ts"
import { OAuth2Consents } from "./Consents.ts"
import { OAuth2Logouts } from "./Logouts.ts"

/** The bridge between identity provider and OAuth 2.0 server: sign-in, consent and logout of its clients. */
export const layer = ConsentScreens.layer.pipe(
  Layer.provideMerge(OAuth2Bridge.layer),
  Layer.provideMerge(OAuth2Logouts.layer),
  Layer.provideMerge(OAuth2Consents.layer),
  Layer.provideMerge(OAuth2Claims.layer)
)
