import { vi } from "vitest"
import { flagEngineContract } from "../../contract/flags/engine.ts"
import { flagdEngine, layerEmbeddedEngine, layerRealFlagdEngine } from "../../support/flags/engine.ts"

vi.setConfig({ testTimeout: 30_000, hookTimeout: 120_000 })

flagEngineContract("the embedded engine", layerEmbeddedEngine)
flagEngineContract("a flagd that follows our sync endpoint", flagdEngine().layer)

// A real flagd, which must be restarted for each run until the sync port is open.
const { FLAGD_TEST_SYNC_PORT: syncPort, FLAGD_TEST_URL: url } = process.env
if (url !== undefined && syncPort !== undefined) {
  flagEngineContract("the flagd of FLAGD_TEST_URL", layerRealFlagdEngine(url, Number(syncPort)))
}
