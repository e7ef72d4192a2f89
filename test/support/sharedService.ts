import { type TestProject } from "vitest/node"
import { otherStore } from "./storage/external.ts"
import { copyDataDir, makeDataDir, prepareDataDir, removeDataDir } from "./dataDir.ts"
import { type Address, startService } from "./service.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The run's one service; every test file makes tables and keys of its own in it. */
    readonly service: Address
    /** The data directory of a service that was started once: to be copied, never to be used. */
    readonly preparedDataDir: string
  }
}

/** Where the shared service believes its dashboard to be. */
export const dashboard = "https://dashboard.example.com"

/** One service for all files of a run, and a data directory for those that start their own. */
export default async function setup(project: TestProject) {
  const prepared = await makeDataDir()
  await (await startService({ dataDir: prepared })).stop()
  await prepareDataDir(prepared)
  project.provide("preparedDataDir", prepared)

  const ownDir = await copyDataDir(prepared)
  const service = await startService({ dataDir: ownDir, env: { DASHBOARD_URL: dashboard, ...otherStore } })
  const { anon, dataDir, jwtSecret, pid, service_role, url } = service
  project.provide("service", { anon, dataDir, jwtSecret, pid, service_role, url })
  return async () => {
    const end = await service.stop()
    await Promise.all([ownDir, prepared].map(removeDataDir))
    if (end.code !== 0) throw new Error(`The service ended with ${end.code ?? end.signal}:\n${end.output}`)
  }
}
