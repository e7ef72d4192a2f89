import { ConfigProvider, Console, Effect, Exit, Layer, Scope } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { startFailure } from "../../src/layers/process/StartError.ts"
import { Service } from "../../src/main.ts"
import { newDatabase } from "./database.ts"
import { makeDataDir, removeDataDir } from "./dataDir.ts"
import { type Address, testSettings, keysOf, listeningAt } from "./service.ts"

let made = 0

export interface InProcessService extends Address, AsyncDisposable {
  readonly databaseUrl: string
  /** Everything that was logged. */
  readonly output: () => string
}

type Reached = string | Readonly<Record<string, string>>

/**
 * The whole service as `main.ts` composes it, in this process and on a new database of the run's server, over sockets. For
 * tests of the wire, which need settings of their own but no process.
 */
export const serveInProcess = async (
  env: Readonly<Record<string, string>> = {},
  /** The settings by which the service finds the database, or its DATABASE_URL, given the database's own URL. */
  reachedAt: (databaseUrl: string) => Reached | Promise<Reached> = (databaseUrl) => databaseUrl
): Promise<InProcessService> => {
  const database = `in_process_${process.pid}_${++made}`
  const address = new URL(inject("databaseUrl"))
  address.pathname = database
  const dataDir = await makeDataDir()
  const scope = Scope.makeUnsafe()
  await Effect.runPromise(Scope.provide(newDatabase(database), scope))

  const jwtSecret = randomBytes(32).toString("base64url")
  const reached = await reachedAt(address.href)
  const settings = {
    ...testSettings,
    SVC_DATA_DIR: dataDir,
    SVC_JWT_SECRET: jwtSecret,
    ...(typeof reached === "string" ? { DATABASE_URL: reached } : reached),
    ...env
  }
  let output = ""
  const write = (text: unknown) => void (output += `${String(text)}\n`)
  const console_: Console.Console = { ...console, log: write, info: write, warn: write, error: write }
  const dispose = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await removeDataDir(dataDir)
  }
  const exit = await Layer.buildWithScope(Layer.fresh(Service), scope).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(settings))),
    Effect.provideService(Console.Console, console_),
    Effect.runPromiseExit
  )
  const url = listeningAt(output)
  if (Exit.isFailure(exit) || url === undefined) {
    await dispose()
    throw new Error(`The service did not start:\n${Exit.isFailure(exit) ? startFailure(exit.cause) : output}`)
  }
  return {
    url,
    ...(await keysOf(dataDir)),
    jwtSecret,
    pid: process.pid,
    dataDir,
    databaseUrl: address.href,
    output: () => output,
    [Symbol.asyncDispose]: dispose
  }
}
