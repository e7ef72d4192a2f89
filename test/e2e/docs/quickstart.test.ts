import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { assert, it } from "vitest"
import { followGuide } from "../../support/docs/guide.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { freePort } from "../../../bench/support/freePort.ts"
import { readGuide, stepsOf } from "../../support/docs/readme.ts"
import { startService } from "../../support/service.ts"

it.each([
  ["README.md", 9],
  ["docs/tour.md", 60],
  ["docs/schedules.md", 11],
  ["docs/functions.md", 8]
])("every command of %s works as documented", async (path, steps) => {
  const guide = await readGuide(path)
  assert.isAtLeast(stepsOf(guide).length, steps)
  const directory = await makeDataDir()
  await mkdir(join(directory, ".svc"), { mode: 0o711 })
  const dataDir = join(directory, ".svc")
  // Like `npm start`, except for the port: the secret is generated and stored in the data directory.
  const ports = { "4000": await freePort(), "4001": await freePort(), "8013": await freePort() }
  const env = { SVC_JWT_SECRET: "", WEBHOOK_ALLOW_PRIVATE: "true", FLAGS_PORT: String(ports["8013"]) }
  const service = await startService({ dataDir, env })
  const here = (text: string) =>
    Object.entries(ports).reduce(
      (text, [port, free]) => text.replaceAll(new RegExp(`\\b${port}\\b`, "g"), String(free)),
      text.replaceAll("127.0.0.1:3000", new URL(service.url).host)
    )
  try {
    await followGuide({ guide, directory, here })
  } finally {
    await service[Symbol.asyncDispose]()
    await removeDataDir(dataDir)
    await removeDataDir(directory)
  }
})
