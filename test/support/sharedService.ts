import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { type TestProject } from "vitest/node"
import { otherStore } from "./storage/external.ts"
import { freePort } from "../../bench/support/freePort.ts"
import { copyDataDir, makeDataDir, prepareDataDir, removeDataDir } from "./dataDir.ts"
import { type Address, root, startService } from "./service.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The service shared by the run; every test file creates its own tables and keys in it. */
    readonly service: Address
    /** The data directory of a service that was started once, which tests copy but never use directly. */
    readonly preparedDataDir: string
  }
}

/** The DASHBOARD_URL of the shared service. */
export const dashboard = "https://dashboard.example.com"

/** The projects of a run have setups of their own, in one process. */
const ofRun = globalThis as typeof globalThis & { preparedDataDir?: Promise<string> }

/** Builds the service, and starts it once on a new data directory. */
const prepare = async () => {
  await promisify(execFile)(process.execPath, ["scripts/build.mjs"], { cwd: root })
  const prepared = await makeDataDir()
  await (await startService({ dataDir: prepared })).stop()
  await prepareDataDir(prepared)
  return prepared
}

/** Starts a service for all files of a project, and prepares a data directory for those that start their own. */
export default async function setup(project: TestProject) {
  ofRun.preparedDataDir ??= prepare()
  const prepared = await ofRun.preparedDataDir
  project.provide("preparedDataDir", prepared)

  const ownDir = await copyDataDir(prepared)
  // A port that the embedded store knows from the start: it admits pages of the service.
  const env = { DASHBOARD_URL: dashboard, PORT: String(await freePort()), ...otherStore }
  const service = await startService({ dataDir: ownDir, env })
  const { anon, dataDir, jwtSecret, pid, service_role, url } = service
  project.provide("service", { anon, dataDir, jwtSecret, pid, service_role, url })
  return async () => {
    const end = await service.stop()
    await Promise.all([ownDir, prepared].map(removeDataDir))
    delete ofRun.preparedDataDir
    if (end.code !== 0) throw new Error(`The service ended with ${end.code ?? end.signal}:\n${end.output}`)
  }
}
