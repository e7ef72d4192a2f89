import { type TestProject } from "vitest/node"
import { otherStore } from "./storage/external.ts"
import { type Address, startService } from "./service.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** The run's one service; every test file makes tables and keys of its own in it. */
    readonly service: Address
  }
}

/** Where the shared service believes its dashboard to be. */
export const dashboard = "https://dashboard.example.com"

/** One service for all files of a run. */
export default async function setup(project: TestProject) {
  const service = await startService({ env: { DASHBOARD_URL: dashboard, ...otherStore } })
  const { anon, dataDir, jwtSecret, pid, service_role, url } = service
  project.provide("service", { anon, dataDir, jwtSecret, pid, service_role, url })
  return async () => {
    const end = await service.stop()
    await service[Symbol.asyncDispose]()
    if (end.code !== 0) throw new Error(`The service ended with ${end.code ?? end.signal}:\n${end.output}`)
  }
}
