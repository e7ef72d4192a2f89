import { afterAll, vi } from "vitest"
import { layerOAuth2Hydra } from "../../../src/layers/oauth2/hydra/Hydra.ts"
import { oauth2Contract } from "../../contract/oauth2/oauth2.ts"
import { startOAuth2Server } from "../../fakes/oauth2/server.ts"
import { otherOAuth2Server } from "../../support/oauth2/oauth2.ts"

vi.setConfig({ testTimeout: 60_000 })

const layerOf = ({ adminUrl }: { readonly adminUrl: string }) => layerOAuth2Hydra({ adminUrl, token: undefined })

const fake = await startOAuth2Server()
afterAll(() => fake[Symbol.asyncDispose]())
const outwait = async () => {
  fake.behaviour.challengeSeconds = -1
  return () => {
    fake.behaviour.challengeSeconds = 1_800
  }
}
const fakeServer = { publicUrl: fake.publicUrl, adminUrl: fake.adminUrl, outwait }
oauth2Contract("the fake server", fakeServer, layerOf(fakeServer))

if (otherOAuth2Server !== undefined) {
  oauth2Contract("the server of OAUTH2_TEST_ADMIN_URL", otherOAuth2Server, layerOf(otherOAuth2Server))
}
