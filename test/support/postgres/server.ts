import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { chmod, mkdtemp, readlink, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { type TestProject } from "vitest/node"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerEmbedded } from "../../../src/layers/postgres/embedded/Embedded.ts"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** `postgres://…` of the run's one server, as its superuser; every test file makes what it needs in it. */
    readonly databaseUrl: string
  }
}

/** libpq URI of an address. */
export const databaseUrl = ({ database, password, port, user }: Login) =>
  `postgres://${user}:${encodeURIComponent(Redacted.value(password))}@127.0.0.1:${port}/${database}`

/** An empty data directory that also another user, whom PostgreSQL runs as under root, can enter. */
export const makeDataDir = async () => {
  const path = await mkdtemp(join(tmpdir(), "svc-test-"))
  await chmod(path, 0o711)
  return path
}

/** Removes a data directory whose server has ended, with the cluster it may have had to keep elsewhere. */
export const removeDataDir = async (path: string) => {
  const elsewhere = await readlink(join(path, "postgres")).catch(() => undefined)
  if (elsewhere !== undefined) await rm(dirname(elsewhere), { recursive: true, force: true })
  await rm(path, { recursive: true, force: true })
}

/** One embedded server for all files of a run. */
export default async function setup(project: TestProject) {
  const path = await makeDataDir()
  const runtime = ManagedRuntime.make(Layer.provide(layerEmbedded, DataDir.at(path)))
  const stop = async () => {
    await runtime.dispose()
    await removeDataDir(path)
  }
  try {
    project.provide("databaseUrl", databaseUrl(await runtime.runPromise(Effect.service(PostgresAddress))))
  } catch (cause) {
    await stop()
    throw cause
  }
  return stop
}
