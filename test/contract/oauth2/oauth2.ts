import { assert, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { OAuth2 } from "../../../src/services/ports/OAuth2.ts"
import { type TestServer } from "../../support/oauth2/oauth2.ts"
import { oauth2Challenges } from "./challenges.ts"
import { oauth2Clients } from "./clients.ts"
import { oauth2Consents } from "./consents.ts"
import { oauth2Flows } from "./flows.ts"
import { oauth2Logouts } from "./logouts.ts"
import { oauth2RelyingParty } from "./relyingParty.ts"

/** The contract of the port, for any OAuth 2.0 server. */
export const oauth2Contract = <E>(name: string, server: TestServer, port: Layer.Layer<OAuth2, E>) =>
  layer(port, { excludeTestServices: true, timeout: 60_000 })(name, (it) => {
    it.effect("is configured and ready", () =>
      Effect.gen(function* () {
        const { configured, ready } = yield* OAuth2
        assert.isTrue(configured)
        assert.isTrue(yield* ready)
      })
    )
    oauth2Flows(it, server)
    oauth2Challenges(it, server)
    oauth2Consents(it, server)
    oauth2Logouts(it, server)
    oauth2Clients(it, server)
    oauth2RelyingParty(it, server)
  })
