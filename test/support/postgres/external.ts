import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Client } from "pg"
import { DataDir } from "../../../src/layers/process/DataDir.ts"
import { layerEmbedded } from "../../../src/layers/postgres/embedded/Embedded.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { makeDataDir, removeDataDir } from "../dataDir.ts"

/** A second PostgreSQL server with its own data directory, listening on 127.0.0.1. */
export interface OtherPostgres extends AsyncDisposable {
  readonly port: number
  /** Password of its superuser `postgres`. */
  readonly password: string
  /** `postgres://…` of its superuser. */
  readonly url: string
  /** The contents of its log. */
  readonly log: () => Promise<string>
  /** Runs any SQL as its superuser; without parameters, also several statements at once. */
  readonly sql: (text: string, params?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<Record<string, unknown>>>
}

export const startOtherPostgres = async (): Promise<OtherPostgres> => {
  await using started = new AsyncDisposableStack()
  const path = await makeDataDir()
  started.defer(() => removeDataDir(path))
  const runtime = ManagedRuntime.make(Layer.provide(layerEmbedded, DataDir.at(path)))
  started.defer(() => runtime.dispose())
  const address = await runtime.runPromise(Effect.service(PostgresAddress))
  const password = Redacted.value(address.password)
  const { port } = address.at
  const client = new Client({ host: "127.0.0.1", port, user: "postgres", password, database: "postgres" })
  await client.connect()
  started.defer(() => client.end())
  const parts = started.move()
  return {
    port,
    password,
    url: `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`,
    log: () => readFile(join(path, "postgres.log"), "utf8"),
    sql: async (text, params = []) => (await client.query<Record<string, unknown>>(text, [...params])).rows,
    [Symbol.asyncDispose]: () => parts.disposeAsync()
  }
}
