/**
 * `node test/support/install/keepRelease.ts DIRECTORY`: starts the release that an archive was unpacked to, fills it, and keeps
 * its `svc export` as a fixture, which later releases have to import and run (test/e2e/release/earlier.test.ts).
 */
import { execFile } from "node:child_process"
import { mkdir } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { promisify } from "node:util"
import { freePort } from "../../../bench/support/freePort.ts"
import { makeDataDir, removeDataDir } from "../dataDir.ts"
import { testPassphrase } from "../moving/programs.ts"
import { startService } from "../service.ts"
import { fillInstallation, installationEnv, keptRelease } from "./installation.ts"

const release = resolve(process.argv[2] ?? "")
const dataDir = await makeDataDir()
const env = {
  ...installationEnv,
  SVC_ARCHIVE_PASSPHRASE: testPassphrase,
  SVC_JWT_SECRET: "",
  S3_EMBEDDED_PORT: String(await freePort())
}
const svc = (...args: ReadonlyArray<string>) =>
  promisify(execFile)(join(release, "bin/svc"), args, { env: { ...process.env, ...env, SVC_DATA_DIR: dataDir } })

try {
  await using service = await startService({
    dataDir,
    env,
    program: [join(release, "lib/node_modules/svc-server/dist/main.mjs")]
  })
  await fillInstallation(service)
  const { version } = JSON.parse((await svc("version", "--json")).stdout) as { readonly version: string }
  const file = keptRelease(version)
  await mkdir(dirname(file), { recursive: true })
  await svc("export", file)
  process.stdout.write(`${file}\n`)
} finally {
  await removeDataDir(dataDir)
}
