import { existsSync } from "node:fs"
import { afterAll, assert, describe, it, vi } from "vitest"
import { releases } from "../../../scripts/release/agreement.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { checkInstallation, installationEnv, keptRelease } from "../../support/install/installation.ts"
import { moved } from "../../support/moving/programs.ts"
import { startService } from "../../support/service.ts"

vi.setConfig({ testTimeout: 60_000 })

const dataDirs: Array<string> = []
afterAll(async () => {
  for (const dir of dataDirs) await removeDataDir(dir)
})

const versions = releases.flatMap(({ version }) => (version.includes("-") ? [] : [version]))

describe("an installation of an earlier release", () => {
  it.each(versions)("%s goes on with this version, with everything in it", async (version) => {
    const archive = keptRelease(version)
    assert.isTrue(existsSync(archive), "make it: node test/support/install/keepRelease.ts")
    const dataDir = await makeDataDir()
    dataDirs.push(dataDir)
    const env = { ...installationEnv, SVC_JWT_SECRET: "" }
    const { code, output } = await moved("import", archive, dataDir, env)
    assert.strictEqual(code, 0, output)
    await using service = await startService({ dataDir, env })
    await checkInstallation(service)
  })
})
