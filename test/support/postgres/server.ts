import { ConfigProvider, Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { Client } from "pg"
import { type TestProject } from "vitest/node"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerEmbedded } from "../../../src/layers/postgres/embedded/Embedded.ts"
import { type Login, pgConfig } from "../../../src/layers/postgres/Login.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { makeDataDir, removeDataDir } from "../dataDir.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** `postgres://…` of the run's one server, as its superuser; every test file creates its own databases in it. */
    readonly databaseUrl: string
  }
}

/** libpq URI of an address. */
export const databaseUrl = ({ at: { port }, database, password, user }: Login) =>
  `postgres://${user}:${encodeURIComponent(Redacted.value(password))}@127.0.0.1:${port}/${database}`

/** Test data need not survive a crash of the machine, and are too few for what autovacuum looks after. */
const withoutUpkeep = (login: Login) =>
  Effect.promise(async () => {
    const client = new Client(pgConfig(login, {}))
    await client.connect()
    for (const setting of ["fsync", "synchronous_commit", "full_page_writes", "autovacuum"]) {
      await client.query(`alter system set ${setting} = off`)
    }
    await client.query("select pg_reload_conf()")
    await client.end()
  })

/** One embedded server for all files of a run. */
export default async function setup(project: TestProject) {
  const path = await makeDataDir()
  // The server keeps what logical replication needs; each service chooses whether it uses that.
  const settings = ConfigProvider.layer(
    ConfigProvider.fromEnvRecord({ SVC_CHANGES: "wal", SVC_CHANGES_MAX_WAL_MB: "256" })
  )
  const runtime = ManagedRuntime.make(Layer.provide(layerEmbedded, [DataDir.at(path), settings]))
  const stop = async () => {
    await runtime.dispose()
    await removeDataDir(path)
  }
  try {
    const login = await runtime.runPromise(Effect.service(PostgresAddress))
    await runtime.runPromise(withoutUpkeep(login))
    project.provide("databaseUrl", databaseUrl(login))
  } catch (cause) {
    await stop()
    throw cause
  }
  return stop
}
