import { assert, layer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { OAuth2 } from "../../src/services/ports/OAuth2.ts"
import { type TestServer } from "../support/oauth2.ts"
import { oauth2Challenges } from "./oauth2Challenges.ts"
import { oauth2Clients } from "./oauth2Clients.ts"
import { oauth2Consents } from "./oauth2Consents.ts"
import { oauth2Flows } from "./oauth2Flows.ts"
import { oauth2Logouts } from "./oauth2Logouts.ts"
import { oauth2RelyingParty } from "./oauth2RelyingParty.ts"

/** What the port promises, whichever OAuth 2.0 server is behind it. */
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
