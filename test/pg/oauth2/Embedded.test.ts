import { afterAll, vi } from "vitest"
import { oauth2Contract } from "../../contract/oauth2/oauth2.ts"
import { startEmbedded } from "../../support/oauth2/embedded.ts"

vi.setConfig({ testTimeout: 60_000 })

const { close, port, server } = await startEmbedded("oauth2_contract")
afterAll(close)

oauth2Contract("the embedded server", server, port)
