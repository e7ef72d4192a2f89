/** The service under test: its own process and embedded PostgreSQL, deleted afterwards. */
import { SignJWT } from "jose"
import { execFileSync } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "./freePort.ts"
import { start, stop } from "./processes.ts"
import { type Credentials, type Scenario, user } from "../rows/scenarios.ts"

export interface Service {
  readonly url: string
  readonly pid: number
  readonly credentials: Credentials
  /** The same database with a separate login, for the bare drivers. */
  readonly databaseUrl: string
  /** The same through the Unix socket, if there is one, as the service connects. */
  readonly socketUrl: string
  /** The embedded S3 endpoint; its credentials are in the data directory. */
  readonly s3Url: string
  /** flagd's protocols: evaluation, OFREP and sync. */
  readonly flagPorts: { readonly evaluation: number; readonly ofrep: number; readonly sync: number }
  /** Deleted with the service. */
  readonly dataDir: string
  readonly stop: () => Promise<void>
}

/** Variables that the service must not inherit from this shell. */
const settings = /^(SVC_|DATABASE_URL|DASHBOARD_URL|PUBLIC_URL|OAUTH2_|IDP_|S3_|FLAGS_|OTEL_|PG)/

export interface ServiceOptions {
  /** The service's program. */
  readonly entry: string
  /** File for a CPU profile, written at the end. */
  readonly profileDir: string | undefined
  /** Statements that create tables and the role `bench_driver` with this password. */
  readonly setup: (driverPassword: string) => ReadonlyArray<string>
  /** Settings in addition to those of every run. */
  readonly env?: Readonly<Record<string, string>>
}

export const defaultEntry = join(import.meta.dirname, "../../dist/main.mjs")

/** Starts the service, which is built before if a source has changed, creates tables and credentials. */
const startService = async ({ entry, env, profileDir, setup }: ServiceOptions): Promise<Service> => {
  if (entry === defaultEntry)
    execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: join(import.meta.dirname, "../..") })
  const dataDir = join(tmpdir(), `svc-bench-${randomUUID()}`)
  const secret = randomBytes(32).toString("base64url")
  const [port, pgPort, s3Port] = [await freePort(), await freePort(), await freePort()]
  const flagPorts = { evaluation: await freePort(), ofrep: await freePort(), sync: await freePort() }
  const inherited = Object.entries(process.env).filter(([name]) => !settings.test(name))
  const child = start(
    entry,
    [],
    [
      // As in npm start.
      "--max-semi-space-size=12",
      "--no-allocation-site-pretenuring",
      "--heap-growing-percent=100",
      ...(profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`])
    ],
    {
      ...Object.fromEntries(inherited),
      PORT: String(port),
      HOST: "127.0.0.1",
      SVC_DATA_DIR: dataDir,
      SVC_PG_PORT: String(pgPort),
      S3_EMBEDDED_PORT: String(s3Port),
      FLAGS_PORT: String(flagPorts.evaluation),
      FLAGS_HTTP_PORT: String(flagPorts.ofrep),
      FLAGS_SYNC_PORT: String(flagPorts.sync),
      SVC_JWT_SECRET: secret,
      LOG_LEVEL: "Warn",
      ...env
    }
  )
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-4000)))
  const end = async () => {
    await stop(child)
    await rm(dataDir, { recursive: true, force: true })
  }
  try {
    const url = `http://127.0.0.1:${port}`
    await ready(url, () => child.exitCode)
    const keys: Record<string, string> = JSON.parse(await readFile(join(dataDir, "keys.json"), "utf8"))
    const jwt = await new SignJWT({ role: "authenticated" })
      .setProtectedHeader({ alg: "HS256" })
      .setSubject(user)
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(secret))
    const credentials = { anon: keys["anon"] ?? "", service: keys["service_role"] ?? "", jwt }
    const password = randomBytes(16).toString("hex")
    for (const sql of setup(password)) await ask(url, credentials.service, "/v1/sql", { sql })
    const external = env?.["DATABASE_DIRECT_URL"] ?? env?.["DATABASE_URL"]
    const databaseUrl = `postgres://bench_driver:${password}@127.0.0.1:${external === undefined ? pgPort : new URL(external).port}/postgres`
    const socketUrl = databaseUrl + (await socketOf(url, credentials.service))
    const s3Url = `http://127.0.0.1:${s3Port}`
    return { url, pid: child.pid ?? 0, credentials, databaseUrl, socketUrl, s3Url, flagPorts, dataDir, stop: end }
  } catch (error) {
    await end()
    console.error(output)
    throw error
  }
}

/** The query of a connection URL with the directory of the server's socket; "" if there is none. */
const socketOf = async (url: string, key: string) => {
  const sql = "select current_setting('unix_socket_directories') as directory"
  const { rows } = (await ask(url, key, "/v1/sql", { sql })) as { rows: ReadonlyArray<{ directory: string }> }
  const [{ directory } = { directory: "" }] = rows
  return directory === "" ? "" : `?host=${encodeURIComponent(directory)}`
}

/** The first start creates a database cluster, which takes a few seconds. */
export const ready = async (url: string, exitCode: () => number | null) => {
  for (let tries = 0; tries < 600; tries++) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined)
    if (answer?.status === 200) return
    if (exitCode() !== null) throw new Error(`The service ended with ${exitCode()} before it was ready`)
    await sleep(100)
  }
  throw new Error("The service was not ready within a minute")
}

/** POSTs JSON with the service key; returns the response. */
export const ask = async (url: string, key: string, path: string, body: object): Promise<unknown> => {
  const answer = await fetch(url + path, {
    method: "POST",
    headers: { apikey: key, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()} to: ${JSON.stringify(body)}`)
  return answer.json()
}

/** Runs a service while `use` runs. `profile`: it writes a CPU profile. */
export const withService = async <A>(
  { profile, ...options }: Omit<ServiceOptions, "profileDir"> & { readonly profile: boolean },
  use: (service: Service) => Promise<A>
) => {
  const profileDir = profile ? await mkdtemp(join(tmpdir(), "svc-bench-profile-")) : undefined
  const service = await startService({ ...options, profileDir })
  const interrupted = () => void service.stop().finally(() => process.exit(130))
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted)
  try {
    return await use(service)
  } finally {
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted)
    await service.stop()
    if (profileDir !== undefined) console.log(`\nCPU profile in ${profileDir}`)
  }
}

/** One request of a scenario, retried for a few seconds: the service is notified of new tables a moment later. */
export const sample = async (service: Service, scenario: Scenario) => {
  let last = ""
  for (let tries = 0; tries < 50; tries++) {
    const response = await fetch(service.url + (scenario.paths[0] ?? ""), {
      method: scenario.method,
      headers: { ...scenario.headers(service.credentials), "accept-encoding": "identity" },
      ...(scenario.body === undefined ? {} : { body: scenario.body })
    })
    const body = await response.text()
    if (response.ok && scenario.right(body)) {
      // Headers that node:http writes by itself.
      const own = new Set(["date", "connection", "keep-alive", "transfer-encoding"])
      const headers = Object.fromEntries([...response.headers].filter(([name]) => !own.has(name)))
      return { status: response.status, headers, body }
    }
    last = `${response.status} ${body.slice(0, 500)}`
    await sleep(100)
  }
  throw new Error(`Scenario ${scenario.id} returned an unexpected response: ${last}`)
}
